internal import CSystemd
internal import Glibc
internal import RoomsRuntime

/// The socket on which journald takes entries in its native form, one datagram each.
///
/// Sending waits for a journal that is full, hangs or is being restarted: the log thread may do it without an end.
final class JournalSocket {
    private let path: String
    /// Bytes; nil: as large as the kernel gives.
    private let bufferSize: CInt?
    private var descriptor: CInt = -1

    /// How long it waits before it looks again.
    private static let patience: CInt = 100

    init(path: String, bufferSize: CInt? = nil) {
        self.path = path
        self.bufferSize = bufferSize
    }

    deinit { disconnect() }

    /// Returns when the entry is in the journal's queue, or when the time is over.
    func send(_ entry: [UInt8], until deadline: Instant = .distantFuture) {
        while SystemClock.now < deadline {
            if descriptor < 0, !connect() {
                // It is not there, or this process may not reach it: that changes or it does not.
                poll(nil, 0, Self.patience)
                continue
            }
            let sent = entry.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL)) }
            let result = sent < 0 && errno == EMSGSIZE ? sendAsFile(entry) : sent
            if result >= 0 { return }
            switch errno {
            case EINTR: break
            case EAGAIN, ENOBUFS: waitForPlace()
            default:
                // Whoever listened there is gone; a new socket may have its name.
                disconnect()
                poll(nil, 0, Self.patience)
            }
        }
    }

    /// Waits until the journal has taken what was sent and looked at who sent it, or until the time is over.
    ///
    /// An entry of a process that has ended belongs to no unit: `journalctl -u` would not show why it ended.
    func settle(within limit: Duration) {
        let deadline = SystemClock.now + limit
        var waiting: CInt = 0
        while descriptor >= 0, ioctl(descriptor, UInt(TIOCOUTQ), &waiting) == 0, waiting > 0, SystemClock.now < deadline
        {
            poll(nil, 0, 5)
        }
        poll(nil, 0, 20)
    }

    /// What is too large for a datagram goes as a sealed file in memory.
    private func sendAsFile(_ entry: [UInt8]) -> Int {
        let file = shim_memory_file("roombridge-journal")
        guard file >= 0 else { return -1 }
        defer { close(file) }
        var rest = entry[...]
        while !rest.isEmpty {
            let written = rest.withUnsafeBytes { write(file, $0.baseAddress, $0.count) }
            guard written > 0 else { return -1 }
            rest.removeFirst(written)
        }
        guard shim_seal(file) == 0 else { return -1 }
        return shim_send_descriptor(descriptor, file)
    }

    private func waitForPlace() {
        var wanted = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        poll(&wanted, 1, Self.patience)
    }

    private func connect() -> Bool {
        let kind = CInt(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        descriptor = socket(AF_UNIX, kind, 0)
        guard descriptor >= 0 else { return false }
        var size = bufferSize ?? 8 << 20
        setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<CInt>.size))
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        if result != 0 { disconnect() }
        return result == 0
    }

    private func disconnect() {
        if descriptor >= 0 { close(descriptor) }
        descriptor = -1
    }
}

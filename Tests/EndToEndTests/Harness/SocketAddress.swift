internal import CRoomsLinux
internal import Glibc

/// Where a test server listens: a port of the loopback address or a file.
enum SocketAddress: Hashable, Sendable {
    case loopback(port: UInt16)
    case unix(path: String)

    /// A descriptor of the right family that does not block, or -1.
    func makeSocket(_ kind: CInt = CInt(SOCK_STREAM.rawValue)) -> CInt {
        let family =
            switch self {
            case .loopback: AF_INET
            case .unix: AF_UNIX
            }
        let descriptor = socket(family, kind | CInt(SOCK_NONBLOCK.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        if case .loopback = self {
            var one: CInt = 1
            setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout<CInt>.size))
            setsockopt(descriptor, CInt(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<CInt>.size))
        }
        return descriptor
    }

    func bind(_ descriptor: CInt) -> Bool {
        withAddress { Glibc.bind(descriptor, $0, $1) == 0 }
    }

    /// A descriptor that accepts connections, or -1.
    func listen() -> CInt {
        let descriptor = makeSocket()
        if case .unix(let path) = self { unlink(path) }
        guard bind(descriptor), Glibc.listen(descriptor, 128) == 0 else {
            close(descriptor)
            return -1
        }
        if case .unix(let path) = self { chmod(path, 0o666) }
        return descriptor
    }

    /// True also while the connection is still being made.
    func connect(_ descriptor: CInt) -> Bool {
        withAddress { Glibc.connect(descriptor, $0, $1) == 0 || errno == EINPROGRESS }
    }

    /// True only when a listener is there now.
    func connectAtOnce(_ descriptor: CInt) -> Bool {
        guard connect(descriptor) else { return false }
        var poll = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        return Glibc.poll(&poll, 1, 1_000) == 1 && poll.revents & Int16(POLLERR | POLLHUP) == 0
    }

    private func withAddress<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        switch self {
        case .loopback(let port):
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
            return withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
        case .unix(let path):
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            let capacity = MemoryLayout.size(ofValue: address.sun_path)
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix(capacity - 1)) }
            return withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
        }
    }
}

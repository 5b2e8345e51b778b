internal import CRoomsLinux
internal import Glibc

/// What the kernel knows of what the peer has read; for plain connections.
extension Stream {
    /// Whether the kernel counts what waits in a Unix socket.
    package static let kernelTellsUnread: Bool = {
        var ends: (CInt, CInt) = (-1, -1)
        let isMade = withUnsafeMutableBytes(of: &ends) { bytes in
            bytes.withMemoryRebound(to: CInt.self) { socketpair(AF_UNIX, socketType, 0, $0.baseAddress) }
        }
        guard isMade == 0 else { return false }
        defer {
            _ = Glibc.close(ends.0)
            _ = Glibc.close(ends.1)
        }
        var byte: UInt8 = 0
        guard write(ends.0, &byte, 1) == 1, let waiting = unread(of: ends.0), waiting > 0 else { return false }
        return read(ends.1, &byte, 1) == 1 && unread(of: ends.0) == 0
    }()

    /// What the system holds for the peer to read; 0 when it has read all of it, or never will (`takeError` tells).
    ///
    /// Falls by whole pieces as they were sent. Nil where the system does not tell.
    package var unread: Int? { isUsable ? Self.unread(of: descriptor) : nil }

    /// Why the connection broke, once; asked behind `unread`, since the peer's end sets it before that falls.
    package func takeError() -> TransportError? {
        guard isUsable else { return nil }
        var number: CInt = 0
        var length = socklen_t(MemoryLayout<CInt>.size)
        guard getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &number, &length) == 0, number != 0 else { return nil }
        return TransportError.using(number)
    }

    /// Whether nothing can be sent any more; a peer that only sends no more may go on reading.
    package var isHungUp: Bool {
        guard isUsable else { return true }
        var entry = pollfd(fd: descriptor, events: 0, revents: 0)
        return poll(&entry, 1, 0) > 0 && CInt(entry.revents) & (POLLHUP | POLLERR | POLLNVAL) != 0
    }

    private static var socketType: CInt { CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue) }

    private static func unread(of descriptor: CInt) -> Int? {
        var count: CInt = 0
        return ioctl(descriptor, UInt(TIOCOUTQ), &count) == 0 ? Int(count) : nil
    }
}

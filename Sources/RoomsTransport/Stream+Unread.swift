internal import Glibc
internal import RoomsRuntime

/// What the kernel knows of what the peer has read; for plain connections.
extension Stream {
    /// What the system holds for the peer to read; 0 when it has read all of it, or never will (`takeError` tells).
    ///
    /// Falls by whole pieces as they were sent. Nil where the system does not tell.
    package var unread: Int? { isUsable ? SocketQueue.unread(of: descriptor) : nil }

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
}

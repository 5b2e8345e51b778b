internal import CRoomsLinux
internal import Glibc

/// What waits in a Unix socket for its peer.
package enum SocketQueue {
    /// Whether this kernel counts it.
    package static let isTold: Bool = {
        var ends: [CInt] = [-1, -1]
        let type = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, type, 0, &ends) == 0 else { return false }
        defer { for end in ends { close(end) } }
        var byte: UInt8 = 0
        guard write(ends[0], &byte, 1) == 1, let waiting = unread(of: ends[0]), waiting > 0 else { return false }
        return read(ends[1], &byte, 1) == 1 && unread(of: ends[0]) == 0
    }()

    /// What the system holds for the peer to read, as it counts it; nil where it does not tell.
    package static func unread(of descriptor: CInt) -> Int? {
        var count: CInt = 0
        return ioctl(descriptor, UInt(TIOCOUTQ), &count) == 0 ? Int(count) : nil
    }
}

internal import Glibc
internal import RoomsRuntime

/// A Unix socket that listens, for a `HTTPServer` to take over.
package struct UnixListener: Sendable, CustomStringConvertible {
    package let description: String
    let descriptor: CInt

    /// The longest path of a Unix socket.
    private static let longestPath = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1

    /// A socket file for this user and its group (mode 0660), in place of one that nobody listens on any more.
    package init(unixPath path: String) throws(ListenError) {
        guard !path.isEmpty, path.utf8.count <= Self.longestPath else {
            throw ListenError(message: "\(path): is too long for a socket, at most \(Self.longestPath) bytes")
        }
        let kind = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let descriptor = socket(AF_UNIX, kind, 0)
        guard descriptor >= 0 else { throw ListenError(path: path, errno) }
        // The file gets this mode when it is made: at no time may others use it.
        guard fchmod(descriptor, 0o660) == 0 else { throw Self.closed(descriptor, path) }
        if !Self.bind(descriptor, path) {
            guard errno == EADDRINUSE, Self.isAbandoned(path), unlink(path) == 0, Self.bind(descriptor, path) else {
                throw Self.closed(descriptor, path)
            }
        }
        // The file mode creation mask may have taken the group's part away.
        guard chmod(path, 0o660) == 0, Glibc.listen(descriptor, ListenAddress.backlog) == 0 else {
            throw Self.closed(descriptor, path)
        }
        self.descriptor = descriptor
        description = path
    }

    /// One that the service manager listens on for us.
    package init(inherited descriptor: CInt) {
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        self.descriptor = descriptor
        description = "descriptor \(descriptor)"
    }

    private static func closed(_ descriptor: CInt, _ path: String) -> ListenError {
        let code = errno
        Glibc.close(descriptor)
        return ListenError(path: path, code)
    }

    /// Nobody listens on it; a file of another kind is somebody's, whatever a connect says of it.
    private static func isAbandoned(_ path: String) -> Bool {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK else {
            errno = EEXIST
            return false
        }
        let probe = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        defer { Glibc.close(probe) }
        let isRefused = withAddress(path) { Glibc.connect(probe, $0, $1) != 0 && errno == ECONNREFUSED }
        // What the caller reports is why it could not bind.
        errno = EADDRINUSE
        return probe >= 0 && isRefused
    }

    private static func bind(_ descriptor: CInt, _ path: String) -> Bool {
        withAddress(path) { Glibc.bind(descriptor, $0, $1) == 0 }
    }

    private static func withAddress<Result>(
        _ path: String,
        _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
    ) -> Result {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix(longestPath)) }
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
}

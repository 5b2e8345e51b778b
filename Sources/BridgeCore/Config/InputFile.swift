internal import Glibc
internal import RoomsRuntime

/// Why something that the configuration names is not to be had; the text never holds any of a secret.
package struct InputError: Error, Equatable, Sendable, CustomStringConvertible {
    package enum Code: Sendable {
        case missing
        case unreadable
        /// Others could have read or changed it.
        case unsafe
        case empty
        case tooLarge
        case malformed
    }

    package let code: Code
    /// What is wrong and what would be right.
    package let message: String

    package var description: String { message }
}

/// Reads files that the operator wrote, up to a limit.
enum InputFile {
    enum Audience {
        /// Anybody may read it.
        case anybody
        /// Only root and this service may read or change it.
        case service
    }

    static func read(_ path: ByteString, limit: Int, for audience: Audience = .anybody) throws(InputError) -> [UInt8] {
        // Without O_NONBLOCK the opening of a pipe would wait for a writer.
        let flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | (audience == .service ? O_NOFOLLOW : 0)
        let descriptor = open(path.string, flags)
        guard descriptor >= 0 else { throw unopened(path, errno) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw InputError(code: .unsafe, message: "\(path) is not a regular file, must be one")
        }
        if audience == .service { try check(status, path) }
        guard status.st_size <= limit else {
            throw InputError(
                code: .tooLarge,
                message: "\(path) is \(status.st_size) bytes long, must have at most \(limit)"
            )
        }
        return try contents(of: descriptor, path, limit)
    }

    /// Where relative paths begin.
    static var workingDirectory: ByteString {
        guard let path = getcwd(nil, 0) else { return "/" }
        defer { free(path) }
        return ByteString(String(cString: path))
    }

    private static func check(_ status: stat, _ path: ByteString) throws(InputError) {
        guard status.st_uid == 0 || status.st_uid == geteuid() else {
            throw InputError(
                code: .unsafe,
                message: "\(path) belongs to user \(status.st_uid), must belong to root or to user \(geteuid())"
            )
        }
        guard status.st_mode & 0o137 == 0 else {
            let mode = String(status.st_mode & 0o7777, radix: 8)
            throw InputError(
                code: .unsafe,
                message: "\(path) has mode 0\(mode) so that others could read or change it, must be 0600 or 0640"
            )
        }
    }

    private static func contents(of descriptor: CInt, _ path: ByteString, _ limit: Int) throws(InputError) -> [UInt8] {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16_384)
        while bytes.count <= limit {
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            if count > 0 {
                bytes += buffer[..<count]
            } else if count == 0 {
                return bytes
            } else if errno != EINTR {
                throw InputError(code: .unreadable, message: "\(path) cannot be read: \(text(of: errno))")
            }
        }
        throw InputError(code: .tooLarge, message: "\(path) is too long, must have at most \(limit) bytes")
    }

    private static func unopened(_ path: ByteString, _ code: CInt) -> InputError {
        switch code {
        case ENOENT, ENOTDIR:
            InputError(code: .missing, message: "\(path) is not there, must be a file")
        case ELOOP:
            InputError(code: .unsafe, message: "\(path) is a symbolic link, must be the file itself")
        default:
            InputError(code: .unreadable, message: "\(path) cannot be opened: \(text(of: code))")
        }
    }

    private static func text(of code: CInt) -> String { String(cString: strerror(code)) }
}

internal import Glibc

/// A file read at once.
enum WholeFile {
    /// Larger than any configuration.
    private static let limit = 16 << 20

    /// Nil with `errno` set when that cannot be done: `EINVAL` for what is no regular file, such as a pipe that nobody
    /// writes to, `EFBIG` for one of more than 16 MiB.
    static func read(_ path: String) -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        guard status.st_mode & S_IFMT == S_IFREG else {
            return fail(status.st_mode & S_IFMT == S_IFDIR ? EISDIR : EINVAL)
        }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            if count < 0 { return nil }
            if count == 0 { return bytes }
            bytes += buffer[..<count]
            guard bytes.count <= limit else { return fail(EFBIG) }
        }
    }

    private static func fail(_ error: CInt) -> [UInt8]? {
        errno = error
        return nil
    }
}

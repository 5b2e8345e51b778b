internal import Glibc
internal import RoomsRuntime

/// Reads what a command line names: files, pipes, and standard input as `-`.
enum CommandInput {
    private static let largest = 64 << 20

    /// One line end at the end is taken off.
    static func secret(_ path: String) throws(CommandError) -> Secret {
        var bytes = try contents(path)[...]
        if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
        if bytes.last == UInt8(ascii: "\r") { bytes.removeLast() }
        guard !bytes.isEmpty else { throw CommandError("\(path): is empty, must hold a secret", .configuration) }
        return Secret(Array(bytes))
    }

    static func contents(_ path: String) throws(CommandError) -> [UInt8] {
        let descriptor = path == "-" ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure(path, errno) }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            if count > 0 {
                bytes += buffer[..<count]
                guard bytes.count <= largest else {
                    throw CommandError("\(path): has more than \(largest >> 20) MiB", .inputOutput)
                }
            } else if count == 0 {
                return bytes
            } else if errno != EINTR {
                throw failure(path, errno)
            }
        }
    }

    private static func failure(_ path: String, _ code: CInt) -> CommandError {
        CommandError("\(path): cannot be read: \(String(cString: strerror(code)))", .inputOutput)
    }
}

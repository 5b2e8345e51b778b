import Glibc

/// Files that the command line names.
enum TextFile {
    /// Its lines that are not empty, without white space around them.
    static func lines(_ path: String) throws(Failure) -> [String] {
        try read(path).split(whereSeparator: \.isNewline).map(\.trimmed).filter { !$0.isEmpty }
    }

    static func read(_ path: String) throws(Failure) -> String {
        guard let text = try readIfThere(path) else { throw Failure(.input, "\(path): there is no such file") }
        return text
    }

    /// Nil where there is no such file.
    static func readIfThere(_ path: String) throws(Failure) -> String? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        if file < 0, errno == ENOENT { return nil }
        guard file >= 0 else { throw Failure(.input, "\(path): \(String(cString: strerror(errno)))") }
        defer { close(file) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = Glibc.read(file, &buffer, buffer.count)
            guard count >= 0 else { throw Failure(.input, "\(path): \(String(cString: strerror(errno)))") }
            guard count > 0 else { break }
            bytes += buffer[..<count]
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw Failure(.input, "\(path): it is no text, UTF-8 would be right")
        }
        return text
    }
}

extension StringProtocol {
    /// Without white space at both ends.
    var trimmed: String {
        let start = drop(while: \.isWhitespace)
        return String(start[..<(start.lastIndex { !$0.isWhitespace }.map(start.index(after:)) ?? start.startIndex)])
    }
}

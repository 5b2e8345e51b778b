import Glibc

/// Something that text is written to, at once and whole.
struct Descriptor {
    static let standardOutput = Descriptor(STDOUT_FILENO, "standard output")
    static let standardError = Descriptor(STDERR_FILENO, "standard error")

    private let number: CInt
    private let name: String

    private init(_ number: CInt, _ name: String) {
        self.number = number
        self.name = name
    }

    /// A file that is new, or emptied, and for this user alone.
    init(writing path: String) throws(Failure) {
        self.init(open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600), path)
        guard number >= 0 else { throw Failure(.output, "\(path): \(String(cString: strerror(errno)))") }
    }

    func close() {
        _ = Glibc.close(number)
    }

    var isTerminal: Bool { isatty(number) == 1 }

    /// As https://no-color.org asks.
    var showsColour: Bool {
        func variable(_ name: String) -> String { getenv(name).map { String(cString: $0) } ?? "" }
        return isTerminal && variable("NO_COLOR").isEmpty && variable("TERM") != "dumb"
    }

    /// False when nobody reads it any more.
    @discardableResult
    func write(_ text: String) throws(Failure) -> Bool {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { Glibc.write(number, $0.baseAddress, $0.count) }
            if count >= 0 {
                bytes.removeFirst(count)
            } else if errno == EPIPE {
                return false
            } else if errno != EINTR {
                throw Failure(.output, "\(name): \(String(cString: strerror(errno)))")
            }
        }
        return true
    }
}

extension RawConnection {
    /// The next request: its head as text, and as much of a body as it says; nil at the end.
    package func readRequest() -> (head: String, body: [UInt8])? {
        let head = readHead()
        guard !head.isEmpty else { return nil }
        let field = head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("content-length:") }
        let length = field.flatMap { Int($0.split(separator: " ").last ?? "") } ?? 0
        return (head, read(exactly: length))
    }

    /// Answers with that status and body, and leaves the connection open.
    package func answer(_ body: String = "", status: Int = 200) {
        write("HTTP/1.1 \(status) X\r\ncontent-length: \(body.utf8.count)\r\n\r\n\(body)")
    }
}

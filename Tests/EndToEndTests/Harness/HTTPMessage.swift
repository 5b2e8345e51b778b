internal import RoomsRuntime

/// A request or an answer as these tests read it: start line, headers, a body of known length.
///
/// Written apart from the product's codec, whose output it reads.
struct HTTPMessage: Sendable {
    var startLine: String
    /// Names in lower case.
    var headers: [String: String]
    var body: [UInt8]

    /// The first message of `bytes` and its length; nil while it is not complete.
    static func read(_ bytes: [UInt8]) -> (HTTPMessage, Int)? {
        guard let head = headLength(bytes) else { return nil }
        let lines = String(decoding: bytes[..<head], as: UTF8.self).utf8.split(separator: UInt8(ascii: "\n"))
        var message = HTTPMessage(startLine: text(lines.first), headers: [:], body: [])
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { continue }
            let name = String(decoding: line[..<colon], as: UTF8.self).lowercased()
            message.headers[name] = text(line[line.index(after: colon)...])
        }
        let length = message.headers["content-length"].flatMap { Int($0) } ?? 0
        guard bytes.count >= head + length else { return nil }
        message.body = [UInt8](bytes[head..<(head + length)])
        return (message, head + length)
    }

    static func headLength(_ bytes: [UInt8]) -> Int? {
        bytes.withUnsafeBufferPointer { bytes in
            var index = 3
            while index < bytes.count {
                if bytes[index] == 10, bytes[index &- 1] == 13, bytes[index &- 2] == 10 { return index + 1 }
                index &+= 1
            }
            return nil
        }
    }

    private static func text(_ line: Substring.UTF8View?) -> String {
        var bytes = line.map { [UInt8]($0) } ?? []
        while bytes.last == 13 || bytes.last == 32 { bytes.removeLast() }
        while bytes.first == 32 { bytes.removeFirst() }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The status of an answer.
    var status: Int? { startLine.split(separator: " ").dropFirst().first.flatMap { Int($0) } }

    static func answer(_ status: Int, headers: [String] = [], body: [UInt8] = []) -> [UInt8] {
        let head = ["HTTP/1.1 \(status) X", "content-length: \(body.count)"] + headers
        return Array((head.joined(separator: "\r\n") + "\r\n\r\n").utf8) + body
    }
}

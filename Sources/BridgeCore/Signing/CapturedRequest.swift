package import RoomsRuntime

/// A webhook request as somebody has written it down: header lines, and the bytes of the body.
package struct CapturedRequest: Sendable {
    private let fields: [(name: [UInt8], value: [UInt8])]
    package let body: [UInt8]

    /// Header lines with LF or CR LF, a request line before them or not, an empty line, the body.
    ///
    /// Nil when the first lines are no header.
    package init?(_ bytes: [UInt8]) {
        guard let (fields, end) = Self.fields(bytes), !fields.isEmpty else { return nil }
        self.fields = fields
        body = Array(bytes[end...])
    }

    /// The same in two pieces.
    package init?(headers: [UInt8], body: [UInt8]) {
        guard let (fields, _) = Self.fields(headers), !fields.isEmpty else { return nil }
        self.fields = fields
        self.body = body
    }

    /// Nil when there is none, or when it is empty.
    package subscript(_ name: String) -> ByteString? {
        let name = Array(name.utf8)
        guard let value = fields.first(where: { $0.name == name })?.value, !value.isEmpty else { return nil }
        return ByteString(value)
    }

    /// How many fields have this name.
    func count(of name: String) -> Int { fields.count { $0.name == Array(name.utf8) } }

    /// The fields, and where the body begins.
    private static func fields(_ bytes: [UInt8]) -> (fields: [(name: [UInt8], value: [UInt8])], end: Int)? {
        var fields: [(name: [UInt8], value: [UInt8])] = []
        var start = 0
        var isFirst = true
        while start < bytes.count {
            let end = bytes[start...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count
            var line = bytes[start..<end]
            if line.last == UInt8(ascii: "\r") { line.removeLast() }
            start = min(end + 1, bytes.count)
            if line.isEmpty { return (fields, start) }
            defer { isFirst = false }
            if isFirst, isRequestLine(line) { continue }
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex else { return nil }
            let name = line[..<colon].map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 }
            guard name.allSatisfy(isNameByte) else { return nil }
            fields.append((name, trimmed(line[(colon + 1)...])))
        }
        return (fields, bytes.count)
    }

    /// Those that names of headers are made of in practice.
    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
            UInt8(ascii: "_"):
            true
        default: false
        }
    }

    private static func isRequestLine(_ line: ArraySlice<UInt8>) -> Bool {
        let words = line.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
        return words.count == 3 && words[2].starts(with: "HTTP/".utf8)
    }

    private static func trimmed(_ value: ArraySlice<UInt8>) -> [UInt8] {
        let isSpace: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 }
        return Array(value.drop(while: isSpace).reversed().drop(while: isSpace).reversed())
    }
}

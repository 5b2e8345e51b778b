/// Reads a JSON text into the entries of a `JSONTape`.
///
/// A loop with a stack of its own, so that no text can exhaust the thread's.
struct JSONParser {
    private let bytes: [UInt8]
    private let maximumDepth: Int
    private let checksUTF8: Bool
    private var index = 0
    private var line = 1
    private var lineStart = 0
    private var entries: [JSONEntry] = []
    /// Entries of the objects and arrays that are not closed yet.
    private var open: [Int] = []

    private enum Expected {
        case value
        case elementOrEnd
        case keyOrEnd
        case key
        case colon
        case commaOrEnd
    }

    init(_ bytes: [UInt8], maximumDepth: Int, checksUTF8: Bool) {
        self.bytes = bytes
        self.maximumDepth = maximumDepth
        self.checksUTF8 = checksUTF8
    }

    mutating func parse() throws(JSONError) -> [JSONEntry] {
        guard bytes.count < Int(UInt32.max) else {
            throw error(.tooLarge, "the text is longer than 4 GiB", remedy: "split it")
        }
        if bytes.starts(with: [0xef, 0xbb, 0xbf]) {
            throw error(.unexpected, "the text begins with a byte order mark", remedy: "save it as UTF-8 without one")
        }
        var expected = Expected.value
        while true {
            skipWhiteSpace()
            guard index < bytes.count else { throw unfinished(expected) }
            switch expected {
            case .value:
                expected = try value()
            case .elementOrEnd:
                expected = bytes[index] == UInt8(ascii: "]") ? close() : try value()
            case .keyOrEnd:
                expected = bytes[index] == UInt8(ascii: "}") ? close() : try key()
            case .key:
                expected = try key()
            case .colon:
                expected = try colon()
            case .commaOrEnd:
                expected = try commaOrEnd()
            }
            if expected == .commaOrEnd, open.isEmpty { break }
        }
        skipWhiteSpace()
        guard index == bytes.count else {
            throw error(.unexpected, "\(found) behind the value", remedy: "only one value may stand here")
        }
        return entries
    }

    private mutating func value() throws(JSONError) -> Expected {
        switch bytes[index] {
        case UInt8(ascii: "{"):
            try begin(.object)
            return .keyOrEnd
        case UInt8(ascii: "["):
            try begin(.array)
            return .elementOrEnd
        case UInt8(ascii: "\""):
            try string(.string)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            try number()
        case UInt8(ascii: "t"):
            try word("true", .yes)
        case UInt8(ascii: "f"):
            try word("false", .no)
        case UInt8(ascii: "n"):
            try word("null", .null)
        default:
            throw error(.unexpected, "\(found) where a value has to stand", remedy: remedyForValue)
        }
        return .commaOrEnd
    }

    private mutating func key() throws(JSONError) -> Expected {
        guard bytes[index] == UInt8(ascii: "\"") else {
            let isTrailingComma = bytes[index] == UInt8(ascii: "}")
            throw error(
                .unexpected,
                "\(found) where a key has to stand",
                remedy: isTrailingComma ? "take away the comma before it" : "keys are written in double quotes"
            )
        }
        try string(.key)
        return .colon
    }

    private mutating func colon() throws(JSONError) -> Expected {
        guard bytes[index] == UInt8(ascii: ":") else {
            throw error(.unexpected, "\(found) behind a key", remedy: "a colon and a value have to follow")
        }
        index += 1
        return .value
    }

    private mutating func commaOrEnd() throws(JSONError) -> Expected {
        let isObject = entries[open[open.count - 1]].kind == .object
        let byte = bytes[index]
        if byte == UInt8(ascii: ",") {
            index += 1
            return isObject ? .key : .value
        }
        if byte == (isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) { return close() }
        throw error(
            .unexpected,
            "\(found) behind a value",
            remedy: "write a comma or \(isObject ? "}" : "]") before it"
        )
    }

    private mutating func begin(_ kind: JSONEntry.Kind) throws(JSONError) {
        guard open.count < maximumDepth else {
            throw error(.tooDeep, "nested deeper than \(maximumDepth) levels", remedy: "make it flatter")
        }
        open.append(entries.count)
        append(kind, from: index, to: index + 1)
        index += 1
    }

    private mutating func close() -> Expected {
        index += 1
        let container = open.removeLast()
        entries[container].end = UInt32(index)
        entries[container].next = UInt32(entries.count)
        return .commaOrEnd
    }

    private mutating func append(_ kind: JSONEntry.Kind, from start: Int, to end: Int, isEscaped: Bool = false) {
        entries.append(
            JSONEntry(
                kind: kind,
                isEscaped: isEscaped,
                start: UInt32(start),
                end: UInt32(end),
                line: UInt32(line),
                column: UInt32(start - lineStart + 1),
                next: UInt32(entries.count + 1)
            )
        )
    }

    private mutating func skipWhiteSpace() {
        while index < bytes.count {
            switch bytes[index] {
            case 0x0a:
                index += 1
                line += 1
                lineStart = index
            case 0x20, 0x09, 0x0d:
                index += 1
            default:
                return
            }
        }
    }
}

// MARK: - Scalars

extension JSONParser {
    private mutating func word(_ word: StaticString, _ kind: JSONEntry.Kind) throws(JSONError) {
        let end = index + word.utf8CodeUnitCount
        guard end <= bytes.count,
            bytes[index..<end].elementsEqual(UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount))
        else { throw error(.unexpected, "\(found) where a value has to stand", remedy: remedyForValue) }
        append(kind, from: index, to: end)
        index = end
    }

    private mutating func number() throws(JSONError) {
        let start = index
        if bytes[index] == UInt8(ascii: "-") { index += 1 }
        let first = index
        try digits("behind the sign")
        if bytes[first] == UInt8(ascii: "0"), index > first + 1 {
            index = start
            throw error(.badNumber, "a number with a leading zero", remedy: "write it without")
        }
        if index < bytes.count, bytes[index] == UInt8(ascii: ".") {
            index += 1
            try digits("behind the point")
        }
        if index < bytes.count, bytes[index] | 0x20 == UInt8(ascii: "e") {
            index += 1
            if index < bytes.count, bytes[index] == UInt8(ascii: "+") || bytes[index] == UInt8(ascii: "-") {
                index += 1
            }
            try digits("of the exponent")
        }
        append(.number, from: start, to: index)
    }

    private mutating func digits(_ place: StaticString) throws(JSONError) {
        let start = index
        while index < bytes.count, bytes[index] &- 0x30 < 10 { index += 1 }
        guard index > start else {
            throw error(.badNumber, "a number without the digits \(place)", remedy: "write at least one digit")
        }
    }

    private mutating func string(_ kind: JSONEntry.Kind) throws(JSONError) {
        let start = index
        var isEscaped = false
        index += 1
        while true {
            index = bytes.withUnsafeBytes { JSONScanner.skipPlain($0, index, checksUTF8: checksUTF8) }
            guard index < bytes.count else { break }
            switch bytes[index] {
            case UInt8(ascii: "\""):
                index += 1
                append(kind, from: start, to: index, isEscaped: isEscaped)
                return
            case UInt8(ascii: "\\"):
                isEscaped = true
                try escape()
            case 0..<0x20:
                throw error(
                    .badString,
                    "\(found) inside a string",
                    remedy: "write it as an escape (\\n for a line end), or close the string before it"
                )
            case 0x80... where checksUTF8:
                let length = bytes.withUnsafeBufferPointer { buffer in
                    buffer.baseAddress.map { UTF8Sequence.length($0, at: index, end: buffer.count) } ?? 0
                }
                guard length > 0 else {
                    throw error(.notUTF8, "\(found), which is not UTF-8", remedy: "save the text as UTF-8")
                }
                index += length
            default:
                index += 1
            }
        }
        index = start
        throw error(.unfinished, "a string without an end", remedy: "close it with a double quote")
    }

    private mutating func escape() throws(JSONError) {
        let letter = index + 1 < bytes.count ? bytes[index + 1] : 0
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            index += 2
        case UInt8(ascii: "u")
        where index + 6 <= bytes.count && bytes[index + 2..<index + 6].allSatisfy { JSONText.hexValue($0) != nil }:
            index += 6
        default:
            throw error(
                .badString,
                "an escape that JSON does not have",
                remedy: "there are \\\" \\\\ \\/ \\b \\f \\n \\r \\t and \\u with four hexadecimal digits"
            )
        }
    }
}

// MARK: - Errors

extension JSONParser {
    private func error(_ code: JSONError.Code, _ what: String, remedy: String) -> JSONError {
        JSONError(code, at: JSONPosition(line: line, column: index - lineStart + 1), what, remedy: remedy)
    }

    private func unfinished(_ expected: Expected) -> JSONError {
        guard let last = open.last else {
            return error(.unfinished, "there is no value", remedy: "at least one has to stand here")
        }
        let entry = entries[last]
        let name = entry.kind == .object ? "object" : "array"
        let bracket = entry.kind == .object ? "}" : "]"
        return error(
            .unfinished,
            "the text ends inside the \(name) that begins at \(entry.line):\(entry.column)",
            remedy: "close it with \(bracket)"
        )
    }

    /// What stands at `index`, safe to print.
    private var found: String {
        guard index < bytes.count else { return "the end of the text" }
        let byte = bytes[index]
        if byte > 0x20, byte < 0x7f { return "'\(Character(UnicodeScalar(byte)))'" }
        return "the byte 0x" + (byte < 0x10 ? "0" : "") + String(byte, radix: 16)
    }

    private var remedyForValue: String {
        switch bytes[index] {
        case UInt8(ascii: "]"), UInt8(ascii: "}"):
            "write a value, or take away the comma before it"
        case UInt8(ascii: "'"):
            "strings are written in double quotes"
        case UInt8(ascii: "/"), UInt8(ascii: "#"):
            "JSON has no comments"
        case UInt8(ascii: "."), UInt8(ascii: "+"):
            "a number begins with a digit or a minus sign"
        default:
            "a value is true, false, null, a number, a string in double quotes, an object or an array"
        }
    }
}

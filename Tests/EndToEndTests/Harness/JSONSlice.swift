internal import RoomsRuntime

/// A value inside JSON text, as the bytes that stand there.
///
/// Written apart from the product's parser, whose output it reads; it takes the text to be well-formed.
struct JSONSlice: Sendable {
    private let text: [UInt8]
    private let range: Range<Int>

    init(_ text: [UInt8]) {
        self.text = text
        let start = Self.skipSpace(text, 0)
        range = start..<Self.skipValue(text, start)
    }

    init(_ text: String) {
        self.init([UInt8](text.utf8))
    }

    private init(_ text: [UInt8], _ range: Range<Int>) {
        self.text = text
        self.range = range
    }

    var raw: [UInt8] { [UInt8](text[range]) }

    var unsigned: UInt64? { UInt64(String(decoding: text[range], as: UTF8.self)) }

    var isNull: Bool { raw == Array("null".utf8) }

    /// The text of a string without escapes.
    var string: ByteString? {
        guard range.count >= 2, text[range.lowerBound] == UInt8(ascii: "\"") else { return nil }
        return ByteString([UInt8](text[(range.lowerBound + 1)..<(range.upperBound - 1)]))
    }

    subscript(key: String) -> JSONSlice? {
        member(key).map { JSONSlice(text, $0.value) }
    }

    /// What stands between the colon behind the key and the comma or bracket behind the value, white space and all.
    func verbatim(_ key: String) -> [UInt8]? {
        member(key).map { [UInt8](text[$0.around]) }
    }

    private func member(_ key: String) -> (value: Range<Int>, around: Range<Int>)? {
        guard !range.isEmpty, text[range.lowerBound] == UInt8(ascii: "{") else { return nil }
        var index = Self.skipSpace(text, range.lowerBound + 1)
        while index < range.upperBound, text[index] == UInt8(ascii: "\"") {
            let end = Self.skipValue(text, index)
            let isWanted = text[(index + 1)..<(end - 1)].elementsEqual(key.utf8)
            let behindColon = Self.skipSpace(text, end) + 1
            let start = Self.skipSpace(text, behindColon)
            let valueEnd = Self.skipValue(text, start)
            let next = Self.skipSpace(text, valueEnd)
            if isWanted { return (start..<valueEnd, behindColon..<next) }
            index = Self.skipSpace(text, next + 1)
        }
        return nil
    }

    /// The elements of an array.
    var elements: [JSONSlice] {
        guard !range.isEmpty, text[range.lowerBound] == UInt8(ascii: "[") else { return [] }
        var found: [JSONSlice] = []
        var index = Self.skipSpace(text, range.lowerBound + 1)
        while index < range.upperBound, text[index] != UInt8(ascii: "]") {
            let end = Self.skipValue(text, index)
            found.append(JSONSlice(text, index..<end))
            index = Self.skipSpace(text, end)
            if index < range.upperBound, text[index] == UInt8(ascii: ",") { index = Self.skipSpace(text, index + 1) }
        }
        return found
    }

    private static func skipSpace(_ text: [UInt8], _ start: Int) -> Int {
        var index = start
        while index < text.count, text[index] <= 0x20 { index += 1 }
        return index
    }

    /// The end of the value that begins at `start`.
    private static func skipValue(_ text: [UInt8], _ start: Int) -> Int {
        text.withUnsafeBufferPointer { text in
            var index = start
            var depth = 0
            while index < text.count {
                switch text[index] {
                case UInt8(ascii: "\""):
                    index &+= 1
                    while index < text.count, text[index] != UInt8(ascii: "\"") {
                        index &+= text[index] == UInt8(ascii: "\\") ? 2 : 1
                    }
                    index &+= 1
                    if depth == 0 { return min(index, text.count) }
                    continue
                case UInt8(ascii: "{"), UInt8(ascii: "["):
                    depth &+= 1
                case UInt8(ascii: "}"), UInt8(ascii: "]"):
                    if depth == 0 { return index }
                    depth &-= 1
                    if depth == 0 { return index &+ 1 }
                case UInt8(ascii: ","), UInt8(ascii: ":"):
                    if depth == 0 { return index }
                case 0...0x20:
                    if depth == 0 { return index }
                default:
                    break
                }
                index &+= 1
            }
            return text.count
        }
    }
}

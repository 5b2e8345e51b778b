package import RoomsRuntime

/// Appends compact JSON to bytes: commas, quotes and escapes are its business, the order of calls the caller's.
///
/// Every string it writes is valid UTF-8: what is not becomes U+FFFD.
package struct JSONWriter {
    package private(set) var bytes: [UInt8]
    private var needsComma = false

    /// Goes on behind what stands in `bytes` already.
    package init(_ bytes: [UInt8] = []) {
        self.bytes = bytes
    }

    package mutating func object(_ body: (inout JSONWriter) -> Void) {
        beginObject()
        body(&self)
        endObject()
    }

    package mutating func array(_ body: (inout JSONWriter) -> Void) {
        beginArray()
        body(&self)
        endArray()
    }

    package mutating func beginObject() { begin(UInt8(ascii: "{")) }
    package mutating func endObject() { end(UInt8(ascii: "}")) }
    package mutating func beginArray() { begin(UInt8(ascii: "[")) }
    package mutating func endArray() { end(UInt8(ascii: "]")) }

    /// A value has to follow.
    package mutating func key(_ name: ByteString) {
        name.bytes.withUnsafeBytes { key(utf8: $0) }
    }

    package mutating func key(utf8 name: UnsafeRawBufferPointer) {
        comma()
        quote(name)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    /// A key of our own: ASCII without quotes, backslashes and control characters, written as it is.
    package mutating func key(literal name: StaticString) {
        comma()
        bytes.append(UInt8(ascii: "\""))
        bytes.append(contentsOf: UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))
        bytes.append(UInt8(ascii: "\""))
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    package mutating func string(_ text: ByteString) {
        text.bytes.withUnsafeBytes { string(utf8: $0) }
    }

    package mutating func string(_ text: String) {
        var text = text
        text.withUTF8 { string(utf8: UnsafeRawBufferPointer($0)) }
    }

    package mutating func string(utf8 text: UnsafeRawBufferPointer) {
        comma()
        quote(text)
        needsComma = true
    }

    /// Of at most 64 bits.
    package mutating func integer(_ value: some FixedWidthInteger) {
        integer(magnitude: UInt64(value.magnitude), isNegative: value < 0)
    }

    private mutating func integer(magnitude: UInt64, isNegative: Bool) {
        comma()
        var rest = magnitude
        if isNegative { bytes.append(UInt8(ascii: "-")) }
        let start = bytes.count
        repeat {
            let (quotient, digit) = rest.quotientAndRemainder(dividingBy: 10)
            bytes.append(UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: digit))
            rest = quotient
        } while rest != 0
        bytes[start...].reverse()
        needsComma = true
    }

    package mutating func bool(_ value: Bool) {
        comma()
        bytes.append(contentsOf: value ? "true".utf8 : "false".utf8)
        needsComma = true
    }

    package mutating func null() {
        comma()
        bytes.append(contentsOf: "null".utf8)
        needsComma = true
    }

    /// Splices a value that is JSON already; it is not looked at.
    package mutating func raw(_ json: UnsafeRawBufferPointer) {
        comma()
        bytes.append(contentsOf: json)
        needsComma = true
    }

    /// Splices a value that is JSON already; it is not looked at.
    package mutating func raw(_ json: [UInt8]) {
        json.withUnsafeBytes { raw($0) }
    }

    private mutating func begin(_ bracket: UInt8) {
        comma()
        bytes.append(bracket)
        needsComma = false
    }

    private mutating func end(_ bracket: UInt8) {
        bytes.append(bracket)
        needsComma = true
    }

    private mutating func comma() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
    }

    private mutating func quote(_ text: UnsafeRawBufferPointer) {
        Self.appendString(text, to: &bytes)
    }

    /// Appends `text` as a JSON string, quotes included, where the rest is written by hand.
    package static func appendString(_ text: UnsafeRawBufferPointer, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        text.withMemoryRebound(to: UInt8.self) { text in
            guard let start = text.baseAddress else { return }
            var written = 0
            var index = 0
            while index < text.count {
                let byte = start[index]
                if byte >= 0x20, byte < 0x80, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") {
                    index += 1
                    continue
                }
                let length = UTF8Sequence.length(start, at: index, end: text.count)
                if length > 1 {
                    index += length
                    continue
                }
                bytes.append(contentsOf: text[written..<index])
                if length == 1 {
                    escape(byte, to: &bytes)
                    index += 1
                } else {
                    bytes.append(contentsOf: UTF8Sequence.replacement)
                    index += UTF8Sequence.invalidLength(start, at: index, end: text.count)
                }
                written = index
            }
            bytes.append(contentsOf: text[written...])
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private static func escape(_ byte: UInt8, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\\"))
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"):
            bytes.append(byte)
        case 0x08: bytes.append(UInt8(ascii: "b"))
        case 0x09: bytes.append(UInt8(ascii: "t"))
        case 0x0a: bytes.append(UInt8(ascii: "n"))
        case 0x0c: bytes.append(UInt8(ascii: "f"))
        case 0x0d: bytes.append(UInt8(ascii: "r"))
        default:
            bytes.append(contentsOf: "u00".utf8)
            bytes.append(hexadecimal[Int(byte >> 4)])
            bytes.append(hexadecimal[Int(byte & 15)])
        }
    }

    static let hexadecimal = Array("0123456789abcdef".utf8)
}

/// Base64 of RFC 4648: standard with padding, and the URL form without.
package enum Base64 {
    private static let standard = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    private static let url = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    package static func encode(_ bytes: some Sequence<UInt8>) -> [UInt8] {
        var text = encode(bytes, alphabet: standard)
        while text.count % 4 != 0 { text.append(UInt8(ascii: "=")) }
        return text
    }

    /// The same without an array of its own, for the hot path.
    package static func append(_ bytes: UnsafeRawBufferPointer, to text: inout [UInt8]) {
        standard.withUnsafeBufferPointer { alphabet in
            var index = 0
            while index &+ 3 <= bytes.count {
                let bits = UInt32(bytes[index]) << 16 | UInt32(bytes[index &+ 1]) << 8 | UInt32(bytes[index &+ 2])
                text.append(alphabet[Int(bits >> 18)])
                text.append(alphabet[Int(bits >> 12 & 63)])
                text.append(alphabet[Int(bits >> 6 & 63)])
                text.append(alphabet[Int(bits & 63)])
                index &+= 3
            }
            guard index < bytes.count else { return }
            let isPair = index &+ 1 < bytes.count
            let bits = UInt32(bytes[index]) << 16 | (isPair ? UInt32(bytes[index &+ 1]) << 8 : 0)
            text.append(alphabet[Int(bits >> 18)])
            text.append(alphabet[Int(bits >> 12 & 63)])
            text.append(isPair ? alphabet[Int(bits >> 6 & 63)] : UInt8(ascii: "="))
            text.append(UInt8(ascii: "="))
        }
    }

    package static func encodeURL(_ bytes: some Sequence<UInt8>) -> [UInt8] {
        encode(bytes, alphabet: url)
    }

    /// Nil unless `text` is exactly what `encode` writes (padding may be left out; no white space, no stray bits).
    package static func decode(_ text: some Sequence<UInt8>) -> [UInt8]? {
        decode(text, sixtyThird: UInt8(ascii: "+"), sixtyFourth: UInt8(ascii: "/"))
    }

    package static func decodeURL(_ text: some Sequence<UInt8>) -> [UInt8]? {
        decode(text, sixtyThird: UInt8(ascii: "-"), sixtyFourth: UInt8(ascii: "_"))
    }

    private static func encode(_ bytes: some Sequence<UInt8>, alphabet: [UInt8]) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.underestimatedCount + 2) / 3 * 4)
        var bits: UInt32 = 0
        var count: UInt32 = 0
        for byte in bytes {
            bits = bits << 8 | UInt32(byte)
            count += 8
            while count >= 6 {
                count -= 6
                text.append(alphabet[Int(bits >> count & 63)])
            }
            bits &= 1 << count - 1
        }
        if count > 0 { text.append(alphabet[Int(bits << (6 - count) & 63)]) }
        return text
    }

    private static func decode(_ text: some Sequence<UInt8>, sixtyThird: UInt8, sixtyFourth: UInt8) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.underestimatedCount / 4 * 3)
        var bits: UInt32 = 0
        var count: UInt32 = 0
        var digits = 0
        var padding = 0
        for character in text {
            if character == UInt8(ascii: "=") {
                padding += 1
                continue
            }
            guard padding == 0, let value = value(of: character, sixtyThird, sixtyFourth) else { return nil }
            digits += 1
            bits = bits << 6 | value
            count += 6
            if count >= 8 {
                count -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> count))
                bits &= 1 << count - 1
            }
        }
        guard digits % 4 != 1, bits == 0, padding == 0 || (digits + padding) % 4 == 0, padding < 3 else { return nil }
        return bytes
    }

    private static func value(of character: UInt8, _ sixtyThird: UInt8, _ sixtyFourth: UInt8) -> UInt32? {
        switch character {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(character - UInt8(ascii: "A"))
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(character - UInt8(ascii: "a")) + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(character - UInt8(ascii: "0")) + 52
        case sixtyThird: 62
        case sixtyFourth: 63
        default: nil
        }
    }
}

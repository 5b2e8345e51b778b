/// The inside of a JSON string, between its quotes.
enum JSONText {
    /// The bytes that a valid string body stands for; a surrogate escape without its other half becomes U+FFFD.
    static func unescape(_ body: UnsafeBufferPointer<UInt8>) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(body.count)
        var index = 0
        while index < body.count {
            let byte = body[index]
            guard byte == UInt8(ascii: "\\"), index + 1 < body.count else {
                text.append(byte)
                index += 1
                continue
            }
            let letter = body[index + 1]
            guard letter == UInt8(ascii: "u") else {
                text.append(plain(letter))
                index += 2
                continue
            }
            let unit = codeUnit(body, at: index + 2)
            index += 6
            guard unit & 0xfc00 == 0xd800, index + 1 < body.count, body[index] == UInt8(ascii: "\\"),
                body[index + 1] == UInt8(ascii: "u")
            else {
                UTF8Sequence.append(unit, to: &text)
                continue
            }
            let low = codeUnit(body, at: index + 2)
            guard low & 0xfc00 == 0xdc00 else {
                text.append(contentsOf: UTF8Sequence.replacement)
                continue
            }
            UTF8Sequence.append(0x1_0000 + (unit & 0x3ff) << 10 + (low & 0x3ff), to: &text)
            index += 6
        }
        return text
    }

    /// The value of a hexadecimal digit, nil if `byte` is none.
    @inline(__always)
    static func hexValue(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte &- UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte &- UInt8(ascii: "a") &+ 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte &- UInt8(ascii: "A") &+ 10
        default: nil
        }
    }

    private static func plain(_ letter: UInt8) -> UInt8 {
        switch letter {
        case UInt8(ascii: "b"): 0x08
        case UInt8(ascii: "f"): 0x0c
        case UInt8(ascii: "n"): 0x0a
        case UInt8(ascii: "r"): 0x0d
        case UInt8(ascii: "t"): 0x09
        default: letter
        }
    }

    private static func codeUnit(_ body: UnsafeBufferPointer<UInt8>, at index: Int) -> UInt32 {
        var unit: UInt32 = 0
        for offset in 0..<4 where index + offset < body.count {
            unit = unit << 4 | UInt32(hexValue(body[index + offset]) ?? 0)
        }
        return unit
    }
}

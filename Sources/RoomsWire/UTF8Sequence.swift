/// What UTF-8 (RFC 3629) allows: no overlong forms, no surrogates, nothing above U+10FFFF.
enum UTF8Sequence {
    /// Length of the sequence that begins at `index`, 0 if the bytes there are not UTF-8.
    ///
    /// Reads nothing at or behind `end`.
    @inline(__always)
    static func length(_ bytes: UnsafePointer<UInt8>, at index: Int, end: Int) -> Int {
        let lead = bytes[index]
        if lead < 0x80 { return 1 }
        let left = end &- index
        if lead < 0xe0 {
            return lead >= 0xc2 && left >= 2 && isContinuation(bytes[index &+ 1]) ? 2 : 0
        }
        if lead < 0xf0 {
            guard left >= 3, isContinuation(bytes[index &+ 2]) else { return 0 }
            let second = bytes[index &+ 1]
            // E0 would be overlong below A0, ED a surrogate from A0 on.
            let low: UInt8 = lead == 0xe0 ? 0xa0 : 0x80
            let high: UInt8 = lead == 0xed ? 0x9f : 0xbf
            return second >= low && second <= high ? 3 : 0
        }
        guard lead < 0xf5, left >= 4, isContinuation(bytes[index &+ 2]), isContinuation(bytes[index &+ 3]) else {
            return 0
        }
        let second = bytes[index &+ 1]
        let low: UInt8 = lead == 0xf0 ? 0x90 : 0x80
        let high: UInt8 = lead == 0xf4 ? 0x8f : 0xbf
        return second >= low && second <= high ? 4 : 0
    }

    /// How many bytes one U+FFFD stands for where `length` says 0: the longest beginning of a valid sequence, at least 1.
    static func invalidLength(_ bytes: UnsafePointer<UInt8>, at index: Int, end: Int) -> Int {
        let lead = bytes[index]
        guard lead >= 0xc2, lead < 0xf5, index + 1 < end else { return 1 }
        let low: UInt8 = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80
        let high: UInt8 = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf
        guard bytes[index + 1] >= low, bytes[index + 1] <= high, lead >= 0xe0 else { return 1 }
        guard lead >= 0xf0, index + 2 < end, isContinuation(bytes[index + 2]) else { return 2 }
        return 3
    }

    /// Appends `scalar`; a surrogate becomes U+FFFD.
    static func append(_ scalar: UInt32, to text: inout [UInt8]) {
        switch scalar {
        case 0..<0x80:
            text.append(UInt8(truncatingIfNeeded: scalar))
        case 0x80..<0x800:
            text.append(0xc0 | UInt8(truncatingIfNeeded: scalar >> 6))
            text.append(0x80 | UInt8(truncatingIfNeeded: scalar & 0x3f))
        case 0xd800..<0xe000, 0x11_0000...:
            text.append(contentsOf: replacement)
        case 0x800..<0x1_0000:
            text.append(0xe0 | UInt8(truncatingIfNeeded: scalar >> 12))
            text.append(0x80 | UInt8(truncatingIfNeeded: scalar >> 6 & 0x3f))
            text.append(0x80 | UInt8(truncatingIfNeeded: scalar & 0x3f))
        default:
            text.append(0xf0 | UInt8(truncatingIfNeeded: scalar >> 18))
            text.append(0x80 | UInt8(truncatingIfNeeded: scalar >> 12 & 0x3f))
            text.append(0x80 | UInt8(truncatingIfNeeded: scalar >> 6 & 0x3f))
            text.append(0x80 | UInt8(truncatingIfNeeded: scalar & 0x3f))
        }
    }

    /// U+FFFD.
    static let replacement: [UInt8] = [0xef, 0xbf, 0xbd]

    @inline(__always)
    static func isContinuation(_ byte: UInt8) -> Bool { byte & 0xc0 == 0x80 }
}

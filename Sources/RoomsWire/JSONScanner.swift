/// Says whether bytes are JSON, and builds nothing.
///
/// Exactly RFC 8259: UTF-8 checked (no overlong forms, no surrogates), no byte order mark, escapes of lone surrogates
/// are fine. What is nested deeper than `maximumDepth` counts as not JSON; nothing recurses. The functions with
/// `Unchecked` in their name let any bytes from 0x80 on stand in strings, and any depth.
package enum JSONScanner {
    package static let maximumDepth = 512

    package static func isValid(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let base = bytes.baseAddress else { return false }
        let text = base.assumingMemoryBound(to: UInt8.self)
        let end = bytes.count
        let start = skipWhiteSpace(text, 0, end)
        guard start < end else { return false }
        let behind = skipValue(text, start, end, depth: 0)
        return behind >= 0 && skipWhiteSpace(text, behind, end) == end
    }

    /// Says whether bytes are JSON but for the UTF-8 in strings, however deep.
    package static func isValidUnchecked(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let base = bytes.baseAddress else { return false }
        let text = base.assumingMemoryBound(to: UInt8.self)
        let end = bytes.count
        let start = skipWhiteSpace(text, 0, end)
        let behind = skipUncheckedValue(text, start, end)
        return behind >= 0 && skipWhiteSpace(text, behind, end) == end
    }

    /// Goes over the value that begins at `index`.
    ///
    /// Returns the index behind it, or -1 if it is not valid.
    static func skipValue(_ text: UnsafePointer<UInt8>, _ index: Int, _ end: Int, depth: Int) -> Int {
        withUnsafeTemporaryAllocation(of: UInt64.self, capacity: maximumDepth / 64) { words in
            guard let words = words.baseAddress else { return -1 }
            let limit = maximumDepth &- depth
            return skip(text, index, end, limit: limit, inObject: false, checksUTF8: true, words)
        }
    }

    /// Goes over the value that begins at `index` and the rest of the object that it is a member of.
    ///
    /// That object is the outermost value. Returns the index behind it, or -1 if it is not valid.
    static func skipRestOfObject(_ text: UnsafePointer<UInt8>, _ index: Int, _ end: Int) -> Int {
        withUnsafeTemporaryAllocation(of: UInt64.self, capacity: maximumDepth / 64) { words in
            guard let words = words.baseAddress else { return -1 }
            return skip(text, index, end, limit: maximumDepth, inObject: true, checksUTF8: true, words)
        }
    }

    /// Goes over the value that begins at `index`.
    ///
    /// Returns the index behind it, or -1 if it is not valid.
    static func skipUncheckedValue(_ text: UnsafePointer<UInt8>, _ index: Int, _ end: Int) -> Int {
        guard index < end else { return -1 }
        let byte = text[index]
        // What is deeper than half of its bytes cannot be closed in the other half.
        let limit = byte == UInt8(ascii: "{") || byte == UInt8(ascii: "[") ? (end &- index) / 2 : 0
        return withUnsafeTemporaryAllocation(of: UInt64.self, capacity: limit / 64 &+ 1) { words in
            guard let words = words.baseAddress else { return -1 }
            return skip(text, index, end, limit: limit, inObject: false, checksUTF8: false, words)
        }
    }

    @inline(__always)
    static func skipWhiteSpace(_ text: UnsafePointer<UInt8>, _ start: Int, _ end: Int) -> Int {
        var index = start
        while index < end {
            let byte = text[index]
            guard byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09 else { break }
            index &+= 1
        }
        return index
    }

    /// Goes over the rest of a string, from behind its first quote to behind its last; -1 if it is not valid.
    @inline(__always)
    static func skipString(_ text: UnsafePointer<UInt8>, _ start: Int, _ end: Int) -> Int {
        skipString(text, start, end, checksUTF8: true)
    }

    /// The first byte from `start` on that is a quote, a backslash, a control character or, with `checksUTF8`, not ASCII.
    static func skipPlain(_ text: UnsafeRawBufferPointer, _ start: Int, checksUTF8: Bool) -> Int {
        guard let base = text.baseAddress else { return start }
        var index = start
        while index &+ 8 <= text.count {
            let word = (base + index).loadUnaligned(as: UInt64.self).littleEndian
            let special = specialBytes(word, checksUTF8: checksUTF8)
            guard special == 0 else { return index &+ special.trailingZeroBitCount &>> 3 }
            index &+= 8
        }
        return index
    }

    /// Goes over the rest of a string, from behind its first quote to behind its last; -1 if it is not valid.
    static func skipUncheckedString(_ text: UnsafePointer<UInt8>, _ start: Int, _ end: Int) -> Int {
        skipString(text, start, end, checksUTF8: false)
    }

    @inline(__always)
    private static func skipString(
        _ text: UnsafePointer<UInt8>,
        _ start: Int,
        _ end: Int,
        checksUTF8: Bool
    ) -> Int {
        var index = start
        while true {
            while index &+ 8 <= end {
                let word = UnsafeRawPointer(text + index).loadUnaligned(as: UInt64.self).littleEndian
                let special = specialBytes(word, checksUTF8: checksUTF8)
                guard special == 0 else {
                    index &+= special.trailingZeroBitCount &>> 3
                    break
                }
                index &+= 8
            }
            guard index < end else { return -1 }
            let byte = text[index]
            if byte == UInt8(ascii: "\"") { return index &+ 1 }
            if byte == UInt8(ascii: "\\") {
                index = skipEscape(text, index &+ 1, end)
                guard index >= 0 else { return -1 }
            } else if checksUTF8, byte >= 0x80 {
                repeat {
                    let length = UTF8Sequence.length(text, at: index, end: end)
                    guard length > 0 else { return -1 }
                    index &+= length
                } while index < end && text[index] >= 0x80
            } else if byte < 0x20 {
                return -1
            } else {
                index &+= 1
            }
        }
    }

    /// The loop over values, keys and brackets.
    ///
    /// `stack` has one bit for each open bracket of the innermost 64, 1 for an object; the others are in `words`.
    @inline(__always)
    private static func skip(
        _ text: UnsafePointer<UInt8>,
        _ start: Int,
        _ end: Int,
        limit: Int,
        inObject: Bool,
        checksUTF8: Bool,
        _ words: UnsafeMutablePointer<UInt64>
    ) -> Int {
        var index = start
        var depth = inObject ? 1 : 0
        var stack: UInt64 = inObject ? 1 : 0
        while true {
            guard index < end else { return -1 }
            let byte = text[index]
            index &+= 1
            switch byte {
            case UInt8(ascii: "\""):
                index = skipString(text, index, end, checksUTF8: checksUTF8)
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                guard depth < limit else { return -1 }
                if depth & 63 == 0, depth > 0 { words[depth &>> 6 &- 1] = stack }
                depth &+= 1
                let isObject: UInt64 = byte == UInt8(ascii: "{") ? 1 : 0
                stack = stack &<< 1 | isObject
                index = skipWhiteSpace(text, index, end)
                guard index < end else { return -1 }
                // An empty one is closed by the loop below, as it would be behind a value.
                if text[index] != byte &+ 2 {
                    if isObject == 1 {
                        index = skipKey(text, index, end, checksUTF8: checksUTF8)
                        guard index >= 0 else { return -1 }
                    }
                    continue
                }
            case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
                index = skipNumber(text, index &- 1, end)
            case UInt8(ascii: "t"):
                index = skipWord(text, index, end, 0x65_75_72, 3)
            case UInt8(ascii: "f"):
                index = skipWord(text, index, end, 0x65_73_6c_61, 4)
            case UInt8(ascii: "n"):
                index = skipWord(text, index, end, 0x6c_6c_75, 3)
            default:
                return -1
            }
            guard index >= 0 else { return -1 }
            // Behind a value: close what ends here, or go to the next value.
            while true {
                if depth == 0 { return index }
                index = skipWhiteSpace(text, index, end)
                guard index < end else { return -1 }
                let byte = text[index]
                index &+= 1
                if byte == UInt8(ascii: ",") {
                    index = skipWhiteSpace(text, index, end)
                    if stack & 1 == 1 {
                        index = skipKey(text, index, end, checksUTF8: checksUTF8)
                        guard index >= 0 else { return -1 }
                    }
                    break
                }
                guard byte == (stack & 1 == 1 ? UInt8(ascii: "}") : UInt8(ascii: "]")) else { return -1 }
                depth &-= 1
                stack = depth & 63 == 0 && depth > 0 ? words[depth &>> 6 &- 1] : stack &>> 1
            }
        }
    }

    /// Goes over a key, its colon and white space, to the member's value; -1 if it is not valid.
    @inline(__always)
    private static func skipKey(
        _ text: UnsafePointer<UInt8>,
        _ start: Int,
        _ end: Int,
        checksUTF8: Bool
    ) -> Int {
        guard start < end, text[start] == UInt8(ascii: "\"") else { return -1 }
        let behind = skipString(text, start &+ 1, end, checksUTF8: checksUTF8)
        return behind < 0 ? -1 : skipColon(text, behind, end)
    }

    /// Goes over white space, a colon and white space; -1 if there is none.
    @inline(__always)
    static func skipColon(_ text: UnsafePointer<UInt8>, _ start: Int, _ end: Int) -> Int {
        let index = skipWhiteSpace(text, start, end)
        guard index < end, text[index] == UInt8(ascii: ":") else { return -1 }
        return skipWhiteSpace(text, index &+ 1, end)
    }

    @inline(__always)
    private static func skipNumber(_ text: UnsafePointer<UInt8>, _ start: Int, _ end: Int) -> Int {
        var index = start
        if text[index] == UInt8(ascii: "-") { index &+= 1 }
        let first = index
        index = skipDigits(text, index, end)
        guard index > first, index == first &+ 1 || text[first] != UInt8(ascii: "0") else { return -1 }
        if index < end, text[index] == UInt8(ascii: ".") {
            let fraction = index &+ 1
            index = skipDigits(text, fraction, end)
            guard index > fraction else { return -1 }
        }
        if index < end, text[index] | 0x20 == UInt8(ascii: "e") {
            index &+= 1
            if index < end, text[index] == UInt8(ascii: "+") || text[index] == UInt8(ascii: "-") { index &+= 1 }
            let exponent = index
            index = skipDigits(text, exponent, end)
            guard index > exponent else { return -1 }
        }
        return index
    }

    @inline(__always)
    private static func skipDigits(_ text: UnsafePointer<UInt8>, _ start: Int, _ end: Int) -> Int {
        var index = start
        while index < end, text[index] &- 0x30 < 10 { index &+= 1 }
        return index
    }

    /// Goes over the rest of `true`, `false` or `null`; `word` has its bytes, the first one lowest.
    @inline(__always)
    private static func skipWord(
        _ text: UnsafePointer<UInt8>,
        _ start: Int,
        _ end: Int,
        _ word: UInt32,
        _ count: Int
    ) -> Int {
        guard start &+ count <= end else { return -1 }
        var rest = word
        for index in start..<start &+ count {
            guard text[index] == UInt8(truncatingIfNeeded: rest) else { return -1 }
            rest &>>= 8
        }
        return start &+ count
    }

    /// Goes over what stands behind a backslash; -1 if it is no escape.
    @inline(never)
    private static func skipEscape(_ text: UnsafePointer<UInt8>, _ start: Int, _ end: Int) -> Int {
        guard start < end else { return -1 }
        switch text[start] {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            return start &+ 1
        case UInt8(ascii: "u"):
            guard start &+ 4 < end else { return -1 }
            for index in start &+ 1...start &+ 4 where JSONText.hexValue(text[index]) == nil { return -1 }
            return start &+ 5
        default:
            return -1
        }
    }

    /// The top bit of the lowest byte that cannot stand in a string as it is, or begins a longer sequence.
    ///
    /// Bits above that one may be set wrongly (borrows), never below it.
    @inline(__always)
    private static func specialBytes(_ word: UInt64, checksUTF8: Bool) -> UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let tops: UInt64 = 0x8080_8080_8080_8080
        let quotes = word ^ (ones &* 0x22)
        let backslashes = word ^ (ones &* 0x5c)
        let control = (word &- ones &* 0x20) & ~word
        return ((checksUTF8 ? word : 0) | control | (quotes &- ones) & ~quotes | (backslashes &- ones) & ~backslashes)
            & tops
    }
}

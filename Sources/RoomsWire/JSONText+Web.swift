extension JSONText {
    /// Appends `text` as a JSON string that may stand in a web page, byte for byte as real servers write it.
    ///
    /// Beside what has to be escaped these are: `<`, `>`, `&`, U+2028, U+2029, and bytes that are not UTF-8, each as
    /// one U+FFFD.
    static func appendForWeb(_ text: UnsafeRawBufferPointer, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        text.withMemoryRebound(to: UInt8.self) { text in
            guard let start = text.baseAddress else { return }
            var written = 0
            var index = 0
            while index < text.count {
                let byte = start[index]
                if isPlain(byte) {
                    index += 1
                    continue
                }
                let length = UTF8Sequence.length(start, at: index, end: text.count)
                let isSeparator =
                    length == 3 && byte == 0xe2 && start[index + 1] == 0x80 && start[index + 2] & 0xfe == 0xa8
                if length > 1, !isSeparator {
                    index += length
                    continue
                }
                bytes.append(contentsOf: text[written..<index])
                if isSeparator {
                    bytes.append(contentsOf: start[index + 2] == 0xa8 ? "\\u2028".utf8 : "\\u2029".utf8)
                } else if length == 0 {
                    bytes.append(contentsOf: "\\ufffd".utf8)
                } else {
                    escape(byte, to: &bytes)
                }
                index += max(1, length)
                written = index
            }
            bytes.append(contentsOf: text[written...])
        }
        bytes.append(UInt8(ascii: "\""))
    }

    @inline(__always)
    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "&"): false
        default: byte >= 0x20 && byte < 0x80
        }
    }

    private static func escape(_ byte: UInt8, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\\"))
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes.append(byte)
        case 0x09: bytes.append(UInt8(ascii: "t"))
        case 0x0a: bytes.append(UInt8(ascii: "n"))
        case 0x0d: bytes.append(UInt8(ascii: "r"))
        default:
            bytes.append(contentsOf: "u00".utf8)
            bytes.append(JSONWriter.hexadecimal[Int(byte >> 4)])
            bytes.append(JSONWriter.hexadecimal[Int(byte & 15)])
        }
    }
}

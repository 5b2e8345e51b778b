internal import Glibc

/// A name from outside (room, event, epoch, header value, key, path), compared and hashed as bytes.
///
/// Never a `String`: two names that differ only in composed and decomposed accents are equal as strings, and CR LF is
/// one `Character`.
package struct ByteString: Hashable, Sendable, Comparable, ExpressibleByStringLiteral {
    package var bytes: [UInt8]

    package init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    package init(copying buffer: UnsafeRawBufferPointer) {
        bytes = [UInt8](buffer)
    }

    package init(_ string: String) {
        bytes = [UInt8](string.utf8)
    }

    package init(stringLiteral value: String) {
        self.init(value)
    }

    package static var empty: ByteString { ByteString([]) }

    package var isEmpty: Bool { bytes.isEmpty }
    package var count: Int { bytes.count }

    /// The bytes as text; what is not UTF-8 becomes U+FFFD.
    ///
    /// For APIs that want a `String`, never to compare.
    package var string: String { String(decoding: bytes, as: UTF8.self) }

    // Whole words at once: arrays compare and hash byte by byte.
    package static func == (left: ByteString, right: ByteString) -> Bool {
        left.bytes.withUnsafeBytes { right.equals($0) }
    }

    package func hash(into hasher: inout Hasher) {
        bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
        hasher.combine(bytes.count)
    }

    package static func < (left: ByteString, right: ByteString) -> Bool {
        left.bytes.lexicographicallyPrecedes(right.bytes)
    }

    package func equals(_ buffer: UnsafeRawBufferPointer) -> Bool {
        guard bytes.count == buffer.count else { return false }
        guard let start = buffer.baseAddress, buffer.count > 0 else { return true }
        return bytes.withUnsafeBytes { bytes in
            bytes.baseAddress.map { memcmp($0, start, buffer.count) == 0 } ?? false
        }
    }

    package func hasPrefix(_ prefix: ByteString) -> Bool {
        bytes.starts(with: prefix.bytes)
    }
}

extension ByteString: CustomStringConvertible {
    /// Text for people: backslashes, control characters and what moves or hides text are escaped, the rest stands as it is.
    ///
    /// What is not UTF-8 becomes U+FFFD.
    package var description: String {
        var text = ""
        for scalar in string.unicodeScalars {
            switch scalar.value {
            case 0x5c: text += "\\\\"
            case 0x09: text += "\\t"
            case 0x0a: text += "\\n"
            case 0x0d: text += "\\r"
            case 0..<0x10: text += "\\x0" + String(scalar.value, radix: 16)
            case 0x10..<0x20, 0x7f: text += "\\x" + String(scalar.value, radix: 16)
            case 0x80...0x9f, 0x61c, 0x200e, 0x200f, 0x2028...0x202e, 0x2066...0x2069, 0xfeff:
                text += "\\u{" + String(scalar.value, radix: 16) + "}"
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text
    }
}

/// Base32 of RFC 4648 in lower case without padding, for identifiers.
package enum Base32 {
    private static let alphabet = Array("abcdefghijklmnopqrstuvwxyz234567".utf8)

    package static func encode(_ bytes: some Sequence<UInt8>) -> [UInt8] {
        var text: [UInt8] = []
        Array(bytes).withUnsafeBytes { append($0, to: &text) }
        return text
    }

    /// The same without an array of its own, for the hot path.
    package static func append(_ bytes: UnsafeRawBufferPointer, to text: inout [UInt8]) {
        let size = (bytes.count * 8 + 4) / 5
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: size) { digits in
            var bits: UInt32 = 0
            var count: UInt32 = 0
            var end = 0
            alphabet.withUnsafeBufferPointer { alphabet in
                for byte in bytes {
                    bits = bits << 8 | UInt32(byte)
                    count &+= 8
                    while count >= 5 {
                        count &-= 5
                        digits[end] = alphabet[Int(bits >> count & 31)]
                        end &+= 1
                    }
                    bits &= 1 << count &- 1
                }
                if count > 0 { digits[end] = alphabet[Int(bits << (5 &- count) & 31)] }
            }
            text.append(contentsOf: digits)
        }
    }
}

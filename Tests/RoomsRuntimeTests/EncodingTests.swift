import Testing

@testable import RoomsRuntime

@Suite struct EncodingTests {
    /// RFC 4648 section 10, and bytes that need the two alphabets.
    @Test(arguments: [
        ("", "", ""), ("f", "Zg==", "my"), ("fo", "Zm8=", "mzxq"), ("foo", "Zm9v", "mzxw6"),
        ("foob", "Zm9vYg==", "mzxw6yq"),
        ("fooba", "Zm9vYmE=", "mzxw6ytb"), ("foobar", "Zm9vYmFy", "mzxw6ytboi"),
    ])
    func `the vectors of RFC 4648`(plain: String, base64: String, base32: String) {
        #expect(Base64.encode(Array(plain.utf8)) == Array(base64.utf8))
        #expect(Base64.decode(Array(base64.utf8)) == Array(plain.utf8))
        #expect(Base64.decode(Array(base64.utf8.filter { $0 != UInt8(ascii: "=") })) == Array(plain.utf8))
        #expect(Base32.encode(Array(plain.utf8)) == Array(base32.utf8))
    }

    @Test func `appending gives what encoding gives`() {
        for length in 0...70 {
            let bytes = (0..<length).map { UInt8(truncatingIfNeeded: $0 * 37 + 251) }
            var base64 = Array("x".utf8)
            var base32 = Array("x".utf8)
            bytes.withUnsafeBytes { Base64.append($0, to: &base64) }
            bytes.withUnsafeBytes { Base32.append($0, to: &base32) }
            #expect(base64 == Array("x".utf8) + Base64.encode(bytes))
            #expect(base32 == Array("x".utf8) + Base32.encode(bytes))
        }
    }

    @Test(arguments: [0, 9, 10, 42, 1_000, -1, -10, .max, .min] as [Int64])
    func `numbers are written in decimal`(number: Int64) {
        var text: [UInt8] = []
        DecimalText.append(number, to: &text)
        DecimalText.append(UInt64.max, to: &text)
        #expect(text == Array("\(number)18446744073709551615".utf8))
    }

    @Test func `every byte comes back in both alphabets`() {
        let bytes = [UInt8](0...255) + [0xfb, 0xff, 0xfe]
        #expect(Base64.decode(Base64.encode(bytes)) == bytes)
        #expect(Base64.decodeURL(Base64.encodeURL(bytes)) == bytes)
        #expect(Base64.encode([0xfb, 0xff]) == Array("+/8=".utf8))
        #expect(Base64.encodeURL([0xfb, 0xff]) == Array("-_8".utf8))
    }

    @Test(arguments: ["Z", "Zg=", "Zg===", "Zh==", "Zg==Zg==", "Z g=", "Zg\n", "=", "Z===", "-_8"])
    func `what encode never writes is refused`(text: String) {
        #expect(Base64.decode(Array(text.utf8)) == nil)
    }

    @Test func `the check value of CRC-32C, in one piece and in many`() {
        let digits = Array("123456789".utf8)
        var whole = Checksum()
        digits.withUnsafeBytes { whole.add($0) }
        #expect(whole.value == 0xe306_9283)
        var pieces = Checksum()
        for digit in digits { [digit].withUnsafeBytes { pieces.add($0) } }
        #expect(pieces.value == 0xe306_9283)
        // RFC 3720 B.4: 32 bytes of zeroes take the eight-byte steps alone.
        var zeroes = Checksum()
        [UInt8](repeating: 0, count: 32).withUnsafeBytes { zeroes.add($0) }
        #expect(zeroes.value == 0x8a91_36aa)
    }

    @Test func `the checksum is the same with the processor's instruction and with tables`() {
        var generator = SystemRandomNumberGenerator()
        for size in 0..<200 {
            let bytes = (0..<size).map { _ in UInt8.random(in: 0...255, using: &generator) }
            var first = Checksum()
            var second = Checksum(withTables: ())
            for piece in [bytes[..<(size / 3)], bytes[(size / 3)...]] {
                Array(piece).withUnsafeBytes {
                    first.add($0)
                    second.add($0)
                }
            }
            #expect(first.value == second.value, "\(bytes)")
        }
        var zeroes = Checksum(withTables: ())
        [UInt8](repeating: 0, count: 32).withUnsafeBytes { zeroes.add($0) }
        #expect(zeroes.value == 0x8a91_36aa)
    }
}

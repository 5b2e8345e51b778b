import RoomsRuntime
import Testing

/// A known answer of AES-256-GCM; all in hexadecimal.
struct CipherVector: Sendable, CustomTestStringConvertible {
    let name: String
    let key: String
    let nonce: String
    let plain: String
    var associated = ""
    let ciphertext: String
    let tag: String

    var testDescription: String { name }

    static func bytes(_ hex: String) -> [UInt8] {
        let digits = hex.compactMap(\.hexDigitValue)
        return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }

    /// "The Galois/Counter Mode of Operation" (McGrew, Viega), appendix B, test cases 13, 14 and 16.
    static let published: [CipherVector] = [
        CipherVector(
            name: "case 13: nothing",
            key: String(repeating: "00", count: 32),
            nonce: String(repeating: "00", count: 12),
            plain: "",
            ciphertext: "",
            tag: "530f8afbc74536b9a963b4f1c4cb738b"
        ),
        CipherVector(
            name: "case 14: one block",
            key: String(repeating: "00", count: 32),
            nonce: String(repeating: "00", count: 12),
            plain: String(repeating: "00", count: 16),
            ciphertext: "cea7403d4d606b6e074ec5d3baf39d18",
            tag: "d0d1c8a799996bf0265b98b5d48ab919"
        ),
        CipherVector(
            name: "case 16: associated data, a broken block",
            key: "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308",
            nonce: "cafebabefacedbaddecaf888",
            plain: "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
                + "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
            associated: "feedfacedeadbeeffeedfacedeadbeefabaddad2",
            ciphertext: "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
                + "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662",
            tag: "76fc6ece0f4e1768cddf8853bb2d551b"
        ),
    ]
}

@Suite struct AuthenticatedCipherTests {
    @Test("published answers come out, in both directions", arguments: CipherVector.published)
    func published(vector: CipherVector) throws {
        let cipher = try #require(AuthenticatedCipher(key: Secret(CipherVector.bytes(vector.key))))
        let nonce = CipherVector.bytes(vector.nonce)
        let associated = CipherVector.bytes(vector.associated)
        let (ciphertext, tag) = cipher.seal(CipherVector.bytes(vector.plain), nonce: nonce, associated: associated)
        #expect(ciphertext == CipherVector.bytes(vector.ciphertext))
        #expect(tag == CipherVector.bytes(vector.tag))
        let plain = cipher.open(ciphertext, nonce: nonce, tag: tag, associated: associated)
        #expect(plain == CipherVector.bytes(vector.plain))
    }

    @Test("the text of RFC 7516, appendix A.1, is read with its content key")
    func appendixA1() throws {
        let key: [UInt8] = [
            177, 161, 244, 128, 84, 143, 225, 115, 63, 180, 3, 255, 107, 154, 212, 246, 138, 7, 110, 91, 112, 46, 34,
            105, 47, 130, 203, 46, 122, 234, 64, 252,
        ]
        let cipher = try #require(AuthenticatedCipher(key: Secret(key)))
        let text = "5eym8TW_c8SuK0ltJ3rpYIzOeDQz7TALvtu6UG9oMo4vpzs9tX_EFShS8iB7j6jiSdiwkIr3ajwQzaBtQD_A"
        let plain = cipher.open(
            try #require(Base64.decodeURL(Array(text.utf8))),
            nonce: try #require(Base64.decodeURL(Array("48V1_ALb6US04U3b".utf8))),
            tag: try #require(Base64.decodeURL(Array("XFBoMYUZodetZdvTiFvSkQ".utf8))),
            associated: Array("eyJhbGciOiJSU0EtT0FFUCIsImVuYyI6IkEyNTZHQ00ifQ".utf8)
        )
        let expected = "The true sign of intelligence is not knowledge but imagination."
        #expect(plain.map { String(decoding: $0, as: UTF8.self) } == expected)
    }

    @Test("any changed bit, in text, tag, nonce or associated data, is noticed")
    func flippedBits() throws {
        let cipher = try #require(AuthenticatedCipher(key: Secret(Digest.randomBytes(32))))
        let nonce = Digest.randomBytes(12)
        let associated = Array("head".utf8)
        let plain = Array("some text that is longer than a block".utf8)
        let (ciphertext, tag) = cipher.seal(plain, nonce: nonce, associated: associated)
        func flipped(_ bytes: [UInt8], _ bit: Int) -> [UInt8] {
            var bytes = bytes
            bytes[bit / 8] ^= 1 << UInt8(bit % 8)
            return bytes
        }
        #expect(cipher.open(ciphertext, nonce: nonce, tag: tag, associated: associated) == plain)
        for bit in 0..<ciphertext.count * 8 {
            #expect(cipher.open(flipped(ciphertext, bit), nonce: nonce, tag: tag, associated: associated) == nil)
        }
        for bit in 0..<tag.count * 8 {
            #expect(cipher.open(ciphertext, nonce: nonce, tag: flipped(tag, bit), associated: associated) == nil)
        }
        for bit in 0..<nonce.count * 8 {
            #expect(cipher.open(ciphertext, nonce: flipped(nonce, bit), tag: tag, associated: associated) == nil)
        }
        for bit in 0..<associated.count * 8 {
            #expect(cipher.open(ciphertext, nonce: nonce, tag: tag, associated: flipped(associated, bit)) == nil)
        }
        #expect(cipher.open(ciphertext, nonce: nonce, tag: tag, associated: []) == nil)
        #expect(cipher.open([], nonce: nonce, tag: tag, associated: associated) == nil)
    }

    @Test("shorter tags and nonces are refused, however right they are")
    func lengths() throws {
        let cipher = try #require(AuthenticatedCipher(key: Secret([UInt8](repeating: 7, count: 32))))
        let nonce = [UInt8](repeating: 1, count: 12)
        let (ciphertext, tag) = cipher.seal([1, 2, 3], nonce: nonce, associated: [])
        for count in 0..<16 {
            #expect(cipher.open(ciphertext, nonce: nonce, tag: Array(tag.prefix(count)), associated: []) == nil)
        }
        #expect(cipher.open(ciphertext, nonce: nonce, tag: tag + [0], associated: []) == nil)
        #expect(cipher.open(ciphertext, nonce: Array(nonce.dropLast()), tag: tag, associated: []) == nil)
        #expect(cipher.open(ciphertext, nonce: nonce + [1], tag: tag, associated: []) == nil)
        #expect(cipher.open(ciphertext, nonce: nonce, tag: tag, associated: []) == [1, 2, 3])
    }

    @Test("a key has 32 bytes", arguments: [0, 16, 24, 31, 33, 64])
    func keyLength(count: Int) {
        #expect(AuthenticatedCipher(key: Secret([UInt8](repeating: 1, count: count))) == nil)
    }
}

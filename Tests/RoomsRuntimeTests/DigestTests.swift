import RoomsRuntime
import Testing

@Suite struct DigestTests {
    private func hex(_ bytes: [UInt8]) -> String {
        bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    @Test func `SHA-256 of "abc" is FIPS 180's`() {
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        #expect(hex(Digest.sha256([Array("abc".utf8)])) == expected)
        #expect(hex(Digest.sha256([Array("a".utf8), [], Array("bc".utf8)])) == expected)
    }

    @Test func `digests and codes without an array are the same, message after message`() {
        let digest = MessageDigest()
        let authenticator = MessageAuthenticator(key: Secret("key"))
        for length in [0, 1, 55, 56, 64, 1_000] {
            let bytes = [UInt8](repeating: UInt8(length & 255), count: length)
            digest.digest(bytes) { #expect(Array($0) == Digest.sha256([bytes])) }
            let half = length / 2
            authenticator.authenticate(Array(bytes[..<half]), Array(bytes[half...])) { code in
                #expect(Array(code) == MessageAuthenticator(key: Secret("key")).authenticate(bytes))
            }
        }
    }

    @Test func `SHA-1 gives the accept value of RFC 6455`() {
        let key = "dGhlIHNhbXBsZSBub25jZQ==258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        #expect(Base64.encode(Digest.sha1(Array(key.utf8))) == Array("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=".utf8))
    }

    /// RFC 4231, test cases 1, 2 and 6 (a key longer than a block).
    @Test(arguments: [
        (
            [UInt8](repeating: 0x0b, count: 20), "Hi There",
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        ),
        (
            Array("Jefe".utf8), "what do ya want for nothing?",
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        ),
        (
            [UInt8](repeating: 0xaa, count: 131), "Test Using Larger Than Block-Size Key - Hash Key First",
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        ),
    ])
    func `HMAC-SHA256 agrees with RFC 4231 and can be used again`(key: [UInt8], message: String, code: String) {
        let authenticator = MessageAuthenticator(key: Secret(key))
        #expect(hex(authenticator.authenticate(Array(message.utf8))) == code)
        _ = authenticator.authenticate(Array("something else".utf8))
        let halves = [Array(message.utf8.prefix(3)), Array(message.utf8.dropFirst(3))]
        let again = halves[0].withUnsafeBytes { first in
            halves[1].withUnsafeBytes { second in authenticator.authenticate([first, second]) }
        }
        #expect(hex(again) == code)
    }

    @Test func `an empty key is a key`() {
        let code = MessageAuthenticator(key: Secret([])).authenticate([UInt8]())
        #expect(hex(code) == "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad")
    }

    @Test func `random bytes differ`() {
        #expect(Digest.randomBytes(16).count == 16)
        #expect(Digest.randomBytes(16) != Digest.randomBytes(16))
    }
}

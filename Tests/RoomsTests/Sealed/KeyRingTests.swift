import Rooms
import RoomsRuntime
import Testing

@Suite struct KeyRingTests {
    private static func key(_ byte: UInt8) -> Secret { Secret([UInt8](repeating: byte, count: 32)) }

    /// Which of our keys the ring has under that name: the byte it is made of.
    private static func byte(of kid: ByteString, in ring: KeyRing) -> UInt8? {
        guard let cipher = ring.cipher(for: kid) else { return nil }
        let nonce = [UInt8](repeating: 0, count: 12)
        let (ciphertext, tag) = cipher.seal([1], nonce: nonce, associated: [])
        return (0...255).first {
            AuthenticatedCipher(key: key($0))?.open(ciphertext, nonce: nonce, tag: tag, associated: []) == [1]
        }
    }

    @Test("an issued key takes the place of a given one, a newer key that of an older one")
    func rotation() {
        var ring = KeyRing()
        #expect(ring.isEmpty && ring.cipher(for: "a") == nil)
        ring.give(Self.key(1), as: "a")
        #expect(Self.byte(of: "a", in: ring) == 1)
        ring.give(Self.key(2), as: "a")
        #expect(Self.byte(of: "a", in: ring) == 2)
        ring.issue(Self.key(3), as: "a")
        ring.issue(Self.key(4), as: "b")
        #expect(Self.byte(of: "a", in: ring) == 3)
        ring.issue(Self.key(5), as: "a")
        #expect(Self.byte(of: "a", in: ring) == 5)
        ring.give(Self.key(6), as: "a")
        #expect(Self.byte(of: "a", in: ring) == 5, "the auth route knows better")
        #expect(Self.byte(of: "b", in: ring) == 4)
        #expect(ring.cipher(for: "A") == nil && ring.cipher(for: "") == nil)
    }

    @Test("keys of two names that differ only in composed and decomposed accents are two")
    func names() {
        var ring = KeyRing()
        ring.issue(Self.key(1), as: "\u{e9}")
        ring.issue(Self.key(2), as: "e\u{301}")
        #expect(Self.byte(of: "\u{e9}", in: ring) == 1 && Self.byte(of: "e\u{301}", in: ring) == 2)
    }

    @Test("of endless rotations the newest keys are kept, and all that the app gave")
    func bound() {
        var ring = KeyRing()
        ring.give(Self.key(1), as: "app")
        ring.issue(Self.key(2), as: "kept")
        for index in 0..<1_000 {
            ring.issue(Self.key(UInt8(index % 200)), as: ByteString("k\(index)"))
            // Issued again with each token, as a server does, it is never the oldest.
            ring.issue(Self.key(3), as: "kept")
        }
        #expect(Self.byte(of: "app", in: ring) == 1 && Self.byte(of: "kept", in: ring) == 3)
        let left = (0..<1_000).filter { ring.cipher(for: ByteString("k\($0)")) != nil }
        #expect(left == Array(1_000 - KeyRing.issuedCapacity + 1..<1_000))
    }

    @Test("keys of another length are refused and change nothing", arguments: [0, 16, 31, 33])
    func length(count: Int) {
        var ring = KeyRing()
        ring.issue(Self.key(1), as: "a")
        let isIssued = ring.issue(Secret([UInt8](repeating: 0, count: count)), as: "a")
        let isGiven = ring.give(Secret([UInt8](repeating: 0, count: count)), as: "b")
        #expect(!isIssued && !isGiven)
        #expect(Self.byte(of: "a", in: ring) == 1 && ring.cipher(for: "b") == nil)
    }

    @Test("a key is written as base64url of 32 bytes, in one form only")
    func encoded() {
        let text = Base64.encodeURL([UInt8](repeating: 0xfb, count: 32))
        #expect(KeyRing.key(encoded: ByteString(text))?.bytes == [UInt8](repeating: 0xfb, count: 32))
        #expect(KeyRing.key(encoded: ByteString(text + Array("=".utf8))) == nil)
        #expect(KeyRing.key(encoded: ByteString(text.dropLast())) == nil)
        #expect(KeyRing.key(encoded: ByteString(Base64.encode([UInt8](repeating: 0xfb, count: 32)))) == nil)
        #expect(KeyRing.key(encoded: ByteString(Base64.encodeURL([UInt8](repeating: 1, count: 31)))) == nil)
        #expect(KeyRing.key(encoded: "") == nil)
    }

    @Test("a ring shows how many keys it has, and none of them")
    func description() {
        var ring = KeyRing()
        ring.give(Secret(Array("0123456789abcdef0123456789abcdef".utf8)), as: "name")
        #expect("\(ring)" == "<1 keys>")
    }
}

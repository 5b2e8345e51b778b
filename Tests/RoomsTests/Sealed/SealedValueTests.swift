import BridgeTestSupport
import Rooms
import RoomsRuntime
import RoomsWire
import Testing

@Suite struct SealedValueTests {
    private static let key = Secret([UInt8](0..<32))
    private static let plain = Array(#"{"status":"sent"}"#.utf8)

    private static func ring(_ kids: ByteString...) -> KeyRing {
        var ring = KeyRing()
        for kid in kids { ring.issue(key, as: kid) }
        return ring
    }

    private static func sealed(_ plain: [UInt8] = plain, as kid: ByteString = "k1") throws -> [UInt8] {
        SealedValue.seal(plain, as: kid, with: try #require(AuthenticatedCipher(key: key)))
    }

    /// A value with any header, rightly sealed under it.
    private static func sealed(header: String) throws -> [UInt8] {
        let cipher = try #require(AuthenticatedCipher(key: key))
        let head = Base64.encodeURL(Array(header.utf8))
        let nonce = Digest.randomBytes(12)
        let (ciphertext, tag) = cipher.seal(plain, nonce: nonce, associated: head)
        return join([head, [], Base64.encodeURL(nonce), Base64.encodeURL(ciphertext), Base64.encodeURL(tag)])
    }

    private static func join(_ parts: [[UInt8]]) -> [UInt8] { Array(parts.joined(separator: [UInt8(ascii: ".")])) }

    private static func parts(_ text: [UInt8]) -> [[UInt8]] {
        text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).map(Array.init)
    }

    /// What is wrong with a value; nil if it opens as `plain`.
    private static func failure(_ text: [UInt8], _ ring: KeyRing = ring("k1")) -> SealedValue.Failure? {
        do throws(SealedValue.Failure) {
            let opened = try SealedValue.open(text, with: ring)
            #expect(opened == plain, "opened as something else")
            return nil
        } catch {
            return error
        }
    }

    @Test("what is sealed opens with the key of its name, whatever it is", arguments: [0, 1, 15, 16, 17, 100_000])
    func roundTrip(count: Int) throws {
        let plain = Digest.randomBytes(count)
        for kid: ByteString in ["k1", "", "clé \"1\"\n", ByteString(String(repeating: "x", count: 1_000))] {
            let text = try Self.sealed(plain, as: kid)
            #expect(try SealedValue.open(text, with: Self.ring("other", kid)) == plain)
        }
    }

    @Test("each value has a nonce of its own")
    func nonces() throws {
        let texts = try (0..<100).map { _ in try Self.sealed() }
        #expect(Set(texts.map { Self.parts($0)[2] }).count == 100)
    }

    @Test("the value of an envelope is a JSON string")
    func json() throws {
        let text = try Self.sealed()
        var writer = JSONWriter()
        writer.string(ByteString(text))
        #expect(try SealedValue.open(json: writer.bytes, with: Self.ring("k1")) == Self.plain)
        for other in ["1", "null", "{}", "[]", "\"\"", "\"", ""] {
            #expect(throws: SealedValue.Failure.malformed) {
                try SealedValue.open(json: Array(other.utf8), with: Self.ring("k1"))
            }
        }
        #expect(throws: SealedValue.Failure.malformed) { try SealedValue.open(json: text, with: Self.ring("k1")) }
    }

    @Test("without the key its name is told, with a wrong one that it is not authentic")
    func keys() throws {
        let text = try Self.sealed()
        #expect(Self.failure(text, KeyRing()) == .noKey("k1"))
        #expect(Self.failure(text, Self.ring("K1", "k")) == .noKey("k1"))
        var wrong = KeyRing()
        wrong.issue(Secret([UInt8](1...32)), as: "k1")
        #expect(Self.failure(text, wrong) == .notAuthentic)
        wrong.issue(Self.key, as: "k1")
        #expect(Self.failure(text, wrong) == nil, "rotated to the right one")
    }

    @Test("a value cut off anywhere, or longer by a byte, never opens")
    func truncated() throws {
        let text = try Self.sealed()
        for count in 0..<text.count {
            #expect(Self.failure(Array(text[..<count])) == .malformed)
            #expect(Self.failure(Array(text[(text.count - count)...])) != nil)
        }
        for byte in 0...UInt8.max { #expect(Self.failure(text + [byte]) != nil) }
    }

    @Test("a value with any bit flipped never opens")
    func flippedBits() throws {
        let text = try Self.sealed()
        var kinds: [String: Int] = [:]
        for index in text.indices {
            for bit in 0..<8 {
                var changed = text
                changed[index] ^= 1 << UInt8(bit)
                let failure = Self.failure(changed)
                #expect(failure != nil, "bit \(bit) of byte \(index)")
                switch failure {
                case .malformed: kinds["malformed", default: 0] += 1
                case .unsupported: kinds["unsupported", default: 0] += 1
                case .noKey: kinds["noKey", default: 0] += 1
                case .notAuthentic: kinds["notAuthentic", default: 0] += 1
                case nil: break
                }
            }
        }
        #expect(kinds.count == 4, "every kind of failure is seen: \(kinds)")
    }

    @Test("a text moved under another header of the same meaning does not open")
    func swappedParts() throws {
        let first = Self.parts(try Self.sealed())
        let second = Self.parts(try Self.sealed())
        let spaced = Self.parts(try Self.sealed(header: #"{ "alg":"dir","enc":"A256GCM","kid":"k1" }"#))
        #expect(Self.failure(Self.join([spaced[0]] + first[1...])) == .notAuthentic)
        for index in 2...4 {
            var mixed = first
            mixed[index] = second[index]
            #expect(Self.failure(Self.join(mixed)) == .notAuthentic)
        }
    }

    @Test(
        "a header says alg, enc and kid, once each, and may say more that means nothing",
        arguments: [
            (#"{"alg":"dir","enc":"A256GCM","kid":"k1"}"#, nil), (#"{"kid":"k1","enc":"A256GCM","alg":"dir"}"#, nil),
            (#" { "alg" : "\u0064ir" , "enc" : "A256GCM" , "kid" : "k1" } "#, nil),
            (#"{"alg":"dir","enc":"A256GCM","kid":"k1","typ":"JWE","cty":"json","x":{"alg":1}}"#, nil),
            (#"{"alg":"dir","enc":"A256GCM","kid":"k2"}"#, .noKey("k2")),
            (#"{"alg":"dir","enc":"A128GCM","kid":"k1"}"#, .unsupported),
            (#"{"alg":"dir","enc":"A256CBC-HS512","kid":"k1"}"#, .unsupported),
            (#"{"alg":"dir","enc":"a256gcm","kid":"k1"}"#, .unsupported),
            (#"{"alg":"dir","enc":"","kid":"k1"}"#, .unsupported),
            (#"{"alg":"none","enc":"A256GCM","kid":"k1"}"#, .unsupported),
            (#"{"alg":"","enc":"A256GCM","kid":"k1"}"#, .unsupported),
            (#"{"alg":"DIR","enc":"A256GCM","kid":"k1"}"#, .unsupported),
            (#"{"alg":"A256GCMKW","enc":"A256GCM","kid":"k1"}"#, .unsupported),
            (#"{"alg":"RSA-OAEP","enc":"A256GCM","kid":"k1"}"#, .unsupported),
            (#"{"alg":"dir","enc":"none","kid":"k1"}"#, .unsupported),
            (#"{"alg":"dir","enc":"A256GCM","kid":"k1","zip":"DEF"}"#, .unsupported),
            (#"{"alg":"dir","enc":"A256GCM","kid":"k1","zip":null}"#, .unsupported),
            (#"{"alg":"dir","enc":"A256GCM","kid":"k1","crit":["exp"]}"#, .unsupported),
            (#"{"alg":"dir","enc":"A256GCM","kid":"k1","crit":[]}"#, .unsupported),
            (#"{"alg":"dir","enc":"A256GCM"}"#, .malformed), (#"{"enc":"A256GCM","kid":"k1"}"#, .malformed),
            (#"{"alg":"dir","kid":"k1"}"#, .malformed), (#"{"alg":"dir","enc":"A256GCM","kid":1}"#, .malformed),
            (#"{"alg":"dir","enc":"A256GCM","kid":null}"#, .malformed),
            (#"{"alg":["dir"],"enc":"A256GCM","kid":"k1"}"#, .malformed),
            (#"{"alg":"dir","enc":true,"kid":"k1"}"#, .malformed),
            (#"{"alg":"dir","alg":"dir","enc":"A256GCM","kid":"k1"}"#, .malformed),
            (#"{"alg":"dir","enc":"A256GCM","kid":"k2","kid":"k1"}"#, .malformed),
            (#"{"alg":"dir","enc":"A256GCM","kid":"k1","x":1,"\u0078":1}"#, .malformed),
            (#"{"alg":"dir","enc":"A256GCM","kid":"k1",}"#, .malformed), (#"["dir","A256GCM","k1"]"#, .malformed),
            (#""dir""#, .malformed), ("null", .malformed), ("", .malformed), ("{", .malformed), ("{}", .malformed),
            (#"{"alg":"dir","enc":"A256GCM","kid":"k1"}x"#, .malformed),
            (
                #"{"alg":"dir","enc":"A256GCM","kid":"k1","x":""# + String(repeating: "x", count: 4_096) + #""}"#,
                .malformed
            ),
        ] as [(String, SealedValue.Failure?)]
    )
    func headers(header: String, failure: SealedValue.Failure?) throws {
        #expect(Self.failure(try Self.sealed(header: header)) == failure)
    }

    @Test("a header that is not UTF-8 is refused")
    func headerBytes() throws {
        var parts = Self.parts(try Self.sealed())
        parts[0] = Base64.encodeURL(Array(#"{"alg":"dir","enc":"A256GCM","kid":""#.utf8) + [0xff] + Array("\"}".utf8))
        #expect(Self.failure(Self.join(parts)) == .malformed)
    }

    @Test("the parts are five, of the right lengths, in base64url of one form")
    func shape() throws {
        let parts = Self.parts(try Self.sealed())
        func changed(_ index: Int, _ text: [UInt8]) -> SealedValue.Failure? {
            var changed = parts
            changed[index] = text
            return Self.failure(Self.join(changed))
        }
        #expect(Self.failure(Self.join(parts)) == nil)
        #expect(Self.failure(Self.join(Array(parts[..<4]))) == .malformed)
        #expect(Self.failure(Self.join(parts + [[]])) == .malformed)
        #expect(Self.failure([]) == .malformed)
        #expect(Self.failure(Array("....".utf8)) == .malformed)
        #expect(changed(1, Array("AAAA".utf8)) == .malformed, "an encrypted key")
        for length in [0, 8, 11, 13, 16] {
            #expect(changed(2, Base64.encodeURL([UInt8](repeating: 0, count: length))) == .malformed)
        }
        for length in [0, 4, 12, 15, 17, 32] {
            #expect(changed(4, Base64.encodeURL([UInt8](repeating: 0, count: length))) == .malformed)
        }
        #expect(changed(2, Base64.encodeURL([UInt8](repeating: 0, count: 12))) == .notAuthentic)
        #expect(changed(4, Base64.encodeURL([UInt8](repeating: 0, count: 16))) == .notAuthentic)
        #expect(changed(3, []) == .notAuthentic)
        for index in [0, 2, 3, 4] {
            for stray in ["=", "==", "\n", " ", "+", "/", "é", "\0"] {
                #expect(changed(index, parts[index] + Array(stray.utf8)) == .malformed, "\(stray) behind part \(index)")
            }
        }
        // 16 bytes leave four bits of the last letter over: only one of its sixteen forms may open.
        let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
        #expect(letters.filter { changed(4, parts[4].dropLast() + [$0]) == nil } == [parts[4][parts[4].count - 1]])
    }

    @Test("values of other kinds, from RFC 7516 and RFC 7515, are refused")
    func published() {
        // RFC 7516, appendix A.1 (the encrypted key shortened): RSA-OAEP and A256GCM.
        let rsa =
            "eyJhbGciOiJSU0EtT0FFUCIsImVuYyI6IkEyNTZHQ00ifQ.OKOawDo13gRp2ojaHV7LFpZcgV7T6DVZKTyKOMTYUmKoTCVJRgckCL9k."
            + "48V1_ALb6US04U3b.5eym8TW_c8SuK0ltJ3rpYIzOeDQz7TALvtu6UG9oMo4vpzs9tX_EFShS8iB7j6jiSdiwkIr3ajwQzaBtQD_A."
            + "XFBoMYUZodetZdvTiFvSkQ"
        #expect(Self.failure(Array(rsa.utf8)) == .unsupported)
        // RFC 7516, appendix A.3: A128KW and A128CBC-HS256.
        let wrapped =
            "eyJhbGciOiJBMTI4S1ciLCJlbmMiOiJBMTI4Q0JDLUhTMjU2In0.6KB707dM9YTIgHtLvtgWQ8mKwboJW3of9locizkDTHzBC2IlrT1oOQ."
            + "AxY8DCtDaGlsbGljb3RoZQ.KDlTtXchhZTGufMYmOYGS4HffxPSUrfmqCHXaI9wOGY.U0m_YmjN04DJvceFICbCVQ"
        #expect(Self.failure(Array(wrapped.utf8)) == .unsupported)
        // RFC 7515, appendix A.1: a signed token has three parts.
        let signed =
            "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2UifQ.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
        #expect(Self.failure(Array(signed.utf8)) == .malformed)
    }

    @Test("mutated values never open, and never trap", arguments: [11])
    func fuzz(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let text = try Self.sealed()
        for _ in 0..<3_000 {
            let changed = random.mutated(text)
            #expect(changed == text || Self.failure(changed) != nil)
        }
    }
}

import RoomsRuntime
import Testing

@testable import BridgeDelivery

@Suite struct SignatureTests {
    // The vectors of the Standard Webhooks libraries (Go's and Rust's).
    @Test(
        "signs as the reference libraries do",
        arguments: [
            (
                "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", Int64(1_614_265_330),
                #"{"test": 2432232314}"#, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
            ),
            (
                "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD", "msg_27UH4WbU6Z5A5EzD8u03UvzRbpk", 1_649_367_553,
                #"{"email":"test@example.com","username":"test_user"}"#,
                "v1,tZ1I4/hDygAJgO5TYxiSd6Sd0kDW6hPenDe+bTa3Kkw="
            ),
        ]
    )
    func signs(secret: String, id: String, timestamp: Int64, body: String, expected: String) throws {
        let key = try SigningSecret.decode(Secret(secret))
        #expect(signature([key], id, timestamp, body) == expected)
        let bare = try SigningSecret.decode(Secret(String(secret.dropFirst(6))))
        #expect(signature([bare], id, timestamp, body) == expected)
    }

    @Test("several secrets give several signatures, the newest first")
    func signsWithSeveral() throws {
        let first = try SigningSecret.decode(Secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"))
        let second = try SigningSecret.decode(Secret("whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"))
        let both = signature([second, first], "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, #"{"test": 2432232314}"#)
        let parts = both.split(separator: " ")
        #expect(parts.count == 2)
        #expect(parts.last == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
        #expect(parts.first != parts.last)
    }

    // The vector of Svix's server, which also stands in the text of Standard Webhooks.
    private static let pair =
        "whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg=="
    private static let publicKey = "whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4="
    private static let pairSignature =
        "v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg=="

    @Test("v1a signs as Svix's server does, also without the public half in the secret")
    func signsWithPair() throws {
        let key = try SigningSecret.decode(Secret(Self.pair))
        #expect(key.scheme == .asymmetric)
        #expect(SigningSecret.publicKey(of: key) == Self.publicKey)
        let seed = try SigningSecret.decode(Secret("whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbc="))
        #expect(seed == key)
        let (id, body) = ("msg_p5jXN8AQM9LWM0D4loKWxJek", #"{"test": 2432232314}"#)
        #expect(signature([key], id, 1_614_265_330, body) == Self.pairSignature)
        let first = try SigningSecret.decode(Secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"))
        #expect(
            signature([key, first, key], id, 1_614_265_330, body)
                == "\(Self.pairSignature) v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE= \(Self.pairSignature)"
        )
    }

    @Test("the public half checks a signature, of that message alone")
    func checksWithPublicHalf() throws {
        let key = try #require(SigningSecret.decodePublicKey(Secret(Self.publicKey)))
        let signature = try #require(Base64.decode(Self.pairSignature.utf8.dropFirst(4)))
        let text = Array(#"msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330.{"test": 2432232314}"#.utf8)
        #expect(EdwardsKey.isValid(signature, of: text, by: key))
        #expect(!EdwardsKey.isValid(signature, of: text + [0x20], by: key))
        #expect(!EdwardsKey.isValid(signature.reversed(), of: text, by: key))
        #expect(!EdwardsKey.isValid(signature, of: text, by: key.reversed()))
        #expect(!EdwardsKey.isValid(Array(signature.dropLast()), of: text, by: key))
        #expect(SigningSecret.decodePublicKey(Secret(Self.pair)) == nil)
        #expect(SigningSecret.decodePublicKey(Secret("whpk_AAAA")) == nil)
    }

    @Test("a secret signs until its end, and not in that millisecond")
    func ends() throws {
        let stays = try SigningSecret.decode(Secret("whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"))
        var ends = try SigningSecret.decode(Secret(Self.pair))
        ends.until = 1_614_265_330_000
        let before = signature([stays, ends], "a", 1_614_265_329, "x").split(separator: " ")
        #expect(before.map { $0.prefix(4) } == [before[0].prefix(4), "v1a,"])
        #expect(signature([stays, ends], "a", 1_614_265_330, "x") == signature([stays], "a", 1_614_265_330, "x"))
    }

    @Test("new secrets are good ones, and differ", arguments: [SigningKey.Scheme.symmetric, .asymmetric])
    func makesSecrets(scheme: SigningKey.Scheme) throws {
        let keys = try (0..<20).map { _ in try SigningSecret.decode(SigningSecret.random(scheme)) }
        #expect(Set(keys).count == 20)
        #expect(keys.allSatisfy { $0.scheme == scheme && $0.bytes.bytes.count == 32 })
        #expect(keys.allSatisfy { (SigningSecret.publicKey(of: $0) == nil) == (scheme == .symmetric) })
    }

    @Test("an empty body is signed, too")
    func signsNothing() throws {
        let key = try SigningSecret.decode(Secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"))
        #expect(signature([key], "a", 1, "").hasPrefix("v1,"))
        #expect(signature([key], "a", 1, "") != signature([key], "a", 1, " "))
    }

    @Test(
        "a secret that cannot be used says why and nothing of itself",
        arguments: [
            ("", SigningSecretError.Code.empty), ("whsec_", .empty), ("whsec_!!", .notBase64),
            ("whsec_YWJj", .tooShort),
            ("whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", .tooShort),
            ("whsec_" + String(repeating: "AAAA", count: 22), .tooLong),
            ("whsec_ MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", .notBase64),
            ("whsk_", .notPair), ("whsk_!!", .notBase64Pair), ("whsk_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", .notPair),
            (
                "whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvw==",
                .mixedPair
            ),
            ("whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=", .publicKey),
        ]
    )
    func refusesSecret(text: String, code: SigningSecretError.Code) {
        #expect(throws: SigningSecretError(code: code)) { try SigningSecret.decode(Secret(text)) }
    }

    @Test("24 and 64 bytes are the bounds", arguments: [24, 25, 63, 64])
    func acceptsSecret(length: Int) throws {
        let key = [UInt8](repeating: 9, count: length)
        let text = "whsec_" + String(decoding: Base64.encode(key), as: UTF8.self)
        #expect(try SigningSecret.decode(Secret(text)) == SigningKey(.symmetric, Secret(key)))
    }

    private func signature(_ keys: [SigningKey], _ id: String, _ timestamp: Int64, _ body: String) -> String {
        var text = Array("old".utf8)
        let signature = Signature(keys: keys)
        signature.write(id: Array(id.utf8), timestamp: timestamp, body: Array(body.utf8), into: &text)
        return String(decoding: text, as: UTF8.self)
    }
}

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
        ]
    )
    func refusesSecret(text: String, code: SigningSecretError.Code) {
        #expect(throws: SigningSecretError(code: code)) { try SigningSecret.decode(Secret(text)) }
    }

    @Test("24 and 64 bytes are the bounds", arguments: [24, 25, 63, 64])
    func acceptsSecret(length: Int) throws {
        let key = [UInt8](repeating: 9, count: length)
        let text = "whsec_" + String(decoding: Base64.encode(key), as: UTF8.self)
        #expect(try SigningSecret.decode(Secret(text)) == Secret(key))
    }

    private func signature(_ keys: [Secret], _ id: String, _ timestamp: Int64, _ body: String) -> String {
        var text = Array("old".utf8)
        let signature = Signature(keys: keys)
        signature.write(id: Array(id.utf8), timestamp: timestamp, body: Array(body.utf8), into: &text)
        return String(decoding: text, as: UTF8.self)
    }
}

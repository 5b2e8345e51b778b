import RoomsRuntime
import Testing

@testable import HubCore

@Suite struct TokenVerifierTests {
    private let verifier = TokenVerifier(secret: Conversation.secret)

    @Test(
        "claims of a connection token",
        arguments: [
            (#"{"sub":"u"}"#, ConnectionToken(user: "u", expiry: nil, info: [])),
            (#"{}"#, ConnectionToken(user: "", expiry: nil, info: [])),
            (#"{"sub":"ü","exp":1001}"#, ConnectionToken(user: "ü", expiry: 1_001, info: [])),
            (#"{"sub":"u","exp":1001.9}"#, ConnectionToken(user: "u", expiry: 1_001, info: [])),
            (#"{"sub":"u","exp":2000,"expire_at":1500}"#, ConnectionToken(user: "u", expiry: 1_500, info: [])),
            (#"{"sub":"u","exp":2000,"expire_at":0}"#, ConnectionToken(user: "u", expiry: nil, info: [])),
            (#"{"sub":"u","exp":2000,"expire_at":-1}"#, ConnectionToken(user: "u", expiry: nil, info: [])),
            (
                #"{"sub":"u","info":null}"#,
                ConnectionToken(user: "u", expiry: nil, info: Array("null".utf8))
            ),
            (#"{"sub":"u","nbf":1000,"iat":1}"#, ConnectionToken(user: "u", expiry: nil, info: [])),
            (
                #"{"sub":"u","info":{"a": 1.10}}"#,
                ConnectionToken(user: "u", expiry: nil, info: Array(#"{"a": 1.10}"#.utf8))
            ),
            (#"{"sub":"u","b64info":"AAEC/w=="}"#, ConnectionToken(user: "u", expiry: nil, info: [0, 1, 2, 255])),
        ]
    )
    func claims(_ text: String, _ expected: ConnectionToken) throws {
        #expect(try verifier.connection(Conversation.token(text), at: 1_000) == expected)
    }

    @Test(
        "a token out of its time is expired, whatever else",
        arguments: [#"{"exp":1000}"#, #"{"exp":-5}"#, #"{"nbf":1001}"#, #"{"exp":9e2}"#, #"{"nbf":1001,"exp":2000}"#]
    )
    func outOfTime(_ text: String) {
        #expect(throws: TokenFault.expired) { try verifier.connection(Conversation.token(text), at: 1_000) }
        #expect(throws: TokenFault.expired) { try verifier.subscription(Conversation.token(text), at: 1_000) }
    }

    @Test(
        "claims of the wrong kind are invalid",
        arguments: [
            #"{"sub":7}"#, #"{"exp":"soon"}"#, #"{"exp":1e400}"#, #"[]"#, #"nonsense"#, #"{"channel":"x"}"#,
            #"{"b64info":7}"#, #"{"subs":{"a":5}}"#, #"{"subs":{"a":{"b64info":"*"}}}"#,
            #"{"subs":{"a":{"override":{"presence":5}}}}"#, #"{"channels":[5]}"#, #"{"channels":{}}"#,
        ]
    )
    func wrongKind(_ text: String) {
        #expect(throws: TokenFault.invalid) { try verifier.connection(Conversation.token(text), at: 1_000) }
    }

    @Test("what is not base64 is a fault of its own, and a token for no room none at all")
    func unfit() {
        let info = Conversation.token(#"{"b64info":"*"}"#)
        #expect(throws: TokenFault.notBase64) { try verifier.connection(info, at: 1_000) }
        let nowhere = Conversation.token(#"{"sub":"u","channel":""}"#)
        #expect(throws: TokenFault.invalid) { try verifier.subscription(nowhere, at: 1_000) }
    }

    @Test("a signature counts only under our key, over these bytes, by HS256")
    func signatures() throws {
        let good = Conversation.token(#"{"sub":"u"}"#)
        _ = try verifier.connection(good, at: 0)
        var forged: [ByteString] = [
            "", "abc", "a.b.c", "..", ByteString(good.bytes + [0x2e]),
            Conversation.token(#"{"sub":"u"}"#, secret: Secret("another")),
            Conversation.token(#"{"sub":"u"}"#, header: #"{"alg":"none"}"#),
            Conversation.token(#"{"sub":"u"}"#, header: #"{"alg":"HS512"}"#),
            Conversation.token(#"{"sub":"u"}"#, header: "{}"),
        ]
        let parts = good.bytes.split(separator: 0x2e)
        forged.append(ByteString(Array(parts[0] + [0x2e] + parts[1] + [0x2e])))
        let other = Conversation.token(#"{"sub":"root"}"#).bytes.split(separator: 0x2e)
        forged.append(ByteString(Array(parts[0] + [0x2e] + other[1] + [0x2e] + parts[2])))
        for token in forged {
            #expect(throws: TokenFault.invalid, "\(token)") { try verifier.connection(token, at: 0) }
        }
    }

    @Test("a subscription token with everything in it")
    func subscription() throws {
        let text = #"""
            {"sub":"u","channel":"order:1","client":"c","exp":2000,"info":{"x":1},"data":[2],
            "override":{"force_recovery":{"value":true},"force_positioning":{"value":false},"presence":{"value":false}}}
            """#
        var details = ServerSubscription(channel: "order:1")
        details.expiry = 2_000
        details.info = Array(#"{"x":1}"#.utf8)
        details.data = Array("[2]".utf8)
        details.override.recovery = true
        details.override.position = false
        details.override.presence = false
        let expected = SubscriptionToken(user: "u", client: "c", details: details)
        #expect(try verifier.subscription(Conversation.token(text), at: 0) == expected)
    }
}

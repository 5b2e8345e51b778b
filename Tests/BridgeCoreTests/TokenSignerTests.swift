import BridgeCore
import BridgeTestSupport
import Foundation
import RoomsRuntime
import RoomsWire
import Testing

/// The expected tokens were made with Python's hmac and base64.
@Suite struct TokenSignerTests {
    private let now: Int64 = 1_796_004_000_123

    @Test func `a connection token is what another program makes of the same claims`() {
        let signer = TokenSigner(user: "bridge", secret: Secret("roomhub-token-secret"))
        let expected =
            "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJicmlkZ2UiLCJleHAiOjE3OTYwMDc2MDB9"
            + ".kziVen5fLQLeOYrrBz9CFG9sx9dpLg2Qme0hOuY5PRQ"
        #expect(text(signer.connectionToken(now: now)) == expected)
    }

    @Test func `a subscription token asks for recovery and hides RoomBridge, under the second secret`() {
        let signer = TokenSigner(
            user: "bridge",
            secret: Secret("roomhub-token-secret"),
            subscriptionSecret: Secret("other")
        )
        let expected =
            "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJicmlkZ2UiLCJjaGFubmVsIjoiY2Fmw6k6XCIxXCIiLCJleHAiOjE3OTYwMDc2MDAsIm92ZXJyaWRlIjp7ImZvcmNlX3JlY292ZXJ5Ijp7InZhbHVlIjp0cnVlfSwiZm9yY2VfcG9zaXRpb25pbmciOnsidmFsdWUiOnRydWV9LCJwcmVzZW5jZSI6eyJ2YWx1ZSI6ZmFsc2V9LCJqb2luX2xlYXZlIjp7InZhbHVlIjpmYWxzZX0sImZvcmNlX3B1c2hfam9pbl9sZWF2ZSI6eyJ2YWx1ZSI6ZmFsc2V9fX0"
            + ".AsMrXhN_TPVNW75AfsHDFYNleXCnmdUbr7xVSfeAOAk"
        #expect(text(signer.subscriptionToken(room: "café:\"1\"", now: now)) == expected)
    }

    @Test func `where members are wanted it hears of them, and stays hidden`() throws {
        let signer = TokenSigner(user: "bridge", secret: Secret("a"))
        for hears in [true, false] {
            let token = text(signer.subscriptionToken(room: "r", hearsMembers: hears, now: now))
            let claims = try #require(Base64.decodeURL(Array(token.split(separator: ".")[1].utf8)))
            let override = try JSONDocument.parse(claims).root["override"]
            #expect(override?["force_push_join_leave"]?["value"]?.bool == hears)
            #expect(override?["join_leave"]?["value"]?.bool == false)
            #expect(override?["presence"]?["value"]?.bool == false)
        }
    }

    @Test func `one secret signs both tokens where there is no second`() throws {
        let first = TokenSigner(user: "u", secret: Secret("a")).subscriptionToken(room: "r", now: now)
        let same = TokenSigner(user: "u", secret: Secret("b"), subscriptionSecret: Secret("a"))
            .subscriptionToken(room: "r", now: now)
        let other = TokenSigner(user: "u", secret: Secret("b")).subscriptionToken(room: "r", now: now)
        #expect(first == same)
        #expect(first != other)
    }

    @Test func `absurd clocks and lifetimes do not trap`() {
        let signer = TokenSigner(user: "u", secret: Secret("a"), lifetime: .seconds(Int64.max))
        #expect(!signer.connectionToken(now: .max).bytes.isEmpty)
        #expect(!signer.connectionToken(now: .min).bytes.isEmpty)
    }

    private func text(_ secret: Secret) -> String { String(decoding: secret.bytes, as: UTF8.self) }
}

import RoomsRuntime
import RoomsWire
import Testing

@Suite struct TokenKeyTests {
    private let key = TokenKey(Secret("roomhub-token-secret"))

    @Test("a token is what another program makes of the same claims, and says what was written")
    func known() throws {
        let token = key.sign { claims in
            claims.key(literal: "sub")
            claims.string(ByteString("bridge"))
            claims.key(literal: "exp")
            claims.integer(1_796_007_600)
        }
        let expected =
            "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJicmlkZ2UiLCJleHAiOjE3OTYwMDc2MDB9"
            + ".kziVen5fLQLeOYrrBz9CFG9sx9dpLg2Qme0hOuY5PRQ"
        #expect(String(decoding: token.bytes, as: UTF8.self) == expected)
        let claims = try #require(key.claims(of: ByteString(token.bytes)))
        #expect(claims["sub"]?.string == "bridge" && claims["exp"]?.integer() == 1_796_007_600)
    }

    @Test("a token counts only under the key that signed it, and unchanged")
    func forged() {
        let token = key.sign {
            $0.key(literal: "a"); $0.bool(true)
        }.bytes
        #expect(key.claims(of: ByteString(token)) != nil)
        #expect(TokenKey(Secret("another")).claims(of: ByteString(token)) == nil)
        for index in token.indices where token[index] != UInt8(ascii: ".") {
            var changed = token
            changed[index] = changed[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            #expect(key.claims(of: ByteString(changed)) == nil, "byte \(index)")
        }
        for count in token.indices { #expect(key.claims(of: ByteString(Array(token[..<count]))) == nil) }
        #expect(key.claims(of: ByteString(token + [UInt8(ascii: ".")])) == nil)
    }
}

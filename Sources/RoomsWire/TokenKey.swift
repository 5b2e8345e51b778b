package import RoomsRuntime

/// The secret under which JSON web tokens are signed by HS256 (RFC 7519), the one kind that is made and taken here.
///
/// Belongs to one thread at a time.
package struct TokenKey {
    /// Deeper claims than anybody writes are no token.
    private static let claimDepth = 200
    private static let header = Base64.encodeURL(Array(#"{"alg":"HS256","typ":"JWT"}"#.utf8))
    private static let dot = UInt8(ascii: ".")

    private let authenticator: MessageAuthenticator

    package init(_ secret: Secret) {
        authenticator = MessageAuthenticator(key: secret)
    }

    /// The token with the claims that `body` writes.
    package func sign(_ body: (inout JSONWriter) -> Void) -> Secret {
        var claims = JSONWriter()
        claims.object(body)
        var token = Self.header
        token.append(Self.dot)
        token += Base64.encodeURL(claims.bytes)
        let signature = authenticator.authenticate(token)
        token.append(Self.dot)
        token += Base64.encodeURL(signature)
        return Secret(token)
    }

    /// What the token says; nil unless it was signed under this key.
    ///
    /// Whether its time has come, or passed, is for the caller to see.
    package func claims(of token: ByteString) -> JSONNode? {
        let parts = token.bytes.split(separator: Self.dot, omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Self.object(parts[0]), header["alg"]?.string == "HS256",
            let signature = Base64.decodeURL(parts[2])
        else { return nil }
        let signed = Array(token.bytes[..<(parts[2].startIndex - 1)])
        guard Secret(authenticator.authenticate(signed)).matches(signature) else { return nil }
        return Self.object(parts[1])
    }

    private static func object(_ part: ArraySlice<UInt8>) -> JSONNode? {
        guard let bytes = Base64.decodeURL(part),
            let document = try? JSONDocument.parse(bytes, maximumDepth: claimDepth),
            document.root.members != nil
        else { return nil }
        return document.root
    }
}

package import RoomsRuntime
internal import RoomsWire

/// Checks HS256 tokens (JWT, RFC 7519) under the hub's secret.
package final class TokenVerifier {
    private let key: TokenKey

    package init(secret: Secret) {
        key = TokenKey(secret)
    }

    /// `now` is in seconds since 1970.
    package func connection(_ token: ByteString, at now: Int64) throws(TokenFault) -> ConnectionToken {
        let claims = try claims(of: token, at: now)
        guard claims["channel"] == nil else { throw .invalid }
        return ConnectionToken(
            user: try text(claims["sub"]),
            expiry: try expiry(claims),
            info: try embedded(claims, "info", "b64info")
        )
    }

    package func subscription(_ token: ByteString, at now: Int64) throws(TokenFault) -> SubscriptionToken {
        let claims = try claims(of: token, at: now)
        var result = SubscriptionToken(user: try text(claims["sub"]), channel: try text(claims["channel"]))
        result.client = try text(claims["client"])
        result.expiry = try expiry(claims)
        result.info = try embedded(claims, "info", "b64info")
        result.data = try embedded(claims, "data", "b64data")
        guard let override = claims["override"], !override.isNull else { return result }
        result.forceRecovery = try flag(override["force_recovery"])
        result.forcePositioning = try flag(override["force_positioning"])
        return result
    }

    /// The claims of a token whose signature and times are good.
    private func claims(of token: ByteString, at now: Int64) throws(TokenFault) -> JSONNode {
        guard let claims = key.claims(of: token) else { throw .invalid }
        if let end = try seconds(claims["exp"]), end <= now { throw .expired }
        if let start = try seconds(claims["nbf"]), start > now { throw .expired }
        return claims
    }

    /// `expire_at` stands in for `exp`; 0 means never.
    private func expiry(_ claims: JSONNode) throws(TokenFault) -> Int64? {
        if let end = try seconds(claims["expire_at"]) { return end == 0 ? nil : end }
        return try seconds(claims["exp"])
    }

    private func seconds(_ node: JSONNode?) throws(TokenFault) -> Int64? {
        guard let node, !node.isNull else { return nil }
        if let whole = node.integer(as: Int64.self) { return whole }
        guard let digits = node.number, let number = Double(digits.string), number.magnitude < 1e15 else {
            throw .invalid
        }
        return Int64(number)
    }

    private func text(_ node: JSONNode?) throws(TokenFault) -> ByteString {
        guard let node, !node.isNull else { return .empty }
        guard let text = node.string else { throw .invalid }
        return text
    }

    private func flag(_ node: JSONNode?) throws(TokenFault) -> Bool? {
        guard let node, !node.isNull else { return nil }
        guard let value = node["value"]?.bool else { throw .invalid }
        return value
    }

    /// JSON as it stands in the token, or bytes in base64.
    private func embedded(_ claims: JSONNode, _ plain: ByteString, _ encoded: ByteString) throws(TokenFault) -> [UInt8]
    {
        let text = try text(claims[encoded])
        if !text.isEmpty {
            guard let bytes = Base64.decode(text.bytes) else { throw .invalid }
            return bytes
        }
        guard let node = claims[plain], !node.isNull else { return [] }
        return node.raw
    }
}

/// Why a token is not taken.
package enum TokenFault: Error, Equatable, Sendable {
    /// Its time has passed, or has not come.
    case expired
    case invalid
}

package struct ConnectionToken: Equatable, Sendable {
    package var user: ByteString
    /// Seconds since 1970; nil: never.
    package var expiry: Int64?
    package var info: [UInt8]
}

package struct SubscriptionToken: Equatable, Sendable {
    package var user: ByteString
    package var channel: ByteString
    /// The only connection it is for; empty: any.
    package var client = ByteString.empty
    package var expiry: Int64?
    package var info: [UInt8] = []
    package var data: [UInt8] = []
    package var forceRecovery: Bool?
    package var forcePositioning: Bool?
}

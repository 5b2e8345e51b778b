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
        var token = ConnectionToken(
            user: try text(claims["sub"]),
            expiry: try expiry(claims),
            info: try embedded(claims, "info", "b64info")
        )
        token.subscriptions = try subscriptions(claims)
        return token
    }

    /// The rooms that `subs`, or else `channels`, name.
    private func subscriptions(_ claims: JSONNode) throws(TokenFault) -> [ServerSubscription] {
        if let subs = claims["subs"], !subs.isNull {
            guard let members = subs.members else { throw .invalid }
            var subscriptions: [ServerSubscription] = []
            for member in members {
                guard member.value.isNull || member.value.members != nil else { throw .invalid }
                do {
                    subscriptions.append(try details(member.value, channel: member.key))
                } catch {
                    throw .invalid
                }
            }
            return subscriptions
        }
        guard let channels = claims["channels"], !channels.isNull else { return [] }
        guard let elements = channels.elements else { throw .invalid }
        var subscriptions: [ServerSubscription] = []
        for element in elements { subscriptions.append(ServerSubscription(channel: try text(element))) }
        return subscriptions
    }

    package func subscription(_ token: ByteString, at now: Int64) throws(TokenFault) -> SubscriptionToken {
        let claims = try claims(of: token, at: now)
        let channel = try text(claims["channel"])
        guard !channel.isEmpty else { throw .invalid }
        var details = try details(claims, channel: channel)
        details.expiry = try expiry(claims)
        return SubscriptionToken(user: try text(claims["sub"]), client: try text(claims["client"]), details: details)
    }

    /// What claims say about one subscription.
    private func details(_ claims: JSONNode, channel: ByteString) throws(TokenFault) -> ServerSubscription {
        var details = ServerSubscription(channel: channel)
        details.info = try embedded(claims, "info", "b64info")
        details.data = try embedded(claims, "data", "b64data")
        guard let override = claims["override"], !override.isNull else { return details }
        details.override.presence = try flag(override["presence"])
        details.override.joinLeave = try flag(override["join_leave"])
        details.override.pushedJoinLeave = try flag(override["force_push_join_leave"])
        details.override.position = try flag(override["force_positioning"])
        details.override.recovery = try flag(override["force_recovery"])
        return details
    }

    /// The claims of a token whose signature and times are good.
    private func claims(of token: ByteString, at now: Int64) throws(TokenFault) -> JSONNode {
        guard let claims = key.claims(of: token) else { throw .invalid }
        if let end = try seconds(claims["exp"]), end <= now { throw .expired }
        if let start = try seconds(claims["nbf"]), start > now { throw .expired }
        return claims
    }

    /// `expire_at` stands in for `exp`; 0, and what is less, means never.
    private func expiry(_ claims: JSONNode) throws(TokenFault) -> Int64? {
        if let end = try seconds(claims["expire_at"]) { return end > 0 ? end : nil }
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
        guard node.members != nil else { throw .invalid }
        guard let value = node["value"], !value.isNull else { return false }
        guard let value = value.bool else { throw .invalid }
        return value
    }

    /// JSON as it stands in the token, or bytes in base64.
    private func embedded(_ claims: JSONNode, _ plain: ByteString, _ encoded: ByteString) throws(TokenFault) -> [UInt8]
    {
        let text = try text(claims[encoded])
        if !text.isEmpty {
            guard let bytes = Base64.decode(text.bytes) else { throw .notBase64 }
            return bytes
        }
        // `null` is a value like any other.
        return claims[plain]?.raw ?? []
    }
}

/// Why a token is not taken.
package enum TokenFault: Error, Equatable, Sendable {
    /// Its time has passed, or has not come.
    case expired
    case invalid
    /// What should be base64 in it is not; the real server takes that for its own fault in a connection token.
    case notBase64
}

package struct ConnectionToken: Equatable, Sendable {
    package var user: ByteString
    /// Seconds since 1970; nil: never.
    package var expiry: Int64?
    package var info: [UInt8]
    /// The rooms that the connection is put into.
    package var subscriptions: [ServerSubscription] = []
}

package struct SubscriptionToken: Equatable, Sendable {
    package var user: ByteString
    /// The only connection it is for; empty: any.
    package var client: ByteString
    package var details: ServerSubscription
}

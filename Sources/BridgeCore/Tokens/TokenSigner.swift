package import RoomsRuntime
internal import RoomsWire

/// Makes the HS256 tokens with which RoomBridge, a trusted program on the server's side, lets itself in (RFC 7519).
package struct TokenSigner: Sendable {
    private let user: ByteString
    private let secret: Secret
    private let subscriptionSecret: Secret
    private let lifetime: Int64

    /// Long enough to survive a server's bad night, short enough that a stolen token dies.
    package static let standardLifetime = Duration.seconds(3_600)

    package init(
        user: ByteString,
        secret: Secret,
        subscriptionSecret: Secret? = nil,
        lifetime: Duration = standardLifetime
    ) {
        self.user = user
        self.secret = secret
        self.subscriptionSecret = subscriptionSecret ?? secret
        self.lifetime = lifetime.wholeMilliseconds / 1_000
    }

    private func expiry(_ now: Int64) -> Int64 {
        let (sum, overflow) = (now / 1_000).addingReportingOverflow(lifetime)
        return overflow ? .max : sum
    }

    /// `now` is in milliseconds since 1970.
    package func connectionToken(now: Int64) -> Secret {
        TokenKey(secret).sign { claims in
            claims.key(literal: "sub")
            claims.string(user)
            claims.key(literal: "exp")
            claims.integer(expiry(now))
        }
    }

    /// A token for one room that makes it durable even where clients may not ask for that, and keeps RoomBridge out of
    /// its members; with `hearsMembers` it is told of those all the same.
    package func subscriptionToken(room: ByteString, hearsMembers: Bool = false, now: Int64) -> Secret {
        TokenKey(subscriptionSecret).sign { claims in
            claims.key(literal: "sub")
            claims.string(user)
            claims.key(literal: "channel")
            claims.string(room)
            claims.key(literal: "exp")
            claims.integer(expiry(now))
            claims.key(literal: "override")
            claims.object { override in
                Self.set("force_recovery", true, in: &override)
                Self.set("force_positioning", true, in: &override)
                Self.set("presence", false, in: &override)
                Self.set("join_leave", false, in: &override)
                Self.set("force_push_join_leave", hearsMembers, in: &override)
            }
        }
    }

    private static func set(_ option: StaticString, _ value: Bool, in writer: inout JSONWriter) {
        writer.key(literal: option)
        writer.object {
            $0.key(literal: "value")
            $0.bool(value)
        }
    }
}

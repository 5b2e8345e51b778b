package import RoomsRuntime

/// Where tokens come from; asked again each time one is needed, so that a changed file is seen.
///
/// Called on the connection's loop: must not block for long.
package struct TokenSource: Sendable {
    /// The connection token; nil: connect anonymously.
    ///
    /// Any error but those of `TokenFault` is one that may pass: it is tried again after a pause.
    package var connection: @Sendable () throws -> Secret?
    /// The token for one room; nil: subscribe without.
    package var subscription: @Sendable (ByteString) throws -> Secret?
    /// The server says that the token is over; nil: that of the connection.
    package var expired: @Sendable (ByteString?) -> Void
    /// The server told how long the token is good, and it is asked for anew after that time; nil: that of the connection.
    package var renewed: @Sendable (ByteString?, Duration) -> Void

    package init(
        connection: @escaping @Sendable () throws -> Secret?,
        subscription: @escaping @Sendable (ByteString) throws -> Secret?,
        expired: @escaping @Sendable (ByteString?) -> Void = { _ in },
        renewed: @escaping @Sendable (ByteString?, Duration) -> Void = { _, _ in }
    ) {
        self.connection = connection
        self.subscription = subscription
        self.expired = expired
        self.renewed = renewed
    }

    /// Public rooms: no tokens at all.
    package static let anonymous = TokenSource(connection: { nil }, subscription: { _ in nil })
}

extension TokenSource {
    /// When to renew the token of `room` (nil: of the connection), of which a reply told whether and when it ends.
    func renewal(of room: ByteString?, expires: Bool, ttl: UInt32, _ turn: Turn) -> Deadline? {
        guard expires, ttl > 0 else { return nil }
        let deadline = Deadline(renewing: ttl, turn)
        renewed(room, deadline.instant - turn.now)
        return deadline
    }
}

/// Why there is no token.
package enum TokenFault: Error, Equatable {
    /// It is being fetched: `RoomsConnection.tokensArrived` says when to ask again.
    case pending
    /// It will not be given; `code` is that of the protocol's errors, or of the auth route's as the facade numbers them.
    case refused(code: UInt32, reason: ByteString)
}

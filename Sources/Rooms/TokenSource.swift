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

    package init(
        connection: @escaping @Sendable () throws -> Secret?,
        subscription: @escaping @Sendable (ByteString) throws -> Secret?,
        expired: @escaping @Sendable (ByteString?) -> Void = { _ in }
    ) {
        self.connection = connection
        self.subscription = subscription
        self.expired = expired
    }

    /// Public rooms: no tokens at all.
    package static let anonymous = TokenSource(connection: { nil }, subscription: { _ in nil })
}

/// Why there is no token.
package enum TokenFault: Error, Equatable {
    /// It is being fetched: `RoomsConnection.tokensArrived` says when to ask again.
    case pending
    /// It will not be given; `code` is that of the protocol's errors, or of the auth route's as the facade numbers them.
    case refused(code: UInt32, reason: ByteString)
}

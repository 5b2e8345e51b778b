package import RoomsRuntime
internal import RoomsWire

/// An error that a client or the server API gets as an answer.
package struct HubError: Error, Equatable, Sendable {
    package let code: UInt32
    package let message: ByteString
    package let isTemporary: Bool

    init(_ code: UInt32, _ message: ByteString, isTemporary: Bool = false) {
        self.code = code
        self.message = message
        self.isTemporary = isTemporary
    }

    package static let unknownChannel = HubError(102, "unknown channel")
    package static let permissionDenied = HubError(103, "permission denied")
    package static let methodNotFound = HubError(104, "method not found")
    package static let alreadySubscribed = HubError(105, "already subscribed")
    package static let limitExceeded = HubError(106, "limit exceeded")
    package static let badRequest = HubError(107, "bad request")
    package static let notAvailable = HubError(108, "not available")
    package static let tokenExpired = HubError(109, "token expired")
    package static let expired = HubError(110, "expired")
    /// Centrifugo leaves the codes from 400 to others; the rooms page calls this one `full`.
    package static let full = HubError(450, "full")
    package static let unrecoverablePosition = HubError(112, "unrecoverable position")
    /// What the server API says where a client hears 107 or 104.
    package static let internalError = HubError(100, "internal server error", isTemporary: true)
    package static let notFound = HubError(104, "not found")
    package static let conflict = HubError(113, "conflict")

    /// What is usually said with that code.
    static func usual(_ code: UInt32) -> HubError {
        let known: [HubError] = [
            .internalError, HubError(101, "unauthorized"), .unknownChannel, .permissionDenied, .methodNotFound,
            .alreadySubscribed, .limitExceeded, .badRequest, .notAvailable, .tokenExpired, .expired,
            HubError(111, "too many requests", isTemporary: true), .unrecoverablePosition, .conflict, .full,
        ]
        return known.first { $0.code == code } ?? HubError(code, ByteString("error \(code)"))
    }

    var reply: ErrorReply { ErrorReply(code: code, message: message, isTemporary: isTemporary) }
}

/// Why the hub closes a connection.
package struct HubClose: Equatable, Sendable {
    package let code: UInt16
    package let reason: ByteString
    /// What waits to be sent is dropped.
    package var dropsQueue = false

    package init(_ code: UInt16, _ reason: ByteString) {
        self.code = code
        self.reason = reason
    }

    /// False for what a close frame may not carry (RFC 6455, section 7.4), and for 3000, which stands for a connection
    /// that is gone: it is cut.
    var isSayable: Bool {
        Self.isAllowed(code) && reason.count <= Self.reasonLimit
    }

    /// Bytes of a reason that a close frame carries.
    static let reasonLimit = 123

    static func isAllowed(_ code: UInt16) -> Bool {
        switch code {
        case 1000...1003, 1007...1014, 3001...4999: true
        default: false
        }
    }

    /// Never on the wire: the peer closed, or its socket broke.
    static let closed = HubClose(3000, "connection closed")
    package static let shutdown = HubClose(3001, "shutdown")
    package static let expired = HubClose(3005, "connection expired")
    package static let subscriptionExpired = HubClose(3006, "subscription expired")
    package static let slow = HubClose(3008, "slow")
    /// For pushes, which need not go out any more.
    static let slowDropping = {
        var close = HubClose.slow
        close.dropsQueue = true
        return close
    }()
    package static let insufficientState = HubClose(3010, "insufficient state")
    package static let noPong = HubClose(3012, "no pong")
    package static let invalidToken = HubClose(3500, "invalid token")
    package static let badRequest = HubClose(3501, "bad request")
    package static let stale = HubClose(3502, "stale")
    package static let forced = HubClose(3503, "force disconnect")
    package static let connectionLimit = HubClose(3504, "connection limit")
    package static let channelLimit = HubClose(3505, "channel limit")
    package static let inappropriateProtocol = HubClose(3506, "inappropriate protocol")
    package static let notAvailable = HubClose(3508, "not available")
}

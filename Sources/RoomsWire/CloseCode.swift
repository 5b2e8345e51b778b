/// What the close of a WebSocket connection tells a client to do next.
///
/// Terminal means that the same attempt made again at once ends the same way: a daemon then tries again slowly and says
/// why. Everything else is a matter of reconnecting with backoff.
package enum CloseCode {
    package static let normal: UInt16 = 1000
    package static let protocolError: UInt16 = 1002
    /// Never on the wire: the connection ended without a close frame.
    package static let abnormal: UInt16 = 1006
    package static let invalidData: UInt16 = 1007
    package static let messageTooLarge: UInt16 = 1009

    package static let shutdown: UInt16 = 3001
    package static let internalServerError: UInt16 = 3004
    package static let expired: UInt16 = 3005
    package static let subscriptionExpired: UInt16 = 3006
    package static let slow: UInt16 = 3008
    package static let writeError: UInt16 = 3009
    package static let insufficientState: UInt16 = 3010
    package static let forceReconnect: UInt16 = 3011
    package static let noPong: UInt16 = 3012
    package static let tooManyRequests: UInt16 = 3013
    package static let stateInvalidated: UInt16 = 3014

    package static let invalidToken: UInt16 = 3500
    package static let badRequest: UInt16 = 3501
    package static let stale: UInt16 = 3502
    package static let forceDisconnect: UInt16 = 3503
    package static let connectionLimit: UInt16 = 3504
    package static let channelLimit: UInt16 = 3505
    package static let inappropriateProtocol: UInt16 = 3506
    package static let permissionDenied: UInt16 = 3507
    package static let notAvailable: UInt16 = 3508
    package static let tooManyErrors: UInt16 = 3509

    package static func isTerminal(_ code: UInt16) -> Bool {
        switch code {
        case messageTooLarge, 3500..<4000, 4500..<5000: true
        default: false
        }
    }

    /// What one room asked for can bring it about: the server's answer to a room's token, or a rule of the app.
    ///
    /// Others are about the server, the user or the connection's own token.
    package static func mayBeOneRoom(_ code: UInt16) -> Bool {
        switch code {
        case messageTooLarge, 3000, internalServerError, subscriptionExpired, insufficientState: true
        case invalidToken, badRequest, permissionDenied..<4500, 5000...: true
        default: false
        }
    }

    package static func reconnects(_ code: UInt16) -> Bool { !isTerminal(code) }

    /// The link or the server's queue for it could not take what was sent: ask for less at a time.
    package static func isOverload(_ code: UInt16) -> Bool {
        code == slow || code == writeError || code == abnormal
    }
}

/// What the end of one subscription, told by the server, asks for.
package enum UnsubscribeCode {
    package static let serverUnsubscribe: UInt32 = 2000
    package static let insufficientState: UInt32 = 2500
    package static let expired: UInt32 = 2501
    /// Token and position are no longer good.
    package static let stateInvalidated: UInt32 = 2502

    /// Subscribe again; below, the subscription has ended for good.
    package static func resubscribes(_ code: UInt32) -> Bool { code >= 2500 }
}

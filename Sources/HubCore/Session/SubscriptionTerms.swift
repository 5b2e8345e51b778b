package import RoomsRuntime
package import RoomsWire

/// What one subscription gets: its room's rule, what the client asks for, and what its token says beyond both.
struct SubscriptionTerms: Equatable {
    let isRecoverable: Bool
    let isPositioned: Bool
    /// The room's presence names it.
    let isPresent: Bool
    /// The others hear when it begins and ends.
    let isAnnounced: Bool
    /// It hears of those who come and go, also of itself.
    let hearsOthers: Bool

    init(rule: RoomRule, override: SubscriptionOverride = SubscriptionOverride(), request: SubscribeRequest) {
        isRecoverable = override.recovery ?? rule.recovery.isGiven(asked: request.recoverable)
        let isPositioned = override.position ?? rule.position.isGiven(asked: request.positioned)
        // Nothing is recovered without a position.
        self.isPositioned = isPositioned || isRecoverable
        isPresent = override.presence ?? rule.presence
        isAnnounced = override.joinLeave ?? (rule.joinLeave != .never)
        let maySee = rule.membersMay.contains(.presence)
        hearsOthers = override.pushedJoinLeave ?? rule.joinLeave.isGiven(asked: request.joinLeave && maySee)
    }
}

/// What a token, or the server API, says about a subscription whatever the room's rule; nil: as the rule has it.
package struct SubscriptionOverride: Equatable, Sendable {
    package var presence: Bool?
    package var joinLeave: Bool?
    package var pushedJoinLeave: Bool?
    package var position: Bool?
    package var recovery: Bool?

    init() {}
}

/// A room that the server side puts a connection into: by its token, or over the server API.
package struct ServerSubscription: Equatable, Sendable {
    package var channel: ByteString
    /// What is known of the member in this room.
    package var info: [UInt8] = []
    /// Handed to the client with the subscription.
    package var data: [UInt8] = []
    package var override = SubscriptionOverride()
    /// Seconds since 1970; nil: it does not expire.
    package var expiry: Int64?
    package var recoverSince: StreamPosition?

    init(channel: ByteString) {
        self.channel = channel
    }
}

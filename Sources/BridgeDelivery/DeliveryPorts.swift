package import BridgeModel

/// What the dispatcher needs of the store; may be called from any thread and does not block.
package struct DeliveryPorts: Sendable {
    package var settle: @Sendable ([Settlement]) -> Void
    /// The answer comes through the closure, in order with what is submitted.
    package var refill: @Sendable (RefillRequest, @escaping @Sendable (RefillResult) -> Void) -> Void

    /// Keeps over a restart what an endpoint or one of its rooms waits for; nil: it waits no more.
    package var hold: @Sendable (HoldScope, StoredHold?) -> Void
    /// Whether one more dead letter of that endpoint has a place.
    package var hasPlaceForDeadLetter: @Sendable (EndpointID) -> Bool

    package init(
        settle: @escaping @Sendable ([Settlement]) -> Void,
        refill: @escaping @Sendable (RefillRequest, @escaping @Sendable (RefillResult) -> Void) -> Void,
        hold: @escaping @Sendable (HoldScope, StoredHold?) -> Void,
        hasPlaceForDeadLetter: @escaping @Sendable (EndpointID) -> Bool
    ) {
        self.settle = settle
        self.refill = refill
        self.hold = hold
        self.hasPlaceForDeadLetter = hasPlaceForDeadLetter
    }
}

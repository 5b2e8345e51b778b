package import BridgeModel

/// What the dispatcher needs of the store; both may be called from any thread and do not block.
package struct DeliveryPorts: Sendable {
    package var settle: @Sendable ([Settlement]) -> Void
    /// The answer comes through the closure, in order with what is submitted.
    package var refill: @Sendable (RefillRequest, @escaping @Sendable (RefillResult) -> Void) -> Void

    package init(
        settle: @escaping @Sendable ([Settlement]) -> Void,
        refill: @escaping @Sendable (RefillRequest, @escaping @Sendable (RefillResult) -> Void) -> Void
    ) {
        self.settle = settle
        self.refill = refill
    }
}

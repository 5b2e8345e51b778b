internal import BridgeModel

/// What is asked of the writer.
enum StoreCommand: Sendable {
    case append([AppendRecord])
    /// Nil: it waits no more.
    case hold(HoldScope, StoredHold?)
    case refill(RefillRequest, @Sendable (RefillResult) -> Void)
    case deadLetters(DeadLetterRequest, @Sendable (DeadLetterAnswer) -> Void)
    case status(@Sendable (StoreStatus) -> Void)
    case stop
}

package import RoomsRuntime

/// Why events are missing.
///
/// The raw value is what endpoints read.
package enum GapReason: String, Sendable, CaseIterable {
    case trimmed
    case epochChanged = "epoch_changed"
    case wentBack = "went_back"
    case notPermitted = "not_permitted"
    case tooLarge = "too_large"
    case invalidated
    case filtered
    case retention
    case damaged
}

/// Events that the server had and no longer has.
///
/// Both bounds are inclusive; `to` is nil when the end is not known.
package struct Gap: Hashable, Sendable {
    package var reason: GapReason
    /// The epoch of the missing range.
    package var epoch: ByteString
    package var from: UInt64
    package var to: UInt64?
    /// Of the missing range.
    package var incarnation: UInt32

    package init(reason: GapReason, epoch: ByteString, from: UInt64, to: UInt64?, incarnation: UInt32 = 0) {
        self.reason = reason
        self.epoch = epoch
        self.from = from
        self.to = to
        self.incarnation = incarnation
    }
}

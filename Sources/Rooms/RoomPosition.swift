package import RoomsRuntime

/// How far a room's stream was handed to the sink.
package struct RoomPosition: Hashable, Sendable {
    /// Empty: the server did not tell it yet.
    package var epoch: ByteString
    package var offset: UInt64
    /// How often the stream was seen to go back within one epoch.
    package var incarnation: UInt32

    package init(epoch: ByteString, offset: UInt64, incarnation: UInt32 = 0) {
        self.epoch = epoch
        self.offset = offset
        self.incarnation = incarnation
    }

    /// The offset that must come next; saturates.
    var next: UInt64 { offset == .max ? .max : offset + 1 }
}

/// Where to begin in a room.
package enum RoomStart: Sendable, Equatable {
    /// With what is published from the first join on.
    case now
    /// With the oldest event that the server still has.
    case earliest
    /// Behind what was committed before.
    case resume(RoomPosition)
}

package struct RoomSpecification: Sendable {
    package var name: ByteString
    package var start: RoomStart
    /// Joins and leaves of others are wanted, where the connection's policy does not ask for them in all rooms.
    package var hearsMembers: Bool
    /// It is wanted how many users are in it.
    package var countsMembers: Bool

    package init(name: ByteString, start: RoomStart, hearsMembers: Bool = false, countsMembers: Bool = false) {
        self.name = name
        self.start = start
        self.hearsMembers = hearsMembers
        self.countsMembers = countsMembers
    }
}

/// Why events of a room are missing.
///
/// The raw value is what is shown.
package enum RoomGapReason: String, Sendable, CaseIterable {
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

/// Events that the server had and that cannot be had from it any more.
///
/// Both bounds are inclusive; `to` is nil when the end is not known.
package struct RoomGap: Hashable, Sendable {
    package var reason: RoomGapReason
    /// Epoch and incarnation of the missing range.
    package var epoch: ByteString
    package var from: UInt64
    package var to: UInt64?
    package var incarnation: UInt32

    package init(reason: RoomGapReason, epoch: ByteString, from: UInt64, to: UInt64?, incarnation: UInt32 = 0) {
        self.reason = reason
        self.epoch = epoch
        self.from = from
        self.to = to
        self.incarnation = incarnation
    }
}

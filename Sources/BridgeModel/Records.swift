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

/// One publication with what was found out about it on the way in.
package struct EventRecord: Sendable {
    /// The whole publication, untouched.
    package var payload: Payload
    package var epoch: ByteString
    /// 0: the room gives no offsets, the event is live-only.
    package var offset: UInt64
    package var incarnation: UInt32
    package var shape: PayloadShape
    package var name: ByteString
    /// The user who published it; nil for the server.
    package var from: ByteString?
    /// Milliseconds since 1970: the publisher's word, else the time of receipt.
    package var at: Int64
    /// Came through recovery or history.
    package var isReplayed: Bool
    /// Tags as a JSON object, nil when there are none.
    package var tags: [UInt8]?

    package init(
        payload: Payload,
        epoch: ByteString,
        offset: UInt64,
        incarnation: UInt32,
        shape: PayloadShape,
        name: ByteString,
        from: ByteString?,
        at: Int64,
        isReplayed: Bool,
        tags: [UInt8]?
    ) {
        self.payload = payload
        self.epoch = epoch
        self.offset = offset
        self.incarnation = incarnation
        self.shape = shape
        self.name = name
        self.from = from
        self.at = at
        self.isReplayed = isReplayed
        self.tags = tags
    }
}

/// How a payload stands in an envelope of ours.
package enum PayloadShape: Hashable, Sendable {
    /// JSON; the event's data are these bytes of the payload.
    case json(Range<Int>)
    /// An envelope with a JWE; these bytes are the JSON string, quotes included.
    case sealed(Range<Int>)
    /// Anything else; the event's data is the whole payload.
    case binary
}

/// What takes a seq in a room.
package enum RecordBody: Sendable {
    case event(EventRecord)
    case gap(Gap, at: Int64)
}

/// A committed record on its way to one endpoint.
package struct PendingDelivery: Sendable {
    package var row: RowID
    package var lane: Lane
    package var room: RoomKey
    /// Counts the room's committed records from 1, the same for all endpoints.
    package var seq: Int64
    package var body: RecordBody

    package init(row: RowID, lane: Lane, room: RoomKey, seq: Int64, body: RecordBody) {
        self.row = row
        self.lane = lane
        self.room = room
        self.seq = seq
        self.body = body
    }

    /// What it holds in memory, roughly.
    package var bytes: Int {
        switch body {
        case .event(let event): event.payload.count + 256
        case .gap: 256
        }
    }
}

/// An endpoint accepted everything of a lane up to and including this record.
package struct Settlement: Sendable {
    package var lane: Lane
    package var row: RowID
    package var seq: Int64

    package init(lane: Lane, row: RowID, seq: Int64) {
        self.lane = lane
        self.row = row
        self.seq = seq
    }
}

/// What is left to do for a lane, as the store knows it at start.
package struct LaneState: Sendable {
    package var lane: Lane
    package var room: RoomKey
    /// The last seq that the endpoint accepted; 0: none.
    package var acknowledged: Int64
    /// Every row of the lane below this one is settled.
    package var next: RowID
    /// The last row of the lane; nothing waits when it is below `next`.
    package var tail: RowID
    package var waitingRows: Int64
    package var waitingBytes: Int64

    package init(
        lane: Lane,
        room: RoomKey,
        acknowledged: Int64,
        next: RowID,
        tail: RowID,
        waitingRows: Int64,
        waitingBytes: Int64
    ) {
        self.lane = lane
        self.room = room
        self.acknowledged = acknowledged
        self.next = next
        self.tail = tail
        self.waitingRows = waitingRows
        self.waitingBytes = waitingBytes
    }
}

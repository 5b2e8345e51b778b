internal import RoomsRuntime

/// What takes a seq in a room.
package enum RecordBody: Sendable {
    case event(EventRecord)
    case gap(Gap, at: Int64)
    case notice(RoomNotice)
}

/// A committed record on its way to one endpoint.
package struct PendingDelivery: Sendable {
    package var row: RowID
    package var lane: Lane
    package var room: RoomKey
    /// Counts the room's committed records from 1, the same for all endpoints.
    package var seq: Int64
    package var body: RecordBody
    /// It is a dead letter that is sent again.
    package var retry: DeadLetterRetry?

    package init(row: RowID, lane: Lane, room: RoomKey, seq: Int64, body: RecordBody) {
        self.row = row
        self.lane = lane
        self.room = room
        self.seq = seq
        self.body = body
    }

    /// The gap that stands for what this lane lost.
    package var loss: Gap? {
        if case .gap(let gap, _) = body, gap.reason == .retention { return gap }
        return nil
    }

    /// What it holds in memory, roughly.
    package var bytes: Int {
        switch body {
        case .event(let event): event.payload.count + 256
        case .notice(let notice): notice.text.count + 256
        case .gap: 256
        }
    }
}

/// An endpoint is done with everything of a lane up to and including this record.
package struct Settlement: Sendable {
    package var lane: Lane
    package var row: RowID
    package var seq: Int64
    /// Nil: it was accepted.
    package var deadLetter: DeadLetter?
    /// What a gap `retention` told of, when it is known where that ends.
    package var told: ClosedRange<UInt64>?
    /// It is about a dead letter that was sent again: the lane itself did not move.
    package var retry: DeadLetterRetry?

    package init(lane: Lane, row: RowID, seq: Int64) {
        self.lane = lane
        self.row = row
        self.seq = seq
    }
}

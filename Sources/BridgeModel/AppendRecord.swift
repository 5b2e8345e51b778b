internal import RoomsRuntime

/// Names a fixed set of endpoints, so that "where it goes" is one number in the event's row.
package struct RouteID: Hashable, Sendable {
    package let rawValue: Int64

    package init(_ rawValue: Int64) {
        self.rawValue = rawValue
    }
}

/// One thing to commit for a room, with the position that moves in the same transaction.
package struct AppendRecord: Sendable {
    package enum Body: Sendable {
        /// Moves the position to the event's own, unless it was committed before: then it is dropped and counted.
        case event(EventRecord)
        /// The position after it is `AppendRecord.position`.
        case gap(Gap, at: Int64)
        /// Dropped when it is no news; moves no position.
        case notice(RoomNotice)
        /// Takes no seq and no row: `from: now` fixes where a room begins.
        case baseline
    }

    package var room: RoomID
    package var body: Body
    /// The room's position once this is committed.
    ///
    /// Nil for an event without an offset, and for a notice.
    package var position: Position?
    /// Where it goes; nil: nowhere (it takes a seq and moves the position, and leaves no row).
    package var route: RouteID?

    package init(room: RoomID, body: Body, position: Position?, route: RouteID?) {
        self.room = room
        self.body = body
        self.position = position
        self.route = route
    }

    /// What it holds in memory, roughly.
    package var bytes: Int {
        switch body {
        case .event(let event): event.payload.count + 256
        case .notice(let notice): notice.text.count + 256
        case .gap, .baseline: 256
        }
    }
}

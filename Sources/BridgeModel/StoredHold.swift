/// Who waits: an endpoint as a whole, or one of its rooms.
package struct HoldScope: Hashable, Sendable {
    package var endpoint: EndpointID
    /// Nil: all of the endpoint.
    package var room: RoomID?

    package init(endpoint: EndpointID, room: RoomID? = nil) {
        self.endpoint = endpoint
        self.room = room
    }
}

/// How long an endpoint or one of its rooms waits, so that a restart neither hurries nor forgets.
package struct StoredHold: Hashable, Sendable {
    /// In a row.
    package var failures: Int
    /// Those that were made for the event at the head of the room; 0 for an endpoint as a whole.
    package var attempts: Int
    /// When the wait ends, in milliseconds since 1970.
    package var end: Int64
    /// How long it is in all, in milliseconds: a clock that was set back makes it no longer than that.
    package var length: Int64

    package init(failures: Int, attempts: Int = 0, end: Int64, length: Int64) {
        self.failures = failures
        self.attempts = attempts
        self.end = end
        self.length = length
    }

    /// What is left of it, in milliseconds.
    package func rest(at wall: Int64) -> Int64 {
        let (rest, overflow) = end.subtractingReportingOverflow(wall)
        return overflow ? (end < 0 ? 0 : length) : min(max(rest, 0), length)
    }
}

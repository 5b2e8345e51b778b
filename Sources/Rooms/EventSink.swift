package import RoomsRuntime
package import RoomsWire

/// What a connection hands on, in order; `room` is the index into the specifications it was made with.
package enum SinkItem: Sendable {
    /// `position` is the room's once the event is committed; nil: the event has no place in a stream, it is live-only.
    case event(room: Int, Publication, position: RoomPosition?, isReplayed: Bool)
    /// `position` is the room's once the gap is committed.
    case gap(room: Int, RoomGap, position: RoomPosition)
    /// The room was joined, and what follows of it continues at `position`.
    ///
    /// For a room that had none this is the baseline: commit it before anything else.
    case joined(room: Int, position: RoomPosition?, isDurable: Bool)
    /// The room is not joined and is tried again only after a long pause.
    case failed(room: Int, code: UInt32, reason: ByteString)
    /// The server cannot take the room for now; it is tried again soon.
    case delayed(room: Int, code: UInt32, reason: ByteString)
    /// Somebody came into the room, or left it; `isOurs`: that was this connection.
    case member(room: Int, ClientInfo, isHere: Bool, isOurs: Bool)
    /// How many users are in the room, as the server counts them.
    case count(room: Int, users: UInt32)
    /// What came of a request of the app, by its number; nil: the connection ended, and it is not known.
    case answer(UInt64, ReplyBody?)
    /// The connection changed; no room is joined unless it is `connected` and the room said so since.
    case connection(ConnectionStatus)
}

package enum ConnectionStatus: Sendable, Equatable {
    case connecting
    case connected
    /// Lost or refused, and dialled again after `retryAfter`.
    ///
    /// `code` is the server's close or error code, 0 when there was none; `isTerminal`: it will not heal by itself soon.
    case waiting(code: UInt32, reason: ByteString, retryAfter: Duration, isTerminal: Bool)
    /// Closed cleanly because the sink was full for too long; dialled when intake resumes.
    case held
    case stopped
}

/// Where a connection hands its events: called on the connection's loop, once for all that one read brought.
package protocol EventSink: AnyObject, Sendable {
    /// Always takes; the answer says whether more may be read.
    func take(_ items: [SinkItem]) -> Intake
}

package enum Intake: Sendable {
    case open
    /// Stop reading until `RoomsConnection.resumeIntake`.
    case paused
}

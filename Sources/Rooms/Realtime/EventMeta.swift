/// What is known of an event beside its name and data.
public struct EventMeta: Hashable, Sendable {
    /// The user who sent it, as the server vouches for them; nil: the server itself.
    ///
    /// Empty for a user without a name.
    public let from: String?
    /// The event's place in what the room keeps, `<epoch>:<offset>`, for `history(before:)` and `join(_:after:)`; empty
    /// for an event that was not kept.
    ///
    /// Of the room's own events `joined` has the place behind which new ones follow, and the `error` of code `gap` the one
    /// behind what is missing: who keeps positions keeps these as well.
    public let id: String
    /// When it happened, in milliseconds since 1970: as its publisher said, else when it was received.
    public let at: Int64
    /// It was missed, and came through the room's history.
    public let replayed: Bool
}

/// One event of a room.
public struct RoomEvent: Hashable, Sendable {
    /// Its name; `message` for one that was published without.
    public let event: String
    /// What was published with it; binary for bytes that are not JSON.
    public let data: JSONValue
    /// Who, when, and its place in the room.
    public let meta: EventMeta
    /// The whole publication, byte for byte.
    public let bytes: [UInt8]
}

/// A part of what a room keeps.
public struct HistoryPage: Hashable, Sendable {
    /// Oldest first.
    public let events: [RoomEvent]
    /// There are older ones: give `events.first?.meta.id` as `before`.
    public let more: Bool
}

/// Somebody in a room.
public struct RoomMember: Hashable, Sendable {
    /// Empty for a user without a name.
    public let user: String
    /// The id of their connection: one user may be in the room several times.
    public let client: String
    /// What the app's token says of them; nil: nothing.
    public let info: JSONValue?
}

/// Where a room stands.
public enum RoomState: String, Hashable, Sendable {
    /// On its way in, or back in after a lost link.
    case joining
    /// In: events come.
    case joined
    /// Refused; `ready()` throws why.
    ///
    /// Tried again only after some minutes, unless the user was kicked.
    case failed
    /// Left by the app.
    case left
}

/// A handler that was registered with `on` or `onAny`.
public struct Listener: Hashable, Sendable {
    let number: UInt64
}

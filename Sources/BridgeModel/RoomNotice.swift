package import RoomsRuntime

/// What the bridge itself tells of a room, to the endpoints that ask for it.
///
/// It has no place in the room's stream.
package struct RoomNotice: Sendable {
    /// The raw value is the word of the configuration, and what stands behind `room.` in the type.
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        /// Somebody came or left.
        case member
        /// How many users are in the room.
        case count
        /// Whether the room is joined, and why not.
        case state

        /// One that says the same as the last of its kind is no news.
        package var isStanding: Bool { self != .member }
    }

    package let kind: Kind
    /// A JSON object without line ends.
    package let text: Payload
    /// Milliseconds since 1970.
    package let at: Int64

    package init(kind: Kind, text: Payload, at: Int64) {
        self.kind = kind
        self.text = text
        self.at = at
    }
}

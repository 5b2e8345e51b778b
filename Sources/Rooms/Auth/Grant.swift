package import RoomsRuntime

/// What lets a user into one room.
package struct Grant: Hashable, Sendable {
    /// Nil: the room is joined without one.
    package var token: Secret?
    /// Keys of 32 bytes for the room's sealed events, by key id.
    package var keys: [ByteString: Secret]

    package init(token: Secret? = nil, keys: [ByteString: Secret] = [:]) {
        self.token = token
        self.keys = keys
    }
}

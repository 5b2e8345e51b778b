package import RoomsRuntime

/// A room of one server: the key under `servers` in the configuration, and the room's name as bytes.
package struct RoomKey: Hashable, Sendable {
    package var server: ByteString
    package var room: ByteString

    package init(server: ByteString, room: ByteString) {
        self.server = server
        self.room = room
    }
}

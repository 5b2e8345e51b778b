internal import RoomsRuntime

/// Finds a room by the bytes of its name; the last one found is remembered, since events come in runs.
struct RoomIndex {
    private var rooms: [ByteString: Int]
    private var last = ByteString.empty
    private var lastRoom: Int?

    init(_ names: [ByteString]) {
        var rooms: [ByteString: Int] = [:]
        for (room, name) in names.enumerated() { rooms[name] = room }
        self.rooms = rooms
    }

    mutating func add(_ name: ByteString, _ room: Int) {
        rooms[name] = room
        lastRoom = nil
    }

    mutating func remove(_ name: ByteString) {
        rooms[name] = nil
        lastRoom = nil
    }

    mutating func find(_ name: ByteString) -> Int? {
        if let lastRoom, last == name { return lastRoom }
        guard let room = rooms[name] else { return nil }
        last = name
        lastRoom = room
        return room
    }
}

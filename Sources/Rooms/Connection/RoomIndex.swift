internal import RoomsRuntime

/// Finds a room by the bytes of its name; the last one found is remembered, since events come in runs.
struct RoomIndex {
    private let rooms: [ByteString: Int]
    private var last = ByteString.empty
    private var lastRoom: Int?

    init(_ names: [ByteString]) {
        var rooms: [ByteString: Int] = [:]
        for (room, name) in names.enumerated() { rooms[name] = room }
        self.rooms = rooms
    }

    mutating func find(_ name: ByteString) -> Int? {
        if let lastRoom, last == name { return lastRoom }
        guard let room = rooms[name] else { return nil }
        last = name
        lastRoom = room
        return room
    }
}

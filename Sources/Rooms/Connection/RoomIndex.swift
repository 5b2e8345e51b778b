internal import RoomsRuntime

/// Finds a room by the bytes of its name; those found lately are remembered, since the same rooms come again and again.
struct RoomIndex {
    private static let mostRecent = 1_024

    private var rooms: [ByteString: Int] = [:]
    /// By the ends of their names; a power of two.
    private var recent: [(name: ByteString, room: Int)?] = Array(repeating: nil, count: 16)

    init(_ names: [ByteString]) {
        for (room, name) in names.enumerated() { rooms[name] = room }
        growRecent()
    }

    mutating func add(_ name: ByteString, _ room: Int) {
        rooms[name] = room
        growRecent()
        name.bytes.withUnsafeBytes { recent[slot($0)] = nil }
    }

    mutating func remove(_ name: ByteString) {
        rooms[name] = nil
        name.bytes.withUnsafeBytes { recent[slot($0)] = nil }
    }

    func find(_ name: ByteString) -> Int? { rooms[name] }

    /// The same for a name that is only looked at.
    mutating func find(_ name: UnsafeRawBufferPointer) -> Int? {
        let slot = slot(name)
        if let found = recent[slot], found.name.equals(name) { return found.room }
        let name = ByteString(copying: name)
        guard let room = rooms[name] else { return nil }
        recent[slot] = (name, room)
        return room
    }

    private mutating func growRecent() {
        guard recent.count < min(rooms.count * 2, Self.mostRecent) else { return }
        recent = Array(repeating: nil, count: recent.count * 2)
        growRecent()
    }

    /// Names of rooms differ at their ends, mostly; those that do not only cost a look into the dictionary.
    private func slot(_ name: UnsafeRawBufferPointer) -> Int {
        var mixed = UInt64(truncatingIfNeeded: name.count)
        for byte in name.suffix(8) { mixed = mixed << 8 | UInt64(byte) }
        mixed = mixed &* 0x9e37_79b9_7f4a_7c15
        return Int(truncatingIfNeeded: mixed >> 40) & (recent.count - 1)
    }
}

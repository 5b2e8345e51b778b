internal import RoomsRuntime
internal import RoomsWire

/// Rooms that the server put this client into and that nobody joined: what a join has to know of them.
///
/// Their events are dropped. Only so many are remembered, since a server may name as many as it likes.
struct ServerSideRooms {
    /// Servers allow a connection 128 rooms unless they are told otherwise.
    static let most = 1_024

    private var rooms: [ByteString: SubscribeResult] = [:]

    var count: Int { rooms.count }

    /// False when there are too many already.
    mutating func add(_ name: ByteString, _ result: SubscribeResult) -> Bool {
        guard rooms.count < Self.most || rooms[name] != nil else { return false }
        var kept = result
        kept.publications = []
        kept.data = []
        if let last = result.publications.last(where: { $0.offset > 0 }) { kept.offset = max(kept.offset, last.offset) }
        // Whoever joins it now was not there for what the server recovered.
        kept.recovered = false
        rooms[name] = kept
        return true
    }

    /// An event of it was dropped; false when the room is none of these.
    mutating func pass(_ name: ByteString, _ publication: Publication) -> Bool {
        guard var room = rooms[name] else { return false }
        if room.epoch.isEmpty { room.epoch = publication.epoch }
        room.offset = max(room.offset, publication.offset)
        rooms[name] = room
        return true
    }

    mutating func take(_ name: ByteString) -> SubscribeResult? { rooms.removeValue(forKey: name) }

    mutating func removeAll() { rooms.removeAll() }
}

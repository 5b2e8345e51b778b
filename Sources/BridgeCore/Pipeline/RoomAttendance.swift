internal import BridgeModel

/// Which rooms are left for now: those with an endpoint that holds too much of the buffer.
struct RoomAttendance: Sendable {
    struct Change: Equatable, Sendable {
        /// An index into the rooms.
        var room: Int
        var isResting: Bool
    }

    private let rooms: [EndpointID: [Int]]
    /// How many of its endpoints hold too much, for each room.
    private var crowded: [Int]

    /// `endpoints`: for each room all that get anything of it.
    init(endpoints: [[EndpointID]]) {
        var rooms: [EndpointID: [Int]] = [:]
        for (room, endpoints) in endpoints.enumerated() {
            for endpoint in endpoints { rooms[endpoint, default: []].append(room) }
        }
        self.rooms = rooms
        crowded = endpoints.map { _ in 0 }
    }

    func isResting(_ room: Int) -> Bool { crowded[room] > 0 }

    /// Said once for each change.
    mutating func endpoint(_ endpoint: EndpointID, isCrowded: Bool) -> [Change] {
        var changes: [Change] = []
        for room in rooms[endpoint] ?? [] {
            crowded[room] += isCrowded ? 1 : -1
            if crowded[room] == (isCrowded ? 1 : 0) { changes.append(Change(room: room, isResting: isCrowded)) }
        }
        return changes
    }
}

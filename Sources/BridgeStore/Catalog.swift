internal import BridgeModel
internal import RoomsRuntime

/// Everything the store holds in memory: rooms, lanes, routes and the sums, as the last commit left them.
///
/// A transaction changes it in place and notes what it touched, once each: the commit writes exactly that, and a rollback
/// puts it back.
final class Catalog {
    struct Room {
        let id: RoomID
        let key: RoomKey
        var state: State
        /// Places in `lanes`.
        var lanes: [Int] = []
        /// The route that was asked for last, and the lanes it means here.
        var route: Int64 = 0
        var routeLanes: [Int] = []
        var stamp: UInt64 = 0

        struct State: Equatable {
            var position: Position?
            var seq: Int64 = 0
            /// The id of the room's last row, kept or not.
            var tail: Int64 = 0
            /// The last notices that are no news a second time.
            var told: [RoomNotice.Kind: ByteString] = [:]
        }
    }

    struct Lane {
        let id: Int64
        /// A place in `rooms`.
        let room: Int
        let endpoint: EndpointID
        var state = State()
        var stamp: UInt64 = 0

        struct State {
            var acknowledged: Int64 = 0
            var next: Int64 = 1
            var tail: Int64 = 0
            var waitingRows: Int64 = 0
            var waitingBytes: Int64 = 0
            /// Dead letters since the last that was accepted.
            var skipped: Int64 = 0
            /// What it lost and was not told yet, in order; all below `next`.
            var losses: [Loss] = []
        }
    }

    struct Tally: Equatable {
        var nextRow: Int64 = 1
        var waitingRows: Int64 = 0
        var waitingBytes: Int64 = 0
        var sweepFrom: Int64 = 0
        var sweepTo: Int64 = -1
    }

    private(set) var rooms: [Room] = []
    private(set) var lanes: [Lane] = []
    var tally = Tally()
    /// What each endpoint has not settled, as the last commit left it.
    private(set) var held: [EndpointID: Int64] = [:]
    /// Per id of a route, its endpoints that are configured; an id that is not here has none.
    private var routes: [Int64: [EndpointID]] = [:]
    /// Per id of a room, its place in `rooms`, -1 for none.
    private var slots: [Int32] = []
    private var nextLane: Int64 = 1

    // What the transaction under way touched.
    private var stamp: UInt64 = 0
    private(set) var touchedRooms: [(slot: Int, before: Room.State)] = []
    private(set) var touchedLanes: [(index: Int, before: Lane.State)] = []
    private var lanesBefore = 0
    private var tallyBefore = Tally()

    // MARK: loading

    /// False when the id is absurd or there twice.
    func add(_ room: Room) -> Bool {
        let id = room.id.rawValue
        guard id > 0, id < 1 << 31 else { return false }
        while slots.count <= id { slots.append(-1) }
        guard slots[Int(id)] < 0 else { return false }
        slots[Int(id)] = Int32(rooms.count)
        rooms.append(room)
        return true
    }

    /// False when its room is not there or has such a lane already.
    func add(_ lane: Lane) -> Bool {
        guard rooms.indices.contains(lane.room), self.lane(of: lane.endpoint, in: lane.room) == nil else {
            return false
        }
        rooms[lane.room].lanes.append(lanes.count)
        lanes.append(lane)
        held[lane.endpoint, default: 0] += lane.state.waitingBytes
        nextLane = max(nextLane, lane.id + 1)
        return true
    }

    func add(route: Int64, endpoints: [EndpointID]) {
        routes[route] = endpoints
    }

    // MARK: looking up

    func slot(of room: RoomID) -> Int? {
        let id = room.rawValue
        guard id > 0, id < Int64(slots.count), slots[Int(id)] >= 0 else { return nil }
        return Int(slots[Int(id)])
    }

    func lane(of endpoint: EndpointID, in slot: Int) -> Int? {
        rooms[slot].lanes.first { lanes[$0].endpoint == endpoint }
    }

    func endpoints(of route: Int64) -> [EndpointID] {
        routes[route] ?? []
    }

    func route(_ route: Int64, has endpoint: EndpointID) -> Bool {
        routes[route]?.contains(endpoint) ?? false
    }

    /// Every lane that the row belongs to has settled it.
    func isSettled(row: Int64, in slot: Int, route: Int64) -> Bool {
        guard let endpoints = routes[route] else { return true }
        for index in rooms[slot].lanes where lanes[index].state.next <= row {
            if endpoints.contains(lanes[index].endpoint) { return false }
        }
        return true
    }

    // MARK: a transaction

    func begin() {
        stamp += 1
        touchedRooms.removeAll(keepingCapacity: true)
        touchedLanes.removeAll(keepingCapacity: true)
        lanesBefore = lanes.count
        tallyBefore = tally
    }

    /// Puts everything back as `begin` found it.
    func rollBack() {
        for (slot, before) in touchedRooms { rooms[slot].state = before }
        for (index, before) in touchedLanes { lanes[index].state = before }
        while lanes.count > lanesBefore {
            let lane = lanes.removeLast()
            rooms[lane.room].lanes.removeAll { $0 == lanes.count }
            rooms[lane.room].route = 0
            nextLane = lane.id
        }
        tally = tallyBefore
    }

    /// What was changed is on disk.
    func committed() {
        for (index, before) in touchedLanes {
            let lane = lanes[index]
            held[lane.endpoint, default: 0] += lane.state.waitingBytes - before.waitingBytes
        }
        touchedLanes.removeAll(keepingCapacity: true)
    }

    var tallyChanged: Bool { tally != tallyBefore }

    func change<Result>(room slot: Int, _ body: (inout Room.State) -> Result) -> Result {
        if rooms[slot].stamp != stamp {
            rooms[slot].stamp = stamp
            touchedRooms.append((slot, rooms[slot].state))
        }
        return body(&rooms[slot].state)
    }

    func change<Result>(lane index: Int, _ body: (inout Lane.State) -> Result) -> Result {
        if lanes[index].stamp != stamp {
            lanes[index].stamp = stamp
            touchedLanes.append((index, lanes[index].state))
        }
        return body(&lanes[index].state)
    }

    /// The lanes of a room that a route means; those that are new are made.
    func lanes(of slot: Int, for route: Int64) -> [Int] {
        if rooms[slot].route == route { return rooms[slot].routeLanes }
        let found = endpoints(of: route).map { endpoint in
            if let index = lane(of: endpoint, in: slot) { return index }
            let index = lanes.count
            lanes.append(Lane(id: nextLane, room: slot, endpoint: endpoint))
            nextLane += 1
            rooms[slot].lanes.append(index)
            return index
        }
        rooms[slot].route = route
        rooms[slot].routeLanes = found
        return found
    }
}

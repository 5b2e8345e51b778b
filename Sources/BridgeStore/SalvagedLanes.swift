internal import BridgeModel
internal import BridgeSQLite
internal import RoomsRuntime

/// Finds out from the events that were saved what rooms and lanes must say, and puts gaps where events are missing.
///
/// Where an event is missing the next one of its room names it: its id is that of the gap.
struct SalvagedLanes {
    private struct LaneKey: Hashable {
        var room: Int64
        var endpoint: Int64
    }

    private struct Lane {
        var id: Int64?
        var acknowledged: Int64 = 0
        var next: Int64
        var tail: Int64 = 0
        /// The last row that was stored for it, there or not.
        var oldTail: Int64 = 0
        var skipped: Int64 = 0
        var rows: Int64 = 0
        var bytes: Int64 = 0
    }

    private struct Room {
        /// Nil: not known.
        var position: Position?
        var seq: Int64 = 0
        /// Of its last row, there or not.
        var tail: Int64 = 0
        /// The last one that is there.
        var last: Int64 = 0
        var lastSeq: Int64 = 0
        var lastPlace: Place?
        var lastRoute: Int64 = 0
    }

    private struct Place {
        var epoch: ByteString
        var incarnation: UInt32
        var from: UInt64
        var to: UInt64?
    }

    private struct Hole {
        var row: Int64
        var room: Int64
        var route: Int64
        var prev: Int64
        var seq: Int64
        var gap: Gap
    }

    private static let action = "saving a damaged store"

    private let database: Database
    private let wall = SystemClock.wallMilliseconds
    private var rooms: [Int64: Room] = [:]
    private var lanes: [LaneKey: Lane] = [:]
    private var routes: [Int64: [EndpointID]] = [:]
    /// Those that are to be written anew.
    private var lostRoutes: [Int64: [EndpointID]] = [:]
    private var holes: [Hole] = []
    private var lastRow: Int64 = 0
    private var waiting: (rows: Int64, bytes: Int64) = (0, 0)

    var gaps: Int64 { Int64(holes.count) }

    init(_ database: Database) throws(SQLiteError) {
        self.database = database
        try readRoutes()
        try readRooms()
        try readLanes()
        lastRow = try database.integer("SELECT next_row FROM tally", doing: Self.action) - 1
        var found: [Hole] = []
        try database.prepare(
            "SELECT id, room, route, prev, seq, head, length(payload) FROM events ORDER BY id",
            doing: Self.action
        ).query { (row) throws(SQLiteError) in
            if let hole = meet(row) { found.append(hole) }
            return true
        }
        holes = found
        for id in rooms.keys.sorted() { endRoom(id) }
    }

    func write() throws(SQLiteError) {
        try writeRoutes()
        try writeHoles()
        try writeRooms()
        try writeLanes()
        // What no lane waits for is found by the writer.
        try database.execute(
            """
            REPLACE INTO tally VALUES
            (1, \(lastRow + 1), \(waiting.rows), \(waiting.bytes), 1, \(lastRow));
            """,
            doing: Self.action
        )
    }

    // MARK: reading

    private mutating func readRoutes() throws(SQLiteError) {
        var found: [Int64: [EndpointID]] = [:]
        var endpoints: Set<Int64> = []
        try database.prepare("SELECT id FROM endpoints", doing: Self.action).query { (row) throws(SQLiteError) in
            endpoints.insert(row.integer(0))
            return true
        }
        try database.prepare("SELECT id, endpoints FROM routes", doing: Self.action).query {
            (row) throws(SQLiteError) in
            found[row.integer(0)] = Route.decode(row.bytes(1)).filter { endpoints.contains($0.rawValue) }
            return true
        }
        routes = found
        // A set that is lost: everybody who waited for anything in the rooms of its events.
        var lost: [(Int64, [Int64])] = []
        try database.prepare(
            """
            SELECT DISTINCT route, endpoint FROM events JOIN lanes USING (room)
            WHERE route NOT IN (SELECT id FROM routes) ORDER BY route, endpoint
            """,
            doing: Self.action
        ).query { (row) throws(SQLiteError) in
            if lost.last?.0 != row.integer(0) { lost.append((row.integer(0), [])) }
            if endpoints.contains(row.integer(1)) { lost[lost.count - 1].1.append(row.integer(1)) }
            return true
        }
        for (route, endpoints) in lost { lostRoutes[route] = endpoints.map { EndpointID($0) } }
        routes.merge(lostRoutes) { known, _ in known }
    }

    private mutating func readRooms() throws(SQLiteError) {
        var found: [Int64: Room] = [:]
        try database.prepare(
            "SELECT rooms.id, seq, tail, epoch, offset, incarnation FROM rooms LEFT JOIN positions ON room = rooms.id",
            doing: Self.action
        ).query { (row) throws(SQLiteError) in
            var room = Room(seq: row.integer(1), tail: row.integer(2))
            if !row.isNull(3) {
                room.position = Position(
                    epoch: ByteString(copying: row.bytes(3)),
                    offset: UInt64(bitPattern: row.integer(4)),
                    incarnation: UInt32(truncatingIfNeeded: row.integer(5))
                )
            }
            found[row.integer(0)] = room
            return true
        }
        rooms = found
    }

    private mutating func readLanes() throws(SQLiteError) {
        var found: [LaneKey: Lane] = [:]
        try database.prepare(
            "SELECT id, room, endpoint, acknowledged, next, tail, skipped FROM lanes",
            doing: Self.action
        ).query { (row) throws(SQLiteError) in
            var lane = Lane(id: row.integer(0), acknowledged: row.integer(3), next: row.integer(4))
            lane.oldTail = row.integer(5)
            lane.skipped = row.integer(6)
            found[LaneKey(room: row.integer(1), endpoint: row.integer(2))] = lane
            return true
        }
        lanes = found
    }

    // MARK: event by event

    /// Counts a row for its lanes; the hole in front of it if somebody waits for what was there.
    private mutating func meet(_ row: Row) -> Hole? {
        let (id, number, route, prev, seq) = (
            row.integer(0), row.integer(1), row.integer(2), row.integer(3), row.integer(4)
        )
        let head = row.bytes(5)
        let size = Int64(head.count) + row.integer(6) + Schema.rowOverhead
        lastRow = max(lastRow, id)
        waiting = (waiting.rows + 1, waiting.bytes + size)
        guard let room = rooms[number] else { return nil }
        let place = RowHead.range(head).map {
            Place(epoch: $0.epoch, incarnation: $0.incarnation, from: $0.from, to: $0.to)
        }
        var hole: Hole?
        if prev > room.last, prev < id, isWaited(for: prev, in: number, route) {
            hole = Hole(
                row: prev,
                room: number,
                route: route,
                prev: room.last,
                seq: max(1, seq - 1),
                gap: Self.gap(behind: room.lastPlace, before: place)
            )
        }
        if let hole { count(hole) }
        count(row: id, seq: seq, size: size, in: number, route)
        rooms[number]?.last = id
        rooms[number]?.lastSeq = seq
        rooms[number]?.lastPlace = place
        rooms[number]?.lastRoute = route
        return hole
    }

    private mutating func count(_ hole: Hole) {
        let size = Int64(head(of: hole).count) + Schema.rowOverhead
        waiting = (waiting.rows + 1, waiting.bytes + size)
        count(row: hole.row, seq: hole.seq, size: size, in: hole.room, hole.route)
    }

    private mutating func count(row: Int64, seq: Int64, size: Int64, in room: Int64, _ route: Int64) {
        for endpoint in routes[route] ?? [] {
            let key = LaneKey(room: room, endpoint: endpoint.rawValue)
            var lane = lanes[key] ?? Lane(acknowledged: seq - 1, next: row)
            if row >= lane.next {
                if lane.rows == 0 { lane.next = row }
                lane.rows += 1
                lane.bytes += size
            }
            lane.tail = max(lane.tail, row)
            lanes[key] = lane
        }
    }

    private func isWaited(for row: Int64, in room: Int64, _ route: Int64) -> Bool {
        (routes[route] ?? []).contains { endpoint in
            // Of a lane that is not known any more nobody can tell: what may be missing is told.
            lanes[LaneKey(room: room, endpoint: endpoint.rawValue)].map { $0.next <= row } ?? true
        }
    }

    /// The end of a room: what it said of itself holds as far as it goes beyond what is there.
    private mutating func endRoom(_ id: Int64) {
        guard var room = rooms[id] else { return }
        let route = room.lastRoute > 0 ? room.lastRoute : routeOfLanes(in: id)
        if room.tail > room.last, isWaited(for: room.tail, in: id, route), hasStored(room.tail, in: id, route) {
            let end = room.position.map {
                Place(epoch: $0.epoch, incarnation: $0.incarnation, from: $0.offset + 1, to: nil)
            }
            let hole = Hole(
                row: room.tail,
                room: id,
                route: route,
                prev: room.last,
                seq: max(1, room.seq),
                gap: Self.gap(behind: room.lastPlace, before: end)
            )
            count(hole)
            holes.append(hole)
        }
        room.tail = max(room.tail, room.last)
        room.seq = max(room.seq, room.lastSeq)
        if room.position == nil, let place = room.lastPlace {
            room.position = Position(epoch: place.epoch, offset: place.to ?? place.from, incarnation: place.incarnation)
        }
        rooms[id] = room
    }

    private func hasStored(_ row: Int64, in room: Int64, _ route: Int64) -> Bool {
        (routes[route] ?? []).contains { (lanes[LaneKey(room: room, endpoint: $0.rawValue)]?.oldTail ?? 0) >= row }
    }

    /// Of a room of which no event is left.
    private func routeOfLanes(in room: Int64) -> Int64 {
        let endpoints = Set(lanes.keys.lazy.filter { $0.room == room }.map(\.endpoint))
        return routes.keys.sorted().first { Set(routes[$0]?.map(\.rawValue) ?? []) == endpoints } ?? 0
    }

    private static func gap(behind last: Place?, before next: Place?) -> Gap {
        let known = next ?? last
        let isOneStream = last.map { $0.epoch == known?.epoch && $0.incarnation == known?.incarnation } ?? false
        let from = isOneStream ? last.map { ($0.to ?? $0.from) + 1 } : nil
        let to = next.flatMap { $0.from > 0 ? $0.from - 1 : nil }
        return Gap(
            reason: .damaged,
            epoch: known?.epoch ?? .empty,
            from: from ?? 0,
            to: to,
            incarnation: known?.incarnation ?? 0
        )
    }

    // MARK: writing

    private func head(of hole: Hole) -> [UInt8] {
        var head: [UInt8] = []
        RowHead.encode(hole.gap, at: wall, into: &head)
        return head
    }

    private func writeRoutes() throws(SQLiteError) {
        let insert = try database.prepare("INSERT INTO routes VALUES (?1, ?2)", doing: Self.action)
        for (id, endpoints) in lostRoutes {
            try Route.encode(endpoints).withBytes { (text) throws(SQLiteError) in
                try insert.run { row in
                    row.set(1, id)
                    row.set(2, text)
                }
            }
        }
    }

    private func writeHoles() throws(SQLiteError) {
        let insert = try database.prepare(
            "INSERT INTO events VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, x'')",
            doing: Self.action
        )
        for hole in holes {
            try head(of: hole).withBytes { (head) throws(SQLiteError) in
                let checksum = Ledger.checksum(
                    id: hole.row,
                    room: hole.room,
                    route: hole.route,
                    prev: hole.prev,
                    seq: hole.seq,
                    head: head,
                    payload: UnsafeRawBufferPointer(start: nil, count: 0)
                )
                try insert.run { row in
                    row.set(1, hole.row)
                    row.set(2, hole.room)
                    row.set(3, hole.route)
                    row.set(4, hole.prev)
                    row.set(5, hole.seq)
                    row.set(6, Int64(checksum))
                    row.set(7, head)
                }
            }
        }
    }

    private func writeRooms() throws(SQLiteError) {
        let replace = try database.prepare("REPLACE INTO positions VALUES (?1, ?2, ?3, ?4, ?5, ?6)", doing: Self.action)
        for (id, room) in rooms where room.seq > 0 || room.position != nil {
            try (room.position?.epoch.bytes ?? []).withBytes { (epoch) throws(SQLiteError) in
                try replace.run { row in
                    row.set(1, id)
                    row.set(2, room.seq)
                    row.set(3, room.tail)
                    if room.position == nil { row.setNull(4) } else { row.set(4, epoch) }
                    row.set(5, Int64(bitPattern: room.position?.offset ?? 0))
                    row.set(6, Int64(room.position?.incarnation ?? 0))
                }
            }
        }
    }

    private func writeLanes() throws(SQLiteError) {
        let replace = try database.prepare(
            "REPLACE INTO lanes VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            doing: Self.action
        )
        var highest = lanes.values.compactMap(\.id).max() ?? 0
        for (key, lane) in lanes {
            if lane.id == nil { highest += 1 }
            let tail = max(lane.tail, lane.oldTail)
            try replace.run { row in
                row.set(1, lane.id ?? highest)
                row.set(2, key.room)
                row.set(3, key.endpoint)
                row.set(4, lane.acknowledged)
                row.set(5, lane.rows == 0 ? max(lane.next, tail + 1) : lane.next)
                row.set(6, lane.rows == 0 ? tail : lane.tail)
                row.set(7, lane.rows)
                row.set(8, lane.bytes)
                row.set(9, lane.skipped)
            }
        }
    }
}

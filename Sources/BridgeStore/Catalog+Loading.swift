internal import BridgeModel
internal import BridgeSQLite
internal import RoomsRuntime

extension Catalog {
    /// Reads everything but the events; of those, the highest id.
    convenience init(reading database: Database, logger: Logger) throws(SQLiteError) {
        self.init()
        try readTally(database)
        try readRooms(database, logger)
        let endpoints = try readEndpoints(database)
        try readRoutes(database, endpoints)
        try readLanes(database, endpoints, logger)
    }

    private func readTally(_ database: Database) throws(SQLiteError) {
        var tally = Tally()
        let statement = try database.prepare(
            "SELECT next_row, waiting_rows, waiting_bytes, sweep_from, sweep_to FROM tally",
            doing: "reading the sums"
        )
        try statement.query { (row) throws(SQLiteError) in
            tally.nextRow = row.integer(0)
            tally.waitingRows = row.integer(1)
            tally.waitingBytes = row.integer(2)
            tally.sweepFrom = row.integer(3)
            tally.sweepTo = row.integer(4)
            return false
        }
        // An id must never be given twice, whatever a damaged tally says.
        let highest = try database.integer("SELECT max(id) FROM events", doing: "reading the highest id")
        tally.nextRow = max(tally.nextRow, highest + 1)
        self.tally = tally
    }

    private func readRooms(_ database: Database, _ logger: Logger) throws(SQLiteError) {
        var found: [Room] = []
        let statement = try database.prepare(
            """
            SELECT rooms.id, server, name, seq, tail, epoch, offset, incarnation
            FROM rooms LEFT JOIN positions ON positions.room = rooms.id ORDER BY rooms.id
            """,
            doing: "reading the rooms"
        )
        try statement.query { (row) throws(SQLiteError) in
            var state = Room.State()
            state.seq = row.integer(3)
            state.tail = row.integer(4)
            if !row.isNull(5) {
                state.position = Position(
                    epoch: ByteString(copying: row.bytes(5)),
                    offset: UInt64(bitPattern: row.integer(6)),
                    incarnation: UInt32(truncatingIfNeeded: row.integer(7))
                )
            }
            let key = RoomKey(server: ByteString(copying: row.bytes(1)), room: ByteString(copying: row.bytes(2)))
            found.append(Room(id: RoomID(row.integer(0)), key: key, state: state))
            return true
        }
        let told = try readTold(database)
        for var room in found {
            room.state.told = told[room.id.rawValue] ?? [:]
            if !add(room) { logger.error("a room has an id that cannot be", LogField(.room, room.key.room)) }
        }
    }

    private func readTold(_ database: Database) throws(SQLiteError) -> [Int64: [RoomNotice.Kind: ByteString]] {
        var told: [Int64: [RoomNotice.Kind: ByteString]] = [:]
        try database.prepare("SELECT room, kind, text FROM told", doing: "reading what was told")
            .query { (row) throws(SQLiteError) in
                guard let kind = RoomNotice.Kind(rawValue: String(decoding: row.bytes(1), as: UTF8.self)) else {
                    return true
                }
                told[row.integer(0), default: [:]][kind] = ByteString(copying: row.bytes(2))
                return true
            }
        return told
    }

    private func readEndpoints(_ database: Database) throws(SQLiteError) -> Set<EndpointID> {
        var found: Set<EndpointID> = []
        try database.prepare("SELECT id FROM endpoints", doing: "reading the endpoints")
            .query { (row) throws(SQLiteError) in
                found.insert(EndpointID(row.integer(0)))
                return true
            }
        return found
    }

    private func readRoutes(_ database: Database, _ endpoints: Set<EndpointID>) throws(SQLiteError) {
        var found: [(Int64, [EndpointID])] = []
        try database.prepare("SELECT id, endpoints FROM routes", doing: "reading the routes")
            .query { (row) throws(SQLiteError) in
                found.append((row.integer(0), Route.decode(row.bytes(1)).filter(endpoints.contains)))
                return true
            }
        for (id, endpoints) in found { add(route: id, endpoints: endpoints) }
    }

    private func readLanes(
        _ database: Database,
        _ endpoints: Set<EndpointID>,
        _ logger: Logger
    ) throws(SQLiteError) {
        var found: [Lane] = []
        let statement = try database.prepare(
            """
            SELECT id, room, endpoint, acknowledged, next, tail, waiting_rows, waiting_bytes, skipped
            FROM lanes ORDER BY id
            """,
            doing: "reading the lanes"
        )
        try statement.query { (row) throws(SQLiteError) in
            let endpoint = EndpointID(row.integer(2))
            guard let slot = slot(of: RoomID(row.integer(1))), endpoints.contains(endpoint) else {
                logger.error(
                    "a lane belongs to a room or an endpoint that is not there",
                    LogField(.row, row.integer(0))
                )
                return true
            }
            var lane = Lane(id: row.integer(0), room: slot, endpoint: endpoint)
            lane.state.acknowledged = row.integer(3)
            lane.state.next = row.integer(4)
            lane.state.tail = row.integer(5)
            lane.state.waitingRows = row.integer(6)
            lane.state.waitingBytes = row.integer(7)
            lane.state.skipped = row.integer(8)
            found.append(lane)
            return true
        }
        let losses = try readLosses(database)
        for var lane in found {
            lane.state.losses = losses[lane.id] ?? []
            if !add(lane) { logger.error("a lane is there twice", LogField(.row, lane.id)) }
        }
    }

    private func readLosses(_ database: Database) throws(SQLiteError) -> [Int64: [Loss]] {
        var losses: [Int64: [Loss]] = [:]
        let statement = try database.prepare(
            "SELECT lane, row, seq, at, first, last, epoch, incarnation, damaged FROM losses ORDER BY lane, row",
            doing: "reading what was lost"
        )
        try statement.query { (row) throws(SQLiteError) in
            let loss = Loss(
                reason: row.integer(8) == 0 ? .retention : .damaged,
                epoch: ByteString(copying: row.bytes(6)),
                incarnation: UInt32(truncatingIfNeeded: row.integer(7)),
                from: UInt64(bitPattern: row.integer(4)),
                to: row.isNull(5) ? nil : UInt64(bitPattern: row.integer(5)),
                row: row.integer(1),
                seq: row.integer(2),
                at: row.integer(3)
            )
            losses[row.integer(0), default: []].append(loss)
            return true
        }
        return losses
    }
}

/// How a route's endpoints are written: their ids in order, with blanks between.
enum Route {
    static func encode(_ endpoints: [EndpointID]) -> [UInt8] {
        Array(endpoints.map { "\($0.rawValue)" }.joined(separator: " ").utf8)
    }

    static func decode(_ text: UnsafeRawBufferPointer) -> [EndpointID] {
        text.split(separator: UInt8(ascii: " ")).compactMap { part in
            Int64(String(decoding: part, as: UTF8.self)).map(EndpointID.init)
        }
    }
}

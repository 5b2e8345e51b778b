internal import BridgeModel
internal import BridgeSQLite
internal import RoomsRuntime

extension Ledger {
    /// Makes the store know these rooms, endpoints and routes, and forget the endpoints that are not among them.
    ///
    /// `routes` are sets of indices into `endpoints`.
    func configure(
        rooms: [RoomKey],
        endpoints: [ByteString],
        losing rules: [LossRule] = [],
        routes: [[Int]]
    ) throws(SQLiteError) -> StoreSnapshot {
        var roomIDs: [RoomID] = []
        var endpointIDs: [EndpointID] = []
        var routeIDs: [RouteID] = []
        try transact { () throws(SQLiteError) in
            roomIDs = try place(rooms)
            endpointIDs = try place(endpoints)
            try dropEndpoints(except: endpointIDs)
            let sets = routes.map { route in Set(route.map { endpointIDs[$0] }).sorted() }
            routeIDs = try place(sets)
        }
        catalog = try Catalog(reading: database, logger: logger)
        counts.waitingRows = catalog.tally.waitingRows
        counts.waitingBytes = catalog.tally.waitingBytes
        endpointNames = Dictionary(zip(endpointIDs, endpoints)) { first, _ in first }
        lossRules = Dictionary(zip(endpointIDs, rules)) { first, _ in first }
        noteLostRooms()
        let holds = try holds()
        return StoreSnapshot(
            storeID: storeID,
            rooms: roomIDs,
            positions: roomIDs.map { id in catalog.slot(of: id).flatMap { catalog.rooms[$0].state.position } },
            endpoints: endpointIDs,
            holds: endpointIDs.map { holds[HoldScope(endpoint: $0)] },
            routes: routeIDs,
            lanes: laneStates(holds),
            losses: untoldLosses(),
            lastCommitted: lastRow
        )
    }

    /// Rooms that lost their position, or all, where nobody knows any more who waited for what.
    private func noteLostRooms() {
        guard let salvaged else { return }
        for slot in catalog.rooms.indices {
            let state = catalog.rooms[slot].state
            if salvaged.hasNoEndpoints || state == Catalog.Room.State() { lostRooms[slot] = state.seq }
        }
    }

    private func laneStates(_ holds: [HoldScope: StoredHold]) -> [LaneState] {
        catalog.lanes.filter {
            $0.state.waitingRows > 0 || $0.state.acknowledged > 0 || $0.state.skipped > 0 || !$0.state.losses.isEmpty
        }.map { lane in
            let room = catalog.rooms[lane.room]
            var state = LaneState(
                lane: BridgeModel.Lane(endpoint: lane.endpoint, room: room.id),
                room: room.key,
                acknowledged: lane.state.acknowledged,
                skipped: lane.state.skipped,
                next: RowID(lane.state.next),
                tail: RowID(lane.state.tail),
                waitingRows: lane.state.waitingRows,
                waitingBytes: lane.state.waitingBytes
            )
            state.hold = holds[HoldScope(endpoint: lane.endpoint, room: room.id)]
            return state
        }
    }

    private func place(_ keys: [RoomKey]) throws(SQLiteError) -> [RoomID] {
        var known: [RoomKey: RoomID] = [:]
        var highest: Int64 = 0
        for room in catalog.rooms {
            known[room.key] = room.id
            highest = max(highest, room.id.rawValue)
        }
        let insert = try database.prepare("INSERT INTO rooms VALUES (?1, ?2, ?3)", doing: "storing a room")
        var ids: [RoomID] = []
        for key in keys {
            if let id = known[key] {
                ids.append(id)
                continue
            }
            highest += 1
            try key.server.bytes.withBytes { (server) throws(SQLiteError) in
                try key.room.bytes.withBytes { (name) throws(SQLiteError) in
                    try insert.run { row in
                        row.set(1, highest)
                        row.set(2, server)
                        row.set(3, name)
                    }
                }
            }
            known[key] = RoomID(highest)
            ids.append(RoomID(highest))
        }
        return ids
    }

    private func place(_ names: [ByteString]) throws(SQLiteError) -> [EndpointID] {
        var known = try storedEndpoints()
        let insert = try database.prepare("INSERT INTO endpoints (name) VALUES (?1)", doing: "storing an endpoint")
        for name in names where known[name] == nil {
            try name.bytes.withBytes { (bytes) throws(SQLiteError) in try insert.run { $0.set(1, bytes) } }
            let id = try database.integer("SELECT last_insert_rowid()", doing: "storing an endpoint")
            known[name] = EndpointID(id)
        }
        return names.compactMap { known[$0] }
    }

    private func storedEndpoints() throws(SQLiteError) -> [ByteString: EndpointID] {
        var known: [ByteString: EndpointID] = [:]
        try database.prepare("SELECT id, name FROM endpoints", doing: "reading the endpoints")
            .query { (row) throws(SQLiteError) in
                known[ByteString(copying: row.bytes(1))] = EndpointID(row.integer(0))
                return true
            }
        return known
    }

    private func place(_ sets: [[EndpointID]]) throws(SQLiteError) -> [RouteID] {
        var known: [[EndpointID]: RouteID] = [:]
        var highest: Int64 = 0
        try database.prepare("SELECT id, endpoints FROM routes", doing: "reading the routes")
            .query { (row) throws(SQLiteError) in
                known[Route.decode(row.bytes(1))] = RouteID(row.integer(0))
                highest = max(highest, row.integer(0))
                return true
            }
        let insert = try database.prepare("INSERT INTO routes VALUES (?1, ?2)", doing: "storing a route")
        var ids: [RouteID] = []
        for set in sets {
            if let id = known[set] {
                ids.append(id)
                continue
            }
            highest += 1
            try Route.encode(set).withBytes { (text) throws(SQLiteError) in
                try insert.run { row in
                    row.set(1, highest)
                    row.set(2, text)
                }
            }
            known[set] = RouteID(highest)
            ids.append(RouteID(highest))
        }
        return ids
    }

    /// Drops the lanes of endpoints that are not configured any more; the sweep takes what only they waited for.
    private func dropEndpoints(except kept: [EndpointID]) throws(SQLiteError) {
        let gone = try storedEndpoints().filter { !kept.contains($0.value) }
        for (name, id) in gone.sorted(by: { $0.value < $1.value }) {
            var waiting: Int64 = 0
            for lane in catalog.lanes where lane.endpoint == id && lane.state.waitingRows > 0 {
                waiting += lane.state.waitingRows
                let from = hasSweep ? catalog.tally.sweepFrom : lane.state.next
                catalog.tally.sweepFrom = min(from, lane.state.next)
                catalog.tally.sweepTo = max(catalog.tally.sweepTo, lane.state.tail)
            }
            try database.prepare(
                "DELETE FROM losses WHERE lane IN (SELECT id FROM lanes WHERE endpoint = ?1)",
                doing: "dropping an endpoint"
            )
            .run { $0.set(1, id.rawValue) }
            try database.prepare("DELETE FROM lanes WHERE endpoint = ?1", doing: "dropping an endpoint")
                .run { $0.set(1, id.rawValue) }
            try database.prepare("DELETE FROM endpoints WHERE id = ?1", doing: "dropping an endpoint")
                .run { $0.set(1, id.rawValue) }
            try dropDeadLetters(of: id, name)
            try dropHolds(of: id)
            if waiting > 0 {
                logger.warning(
                    "an endpoint is not configured any more: what waited for it is dropped",
                    LogField(.endpoint, name),
                    LogField(.count, waiting)
                )
            } else {
                logger.notice("an endpoint is not configured any more", LogField(.endpoint, name))
            }
        }
    }
}

internal import BridgeModel
internal import BridgeSQLite
internal import RoomsRuntime

/// Records that are given up for one endpoint because its operator said so.
extension Ledger {
    /// How far a pass over the rows came.
    struct LossPass {
        /// The next row to look at.
        var cursor: Int64
        /// Whether it came to its end.
        var isDone = false
        var rows = 0
        /// What the lanes have to be told now, in the order of their rooms.
        var deliveries: [PendingDelivery] = []
    }

    /// The oldest row that an endpoint waits for; nil: none.
    func oldestRow(of endpoint: EndpointID) -> Int64? {
        catalog.lanes.lazy.filter { $0.endpoint == endpoint && $0.state.waitingRows > 0 }.map(\.state.next).min()
    }

    /// Gives up the endpoint's rows from `cursor` on, in the order of their commit, while `isTooMuch` says so of what was
    /// given up so far; looks at `limit` rows.
    ///
    /// Nothing that the endpoint waits for is below `cursor`.
    func lose(
        _ endpoint: EndpointID,
        from cursor: Int64,
        below end: Int64,
        limit: Int,
        at wall: Int64,
        while isTooMuch: (_ given: Int64) -> Bool
    ) throws(SQLiteError) -> LossPass {
        var pass = LossPass(cursor: cursor)
        var looked = 0
        var given: Int64 = 0
        var touched: [Int] = []
        let before = counts
        try transact { () throws(SQLiteError) in
            pass.isDone = true
            try statements.headsFrom.query { row in
                row.set(1, cursor)
                row.set(2, end - 1)
            } _: { (row) throws(SQLiteError) in
                guard looked < limit, isTooMuch(given) else {
                    pass.isDone = looked < limit
                    return false
                }
                looked += 1
                pass.cursor = row.integer(0) + 1
                guard let facts = facts(row), let index = catalog.lane(of: endpoint, in: facts.room),
                    catalog.lanes[index].state.next <= facts.row, catalog.route(facts.route, has: endpoint)
                else { return true }
                note(loss(row, in: facts.room, at: wall), isNotice: RowHead.isNotice(row.bytes(6)), lane: index)
                if !touched.contains(index) { touched.append(index) }
                settled(facts, index: index)
                given += facts.size
                pass.rows += 1
                return true
            }
            if pass.isDone, isTooMuch(given) { pass.cursor = max(pass.cursor, end) }
            for index in touched { correctEnd(of: index) }
            try deleteReleased()
        } undo: {
            counts = before
        }
        counts.lost += pass.rows
        counts.waitingRows = catalog.tally.waitingRows
        counts.waitingBytes = catalog.tally.waitingBytes
        pass.deliveries = touched.flatMap { deliveries(ofLane: $0) }
        shortLanes.removeAll { touched.contains($0) }
        return pass
    }

    /// A notice has no place in a stream: it goes into the gap before it, where there is one.
    private func note(_ loss: Loss, isNotice: Bool, lane index: Int) {
        catalog.change(lane: index) { lane in
            lane.next = loss.row + 1
            if let last = lane.losses.indices.last {
                if lane.losses[last].extend(by: loss) { return }
                if isNotice, lane.losses[last].reason == loss.reason { return lane.losses[last].move(to: loss) }
            }
            lane.losses.append(loss)
        }
    }

    private func loss(_ row: Row, in slot: Int, at wall: Int64) -> Loss {
        let seq = row.integer(5)
        let range = RowHead.range(row.bytes(6))
        let position = catalog.rooms[slot].state.position
        var loss = Loss(
            epoch: range?.epoch ?? position?.epoch ?? .empty,
            incarnation: range?.incarnation ?? position?.incarnation ?? 0,
            from: range?.from ?? 0,
            to: range?.to,
            row: row.integer(0),
            seq: seq,
            at: wall
        )
        if RowHead.isNotice(row.bytes(6)) || range?.from == 0 && range?.to == 0 {
            // Without a place in a stream.
            (loss.epoch, loss.from, loss.to) = (.empty, UInt64(clamping: seq), UInt64(clamping: seq))
        }
        return loss
    }

    /// The gaps that stand at the head of a lane.
    private func deliveries(ofLane index: Int) -> [PendingDelivery] {
        let lane = catalog.lanes[index]
        let room = catalog.rooms[lane.room]
        return lane.state.losses.map { loss in
            PendingDelivery(
                row: RowID(loss.row),
                lane: BridgeModel.Lane(endpoint: lane.endpoint, room: room.id),
                room: room.key,
                seq: loss.seq,
                body: loss.body
            )
        }
    }

    /// The gaps of lanes that came to an end too early since this was last asked.
    func takeShortLanes() -> [PendingDelivery] {
        guard !shortLanes.isEmpty else { return [] }
        defer { shortLanes = [] }
        return shortLanes.flatMap { deliveries(ofLane: $0) }
    }

    /// All that lanes have to be told.
    func untoldLosses() -> [PendingDelivery] {
        catalog.lanes.indices.flatMap { catalog.lanes[$0].state.losses.isEmpty ? [] : deliveries(ofLane: $0) }
    }

    /// A lane was told of what it lost, or passed it.
    func settleLosses(_ settlement: Settlement, lane index: Int) {
        let losses = catalog.lanes[index].state.losses
        guard !losses.isEmpty else { return }
        // Behind what was accepted nothing is missing; a dead letter says that only of itself.
        let row = settlement.row.rawValue
        var rest = losses.filter { settlement.deadLetter == nil ? $0.row > row : $0.row != row }
        if let told = settlement.told, !rest.isEmpty { rest[0].told(from: told.lowerBound, to: told.upperBound) }
        guard rest != losses else { return }
        let seq = min(settlement.seq, catalog.rooms[catalog.lanes[index].room].state.seq)
        catalog.change(lane: index) { lane in
            lane.losses = rest
            guard settlement.deadLetter == nil else { return }
            lane.acknowledged = max(lane.acknowledged, seq)
            lane.skipped = 0
        }
    }

    /// Replaces what is stored of a lane's losses.
    func write(_ losses: [Loss], ofLane id: Int64) throws(SQLiteError) {
        try statements.dropLosses.run { $0.set(1, id) }
        for loss in losses {
            try loss.epoch.bytes.withBytes { (epoch) throws(SQLiteError) in
                try statements.writeLoss.run { row in
                    row.set(1, id)
                    row.set(2, loss.row)
                    row.set(3, loss.seq)
                    row.set(4, loss.at)
                    row.set(5, Int64(bitPattern: loss.from))
                    if let to = loss.to { row.set(6, Int64(bitPattern: to)) } else { row.setNull(6) }
                    row.set(7, epoch)
                    row.set(8, Int64(loss.incarnation))
                    row.set(9, loss.reason == .damaged ? 1 : 0)
                }
            }
        }
    }

    // MARK: how long rows have waited

    /// Notes that every row there is was committed by now; forgets what says nothing any more about `horizon` and later.
    func noteAge(at wall: Int64, horizon: Int64) throws(SQLiteError) {
        let mark = AgeMark(row: catalog.tally.nextRow, at: wall)
        // The last one at or before the horizon still tells which rows are older than that.
        let kept = ages.lastIndex { $0.at <= horizon } ?? 0
        let next = Array(ages[kept...]) + [mark]
        try transact { () throws(SQLiteError) in
            try statements.dropAges.run { $0.set(1, next.first?.row ?? 0) }
            try statements.writeAge.run { row in
                row.set(1, mark.row)
                row.set(2, mark.at)
            }
        }
        ages = next
    }

    /// Every row below it was committed at that time or before.
    func firstRow(committedAfter wall: Int64) -> Int64 {
        ages.last { $0.at <= wall }?.row ?? 0
    }

    static func readAges(_ database: Database) throws(SQLiteError) -> [AgeMark] {
        var ages: [AgeMark] = []
        try database.prepare("SELECT row, at FROM ages ORDER BY row", doing: "reading the ages")
            .query { (row) throws(SQLiteError) in
                ages.append(AgeMark(row: row.integer(0), at: row.integer(1)))
                return true
            }
        return ages
    }
}

/// Every row below `row` was committed at `at`, in milliseconds since 1970, or before.
struct AgeMark: Equatable {
    var row: Int64
    var at: Int64
}

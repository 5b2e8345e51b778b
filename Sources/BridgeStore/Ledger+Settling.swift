internal import BridgeModel
internal import BridgeSQLite
internal import RoomsRuntime

extension Ledger {
    /// Moves a lane on and releases what it was the last to wait for.
    ///
    /// A settlement of what is settled already changes nothing.
    func settle(_ settlement: Settlement) throws(SQLiteError) {
        if let retry = settlement.retry { return try settle(retry, settlement) }
        guard let slot = catalog.slot(of: settlement.lane.room),
            let index = catalog.lane(of: settlement.lane.endpoint, in: slot)
        else { return }
        settleLosses(settlement, lane: index)
        let lane = catalog.lanes[index].state
        let row = min(settlement.row.rawValue, lane.tail)
        guard row >= lane.next else { return }
        if let letter = settlement.deadLetter { try keep(letter, row: row, of: settlement.lane.endpoint) }
        let seq = min(settlement.seq, catalog.rooms[slot].state.seq)
        catalog.change(lane: index) { lane in
            lane.next = row + 1
            if settlement.deadLetter != nil {
                lane.skipped += 1
            } else {
                lane.acknowledged = max(lane.acknowledged, seq)
                lane.skipped = 0
            }
        }
        try goBack(from: row, to: lane.next, index: index, slot: slot)
        correctEnd(of: index)
    }

    /// With nothing left nothing waits; where less was there than was stored, the endpoint gets a gap.
    func correctEnd(of index: Int) {
        let rest = catalog.lanes[index].state
        guard rest.next > rest.tail, rest.waitingRows != 0 || rest.waitingBytes != 0 else { return }
        counts.damaged += 1
        let slot = catalog.lanes[index].room
        logger.error(
            "a room came to its end with another number of events than were stored for it",
            LogField(.room, catalog.rooms[slot].key.room),
            LogField(.endpoint, endpointNames[catalog.lanes[index].endpoint] ?? .empty),
            LogField(.count, rest.waitingRows)
        )
        catalog.change(lane: index) { lane in
            lane.waitingRows = 0
            lane.waitingBytes = 0
        }
        if rest.waitingRows > 0 { addGap(behind: index, slot: slot) }
    }

    /// Which events are missing is not known: they are among those up to the room's position.
    private func addGap(behind index: Int, slot: Int) {
        let row = catalog.tally.nextRow
        catalog.tally.nextRow += 1
        let (seq, position) = catalog.change(room: slot) { room in
            room.seq += 1
            return (room.seq, room.position)
        }
        let loss = Loss(
            reason: .damaged,
            epoch: position?.epoch ?? .empty,
            incarnation: position?.incarnation ?? 0,
            from: 0,
            to: position?.offset,
            row: row,
            seq: seq,
            at: SystemClock.wallMilliseconds
        )
        catalog.change(lane: index) { lane in
            lane.next = row + 1
            lane.tail = row
            lane.losses.append(loss)
        }
        shortLanes.append(index)
    }

    /// Follows the room's chain of rows from `row` down to the lane's old `next`.
    private func goBack(from row: Int64, to next: Int64, index: Int, slot: Int) throws(SQLiteError) {
        var row = row
        while row >= next, catalog.lanes[index].state.waitingRows > 0 {
            guard let facts = try facts(of: row), facts.room == slot, facts.prev < row else {
                try scan(next...row, index: index, slot: slot)
                return
            }
            settled(facts, index: index)
            row = facts.prev
        }
    }

    private func scan(_ range: ClosedRange<Int64>, index: Int, slot: Int) throws(SQLiteError) {
        try statements.factsInRange.query { row in
            row.set(1, range.lowerBound)
            row.set(2, range.upperBound)
        } _: { (row) throws(SQLiteError) in
            if let facts = facts(row), facts.room == slot { settled(facts, index: index) }
            return true
        }
    }

    func settled(_ facts: RowFacts, index: Int) {
        guard catalog.route(facts.route, has: catalog.lanes[index].endpoint) else { return }
        catalog.change(lane: index) { lane in
            lane.waitingRows -= 1
            lane.waitingBytes -= facts.size
        }
        if catalog.isSettled(row: facts.row, in: facts.room, route: facts.route) { release(facts) }
    }

    private func release(_ facts: RowFacts) {
        retention.release(facts.row)
        catalog.tally.waitingRows -= 1
        catalog.tally.waitingBytes -= facts.size
        counts.released += 1
    }

    func deleteReleased() throws(SQLiteError) {
        for run in retention.takeRuns() {
            try statements.deleteEvents.run { row in
                row.set(1, run.lowerBound)
                row.set(2, run.upperBound)
            }
        }
    }

    // MARK: the sweep

    var hasSweep: Bool { catalog.tally.sweepFrom <= catalog.tally.sweepTo }

    /// Looks at the next `limit` rows of the sweep and deletes those that no lane waits for.
    func sweep(limit: Int) throws(SQLiteError) {
        let (from, to) = (catalog.tally.sweepFrom, catalog.tally.sweepTo)
        var found: [RowFacts] = []
        var last = to
        var seen = 0
        try statements.factsInRange.query { row in
            row.set(1, from)
            row.set(2, to)
        } _: { (row) throws(SQLiteError) in
            seen += 1
            if let facts = facts(row), catalog.isSettled(row: facts.row, in: facts.room, route: facts.route) {
                found.append(facts)
            }
            last = seen == limit ? row.integer(0) : to
            return seen < limit
        }
        let before = counts
        try transact { () throws(SQLiteError) in
            for facts in found { release(facts) }
            try deleteReleased()
            catalog.tally.sweepFrom = last + 1
        } undo: {
            counts = before
        }
        counts.waitingRows = catalog.tally.waitingRows
        counts.waitingBytes = catalog.tally.waitingBytes
    }

    // MARK: facts

    private func facts(of row: Int64) throws(SQLiteError) -> RowFacts? {
        if let known = cache.facts(of: row) { return known }
        var found: RowFacts?
        try statements.facts.query {
            $0.set(1, row)
        } _: { (row) throws(SQLiteError) in
            found = facts(row)
            return false
        }
        return found
    }

    /// Nil when the row names a room that is not there.
    func facts(_ row: Row) -> RowFacts? {
        guard let slot = catalog.slot(of: RoomID(row.integer(1))) else { return nil }
        return RowFacts(
            row: row.integer(0),
            room: slot,
            route: row.integer(2),
            prev: row.integer(3),
            size: row.integer(4) + Schema.rowOverhead
        )
    }
}

internal import BridgeModel
internal import BridgeSQLite
internal import RoomsRuntime

extension Ledger {
    /// Stores a group in one transaction and gives what is to be delivered, in the order of commit.
    ///
    /// When it throws, nothing happened, neither on disk nor in memory.
    func commit(
        _ records: ArraySlice<AppendRecord>,
        _ settlements: [Settlement],
        _ holds: [HoldScope: StoredHold?] = [:]
    ) throws(SQLiteError) -> [PendingDelivery] {
        var deliveries: [PendingDelivery] = []
        let before = (counts, deadLetters)
        try transact { () throws(SQLiteError) in
            for settlement in settlements { try settle(settlement) }
            try deleteReleased()
            for record in records { try append(record, &deliveries) }
            for (scope, hold) in holds { try write(hold, of: scope) }
        } undo: {
            (counts, deadLetters) = before
        }
        counts.commits += 1
        counts.waitingRows = catalog.tally.waitingRows
        counts.waitingBytes = catalog.tally.waitingBytes
        return deliveries
    }

    /// Runs `body` in a transaction that also writes what it touched of the catalog.
    func transact(_ body: () throws(SQLiteError) -> Void, undo: () -> Void = {}) throws(SQLiteError) {
        catalog.begin()
        do {
            try statements.begin.run()
            try body()
            try writeTouched()
            try statements.commit.run()
            catalog.committed()
        } catch {
            catalog.rollBack()
            retention.forget()
            shortLanes = []
            undo()
            if database.isInTransaction {
                // What made the transaction fail is what the caller must hear of, not this.
                do { try statements.rollBack.run() } catch let second {
                    logger.error("a rollback failed", LogField(.error, second.description))
                }
            }
            throw error
        }
    }

    // MARK: appending

    private func append(_ record: AppendRecord, _ deliveries: inout [PendingDelivery]) throws(SQLiteError) {
        guard let slot = catalog.slot(of: record.room) else {
            logger.error("an event names a room that the store does not know", LogField(.row, record.room.rawValue))
            return
        }
        guard !isRepeated(record, catalog.rooms[slot].state.position) else {
            counts.duplicates += 1
            return
        }
        switch record.body {
        case .baseline:
            catalog.change(room: slot) { $0.position = record.position }
        case .event(let event):
            if lostRooms[slot] == catalog.rooms[slot].state.seq, record.route != nil {
                let gap = Gap(
                    reason: .damaged,
                    epoch: event.epoch,
                    from: 0,
                    to: event.offset > 0 ? event.offset - 1 : nil,
                    incarnation: event.incarnation
                )
                try append(.gap(gap, at: event.at), record.position, record.route, slot: slot, &deliveries)
            }
            try append(.event(event), record.position, record.route, slot: slot, &deliveries)
        case .gap(let gap, let at):
            try append(.gap(gap, at: at), record.position, record.route, slot: slot, &deliveries)
        case .notice(let notice):
            guard isNews(notice, slot) else { return }
            try append(.notice(notice), record.position, record.route, slot: slot, &deliveries)
        }
    }

    private func append(
        _ body: RecordBody,
        _ position: Position?,
        _ route: RouteID?,
        slot: Int,
        _ deliveries: inout [PendingDelivery]
    ) throws(SQLiteError) {
        counts.records += 1
        let (seq, prev) = catalog.change(room: slot) { state in
            if let position { state.position = position }
            state.seq += 1
            return (state.seq, state.tail)
        }
        guard let route else { return }
        let lanes = catalog.lanes(of: slot, for: route.rawValue)
        guard !lanes.isEmpty else { return }
        switch body {
        case .event(let event): RowHead.encode(event, into: &head)
        case .gap(let gap, let at): RowHead.encode(gap, at: at, into: &head)
        case .notice(let notice): RowHead.encode(notice, into: &head)
        }
        let row = try insert(body, slot: slot, route: route.rawValue, prev: prev, seq: seq)
        let room = catalog.rooms[slot]
        for index in lanes {
            catalog.change(lane: index) { lane in
                if lane.waitingRows == 0 { lane.next = row.row }
                lane.tail = row.row
                lane.waitingRows += 1
                lane.waitingBytes += row.size
            }
            deliveries.append(
                PendingDelivery(
                    row: RowID(row.row),
                    lane: Lane(endpoint: catalog.lanes[index].endpoint, room: room.id),
                    room: room.key,
                    seq: seq,
                    body: body
                )
            )
        }
    }

    /// Committed before: at or below the position, in the same stream.
    ///
    /// A gap at the very position may be the second of two (nothing new came between): a receiver knows a repeated one by
    /// its id, a dropped one would be a silent loss. A baseline only must not move the position back.
    private func isRepeated(_ record: AppendRecord, _ committed: Position?) -> Bool {
        guard let position = record.position, let committed, position.epoch == committed.epoch else { return false }
        if position.incarnation != committed.incarnation { return position.incarnation < committed.incarnation }
        if case .event = record.body { return position.offset <= committed.offset }
        return position.offset < committed.offset
    }

    /// Remembers what it says.
    private func isNews(_ notice: RoomNotice, _ slot: Int) -> Bool {
        guard notice.kind.isStanding else { return true }
        let text = notice.text.withBytes { ByteString(copying: $0) }
        guard catalog.rooms[slot].state.told[notice.kind] != text else { return false }
        catalog.change(room: slot) { $0.told[notice.kind] = text }
        return true
    }

    /// Writes the row whose head is in `head`.
    private func insert(
        _ body: RecordBody,
        slot: Int,
        route: Int64,
        prev: Int64,
        seq: Int64
    ) throws(SQLiteError) -> RowFacts {
        let id = catalog.tally.nextRow
        let room = catalog.rooms[slot].id.rawValue
        let payload =
            switch body {
            case .event(let event): event.payload
            case .notice(let notice): notice.text
            case .gap: Payload.empty
            }
        try payload.withBytes { (payload) throws(SQLiteError) in
            try head.withBytes { (head) throws(SQLiteError) in
                let checksum = Self.checksum(
                    id: id,
                    room: room,
                    route: route,
                    prev: prev,
                    seq: seq,
                    head: head,
                    payload: payload
                )
                try statements.insertEvent.run { row in
                    row.set(1, id)
                    row.set(2, room)
                    row.set(3, route)
                    row.set(4, prev)
                    row.set(5, seq)
                    row.set(6, Int64(checksum))
                    row.set(7, head)
                    row.set(8, payload)
                }
            }
        }
        let size = Int64(head.count + payload.count) + Schema.rowOverhead
        catalog.tally.nextRow += 1
        catalog.tally.waitingRows += 1
        catalog.tally.waitingBytes += size
        catalog.change(room: slot) { $0.tail = id }
        let facts = RowFacts(row: id, room: slot, route: route, prev: prev, size: size)
        cache.put(facts)
        return facts
    }

    static func checksum(
        id: Int64,
        room: Int64,
        route: Int64,
        prev: Int64,
        seq: Int64,
        head: UnsafeRawBufferPointer,
        payload: UnsafeRawBufferPointer
    ) -> UInt32 {
        var checksum = Checksum()
        let numbers = (id.littleEndian, room.littleEndian, route.littleEndian, prev.littleEndian, seq.littleEndian)
        withUnsafeBytes(of: numbers) { checksum.add($0) }
        checksum.add(head)
        checksum.add(payload)
        return checksum.value
    }

    // MARK: writing what was touched

    private func writeTouched() throws(SQLiteError) {
        for (slot, before) in catalog.touchedRooms {
            let id = catalog.rooms[slot].id.rawValue
            let state = catalog.rooms[slot].state
            if state.told != before.told { try write(state.told, ofRoom: id) }
            try (state.position?.epoch.bytes ?? []).withBytes { (epoch) throws(SQLiteError) in
                try statements.writePosition.run { row in
                    row.set(1, id)
                    row.set(2, state.seq)
                    row.set(3, state.tail)
                    guard let position = state.position else {
                        row.setNull(4)
                        row.set(5, 0)
                        row.set(6, 0)
                        return
                    }
                    row.set(4, epoch)
                    row.set(5, Int64(bitPattern: position.offset))
                    row.set(6, Int64(position.incarnation))
                }
            }
        }
        for (index, before) in catalog.touchedLanes {
            let lane = catalog.lanes[index]
            if lane.state.losses != before.losses { try write(lane.state.losses, ofLane: lane.id) }
            let room = catalog.rooms[lane.room].id.rawValue
            try statements.writeLane.run { row in
                row.set(1, lane.id)
                row.set(2, room)
                row.set(3, lane.endpoint.rawValue)
                row.set(4, lane.state.acknowledged)
                row.set(5, lane.state.next)
                row.set(6, lane.state.tail)
                row.set(7, lane.state.waitingRows)
                row.set(8, lane.state.waitingBytes)
                row.set(9, lane.state.skipped)
            }
        }
        if catalog.tallyChanged { try writeTally() }
    }

    private func write(_ told: [RoomNotice.Kind: ByteString], ofRoom id: Int64) throws(SQLiteError) {
        for (kind, text) in told {
            try kind.rawValue.utf8.map { $0 }.withBytes { (kind) throws(SQLiteError) in
                try text.bytes.withBytes { (text) throws(SQLiteError) in
                    try statements.writeTold.run { row in
                        row.set(1, id)
                        row.set(2, kind)
                        row.set(3, text)
                    }
                }
            }
        }
    }

    /// Changes nothing, but has to reach the disk.
    func rewriteTally() throws(SQLiteError) {
        try transact { () throws(SQLiteError) in try writeTally() }
    }

    private func writeTally() throws(SQLiteError) {
        let tally = catalog.tally
        try statements.writeTally.run { row in
            row.set(1, tally.nextRow)
            row.set(2, tally.waitingRows)
            row.set(3, tally.waitingBytes)
            row.set(4, tally.sweepFrom)
            row.set(5, tally.sweepTo)
        }
    }
}

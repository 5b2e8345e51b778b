internal import BridgeModel
internal import BridgeSQLite
internal import RoomsRuntime

/// One forward pass over the rows for the lanes of one endpoint that are behind; it may take several turns.
///
/// A lane whose share is full is passed over from there on: its first row not taken is its next. Commits between two
/// turns do no harm, as the pass only ever says something about rows below its cursor. When the lane that was furthest
/// behind has its share, the pass goes on where the next one begins.
final class RefillPass {
    /// Rows looked at after which a pass that has something to give ends.
    private static let patience = 4_000

    private struct LaneWish {
        let room: RoomID
        let from: Int64
        /// The lane's place in the catalog, nil when there is no such lane.
        let lane: Int?
        var taken = 0
        /// The first row that was passed over.
        var passedOver: Int64?
    }

    private let request: RefillRequest
    private var wishes: [LaneWish] = []
    /// Per place of a room, its wish.
    private var wishOfRoom: [Int: Int] = [:]
    private var cursor: Int64 = .max
    private var open = 0
    /// A lane was passed over: perhaps nobody wants the rows that follow.
    private var hasClosed = false
    private var looked = 0
    private var bytes = 0
    private var deliveries: [PendingDelivery] = []

    init(_ request: RefillRequest, _ ledger: Ledger) {
        self.request = request
        wishes.reserveCapacity(request.wishes.count)
        wishOfRoom.reserveCapacity(request.wishes.count)
        for wish in request.wishes {
            let slot = ledger.catalog.slot(of: wish.room)
            let lane = slot.flatMap { ledger.catalog.lane(of: request.endpoint, in: $0) }
            let next = lane.map { ledger.catalog.lanes[$0].state.next } ?? 1
            let from = max(wish.from.rawValue, next, 1)
            if let slot, lane != nil, wishOfRoom[slot] == nil {
                wishOfRoom[slot] = wishes.count
                open += 1
                cursor = min(cursor, from)
            }
            wishes.append(LaneWish(room: wish.room, from: from, lane: lane))
        }
        deliveries.reserveCapacity(min(request.maxRows, 1_024))
    }

    /// Looks at up to `rows` rows or what reaches `bytes`; an answer when the pass has come to its end.
    func advance(rows: Int, bytes limit: Int, _ ledger: Ledger) throws(SQLiteError) -> RefillResult? {
        guard open > 0 else { return result(end: nil, ledger) }
        let stopBytes = bytes + limit
        let stopRows = looked + rows
        var isComplete = false
        var isAtEnd = true
        var hasJumped = false
        try ledger.statements.rowsFrom.query {
            $0.set(1, cursor)
        } _: { (row) throws(SQLiteError) in
            let id = row.integer(0)
            cursor = id
            guard looked < stopRows, bytes < stopBytes else {
                isAtEnd = false
                return false
            }
            guard try consider(row, id: id, ledger) else {
                isAtEnd = false
                isComplete = true
                return false
            }
            looked += 1
            cursor = id + 1
            if open == 0 || isFull {
                isAtEnd = false
                isComplete = true
                return false
            }
            hasJumped = jump()
            return !hasJumped
        }
        if hasJumped { return try advance(rows: stopRows - looked, bytes: max(1, stopBytes - bytes), ledger) }
        if isAtEnd { return result(end: ledger.lastRow.rawValue + 1, ledger) }
        if isComplete || (!deliveries.isEmpty && looked >= Self.patience) { return result(end: nil, ledger) }
        return nil
    }

    private var isFull: Bool { deliveries.count >= request.maxRows || bytes >= request.maxBytes }

    /// Moves the cursor to the first row that an open lane has not seen, if that is worth a search.
    private func jump() -> Bool {
        guard hasClosed else { return false }
        hasClosed = false
        let first = wishes.lazy.filter { $0.lane != nil && $0.passedOver == nil }.map(\.from).min() ?? cursor
        guard first > cursor + 50 else { return false }
        cursor = first
        return true
    }

    /// Takes the row or passes it over; false when it would go beyond the bounds of the answer.
    private func consider(_ row: Row, id: Int64, _ ledger: Ledger) throws(SQLiteError) -> Bool {
        guard let slot = ledger.catalog.slot(of: RoomID(row.integer(1))), let place = wishOfRoom[slot] else {
            return true
        }
        let wish = wishes[place]
        guard wish.passedOver == nil, id >= wish.from, let lane = wish.lane else { return true }
        guard ledger.catalog.route(row.integer(2), has: request.endpoint) else { return true }
        guard wish.taken < max(1, request.maxRowsPerLane) else {
            wishes[place].passedOver = id
            open -= 1
            hasClosed = true
            return true
        }
        let size = Int(clamping: row.integer(7))
        guard deliveries.isEmpty || bytes + size + 256 <= request.maxBytes else { return false }
        let delivery = try ledger.delivery(row, id: id, slot: slot, lane: lane)
        deliveries.append(delivery)
        bytes += delivery.bytes
        wishes[place].taken += 1
        return true
    }

    /// `end`: every row below it was looked at, and there are no more.
    private func result(end: Int64?, _ ledger: Ledger) -> RefillResult {
        let behindAll = ledger.lastRow.rawValue + 1
        let next = wishes.map { wish in
            let seen = wish.lane == nil ? behindAll : end ?? min(cursor, behindAll)
            return RefillRequest.Wish(room: wish.room, from: RowID(wish.passedOver ?? max(seen, wish.from)))
        }
        return RefillResult(
            endpoint: request.endpoint,
            deliveries: deliveries,
            next: next,
            lastCommitted: ledger.lastRow
        )
    }
}

extension Ledger {
    /// Reads a row of `rowsFrom` for a lane; one that is not what was written becomes a gap `damaged`.
    fileprivate func delivery(_ row: Row, id: Int64, slot: Int, lane: Int) throws(SQLiteError) -> PendingDelivery {
        let room = catalog.rooms[slot]
        var payload: Payload?
        if row.isNull(8) {
            try statements.payload.query {
                $0.set(1, id)
            } _: { (row) throws(SQLiteError) in
                payload = Payload(copying: row.bytes(0))
                return false
            }
        }
        let head = row.bytes(6)
        let seq = row.integer(4)
        let route = row.integer(2)
        let prev = row.integer(3)
        let inline = row.bytes(8)
        func check(_ bytes: UnsafeRawBufferPointer) -> UInt32 {
            Self.checksum(
                id: id,
                room: room.id.rawValue,
                route: route,
                prev: prev,
                seq: seq,
                head: head,
                payload: bytes
            )
        }
        let checksum = payload.map { $0.withBytes(check) } ?? check(inline)
        let body = RowHead.decode(head, epoch: room.state.position?.epoch) { payload ?? Payload(copying: inline) }
        let size = Int64(head.count) + row.integer(7) + Schema.rowOverhead
        cache.put(RowFacts(row: id, room: slot, route: route, prev: prev, size: size))
        let target = Lane(endpoint: catalog.lanes[lane].endpoint, room: room.id)
        guard Int64(checksum) == row.integer(5), let body else {
            try report(damaged: id, in: room.key)
            let known = max(1, min(seq, room.state.seq))
            return PendingDelivery(
                row: RowID(id),
                lane: target,
                room: room.key,
                seq: max(known, catalog.lanes[lane].state.acknowledged + 1),
                body: .gap(Self.damage(body, room.state.position), at: SystemClock.wallMilliseconds)
            )
        }
        return PendingDelivery(row: RowID(id), lane: target, room: room.key, seq: seq, body: body)
    }

    /// What is known of an event that cannot be read any more.
    private static func damage(_ body: RecordBody?, _ position: Position?) -> Gap {
        switch body {
        case .event(let event):
            Gap(
                reason: .damaged,
                epoch: event.epoch,
                from: event.offset,
                to: event.offset,
                incarnation: event.incarnation
            )
        case .gap(let gap, _):
            Gap(reason: .damaged, epoch: gap.epoch, from: gap.from, to: gap.to, incarnation: gap.incarnation)
        case .notice, nil:
            Gap(
                reason: .damaged,
                epoch: position?.epoch ?? .empty,
                from: 0,
                to: nil,
                incarnation: position?.incarnation ?? 0
            )
        }
    }

    private func report(damaged row: Int64, in room: RoomKey) throws(SQLiteError) {
        guard reportedRows.count < 1_000, reportedRows.insert(row).inserted else { return }
        counts.damaged += 1
        logger.critical(
            "a stored event is damaged: its endpoints get a gap in its place, and it is kept in quarantine",
            LogField(.room, room.room),
            LogField(.row, row),
            LogField(.path, path)
        )
        do throws(SQLiteError) {
            try statements.quarantine.run {
                $0.set(1, row)
                $0.set(2, SystemClock.wallMilliseconds)
            }
        } catch {
            // A full disk has no room for what is of no more use.
            guard case .full = error.code else { throw error }
        }
    }
}

internal import BridgeModel
internal import BridgeSQLite
internal import RoomsRuntime

/// Dead letters that an operator looks at, sends again, or removes.
extension Ledger {
    /// The columns that `stored` reads.
    private static let columns = """
        id, endpoint, reason, status, attempts, first_at, last_at, row, room, route, prev, seq, crc, head, payload,
        run, ordered
        """

    struct LetterStatements {
        let keysFrom: Statement
        let letter: Statement
        let retried: Statement
        let markForRetry: Statement
        let refuseAgain: Statement
        let drop: Statement

        init(_ database: Database) throws(SQLiteError) {
            keysFrom = try database.prepare(
                "SELECT id, endpoint, room FROM dead_letters WHERE id > ?1 ORDER BY id",
                doing: "reading the dead letters"
            )
            letter = try database.prepare(
                "SELECT \(columns) FROM dead_letters WHERE id = ?1",
                doing: "reading a dead letter"
            )
            retried = try database.prepare(
                "SELECT \(columns) FROM dead_letters WHERE endpoint = ?1 AND run IS NOT NULL ORDER BY id",
                doing: "reading the dead letters"
            )
            markForRetry = try database.prepare(
                "UPDATE dead_letters SET run = ?2, ordered = ?3 WHERE id = ?1",
                doing: "marking a dead letter"
            )
            refuseAgain = try database.prepare(
                """
                UPDATE dead_letters SET run = NULL, reason = CAST(?2 AS TEXT), status = ?3, attempts = attempts + ?4,
                    last_at = ?5
                WHERE id = ?1
                """,
                doing: "keeping a dead letter"
            )
            drop = try database.prepare(
                "DELETE FROM dead_letters WHERE id = ?1 RETURNING endpoint, length(head) + length(payload)",
                doing: "removing a dead letter"
            )
        }
    }

    func deadLetter(_ number: Int64) throws(SQLiteError) -> StoredDeadLetter? {
        var found: StoredDeadLetter?
        try letters.letter.query {
            $0.set(1, number)
        } _: { (row) throws(SQLiteError) in
            found = stored(row)?.letter
            return false
        }
        return found
    }

    /// Those of an endpoint that are to be sent again, in order, until `isEnough` says so.
    func retriedLetters(
        of endpoint: EndpointID,
        until isEnough: (PendingDelivery) -> Bool
    ) throws(SQLiteError) -> [PendingDelivery] {
        var found: [PendingDelivery] = []
        var damaged: [Int64] = []
        try letters.retried.query {
            $0.set(1, endpoint.rawValue)
        } _: { (row) throws(SQLiteError) in
            guard let (letter, isWhole) = stored(row), isWhole, let run = letter.run else {
                damaged.append(row.integer(0))
                return true
            }
            var delivery = letter.delivery
            delivery.retry = DeadLetterRetry(number: letter.number, run: run, isInOrder: row.integer(16) != 0)
            guard !isEnough(delivery) else { return false }
            found.append(delivery)
            return true
        }
        if !damaged.isEmpty {
            logger.error(
                "dead letters are damaged and are not sent again",
                LogField(.endpoint, endpointNames[endpoint] ?? .empty),
                LogField(.count, damaged.count)
            )
            try transact { () throws(SQLiteError) in
                for number in damaged {
                    try letters.markForRetry.run { row in
                        row.set(1, number)
                        row.setNull(2)
                        row.set(3, 0)
                    }
                }
            }
        }
        return found
    }

    func retry(_ numbers: [Int64], run: ByteString, inOrder: Bool) throws(SQLiteError) {
        try transact { () throws(SQLiteError) in
            for number in numbers {
                try run.bytes.withBytes { (run) throws(SQLiteError) in
                    try letters.markForRetry.run { row in
                        row.set(1, number)
                        row.set(2, run)
                        row.set(3, inOrder ? 1 : 0)
                    }
                }
            }
        }
    }

    func purge(_ numbers: [Int64]) throws(SQLiteError) {
        let before = deadLetters
        try transact { () throws(SQLiteError) in
            for number in numbers { try drop(number) }
        } undo: {
            deadLetters = before
        }
    }

    /// What came of a dead letter that was sent again, in the transaction of its settlement.
    func settle(_ retry: DeadLetterRetry, _ settlement: Settlement) throws(SQLiteError) {
        if let letter = settlement.deadLetter {
            try Array(letter.reason.rawValue.utf8).withBytes { (reason) throws(SQLiteError) in
                try letters.refuseAgain.run { row in
                    row.set(1, retry.number)
                    row.set(2, reason)
                    if let status = letter.status { row.set(3, Int64(status)) } else { row.setNull(3) }
                    row.set(4, Int64(letter.attempts))
                    row.set(5, letter.lastAttempt)
                }
            }
            return
        }
        try drop(retry.number)
        guard retry.isInOrder, let slot = catalog.slot(of: settlement.lane.room),
            let index = catalog.lane(of: settlement.lane.endpoint, in: slot),
            catalog.lanes[index].state.acknowledged < settlement.seq,
            settlement.seq <= catalog.rooms[slot].state.seq
        else { return }
        catalog.change(lane: index) { lane in
            lane.acknowledged = settlement.seq
            lane.skipped = max(0, lane.skipped - 1)
        }
    }

    private func drop(_ number: Int64) throws(SQLiteError) {
        try letters.drop.query {
            $0.set(1, number)
        } _: { (row) throws(SQLiteError) in
            deadLetters[EndpointID(row.integer(0))]?.remove(row.integer(1))
            return true
        }
    }

    /// Nil when nothing can be read of it; `isWhole`: it is what was written.
    private func stored(_ row: Row) -> (letter: StoredDeadLetter, isWhole: Bool)? {
        guard let slot = catalog.slot(of: RoomID(row.integer(8))),
            let reason = DeadLetter.Reason(rawValue: String(decoding: row.bytes(2), as: UTF8.self)),
            let body = RowHead.decode(row.bytes(13), epoch: nil, payload: { Payload(copying: row.bytes(14)) })
        else { return nil }
        let checksum = Self.checksum(
            id: row.integer(7),
            room: row.integer(8),
            route: row.integer(9),
            prev: row.integer(10),
            seq: row.integer(11),
            head: row.bytes(13),
            payload: row.bytes(14)
        )
        let endpoint = EndpointID(row.integer(1))
        let room = catalog.rooms[slot]
        let letter = StoredDeadLetter(
            number: row.integer(0),
            letter: DeadLetter(
                reason: reason,
                status: row.isNull(3) ? nil : Int(clamping: row.integer(3)),
                attempts: Int(clamping: row.integer(4)),
                firstAttempt: row.integer(5),
                lastAttempt: row.integer(6)
            ),
            delivery: PendingDelivery(
                row: RowID(row.integer(7)),
                lane: BridgeModel.Lane(endpoint: endpoint, room: room.id),
                room: room.key,
                seq: row.integer(11),
                body: body
            ),
            endpoint: endpointNames[endpoint] ?? .empty,
            run: row.isNull(15) ? nil : ByteString(copying: row.bytes(15))
        )
        return (letter, Int64(checksum) == row.integer(12))
    }
}

internal import BridgeModel
internal import BridgeSQLite
internal import RoomsRuntime

/// What the dead letters of one endpoint come to.
struct DeadLetterSum: Equatable {
    var count = 0
    var bytes: Int64 = 0

    mutating func add(_ size: Int64) {
        count += 1
        bytes += size + Schema.rowOverhead
    }

    mutating func remove(_ size: Int64) {
        count -= 1
        bytes -= size + Schema.rowOverhead
    }
}

/// Records that an endpoint refused for good.
extension Ledger {
    /// Copies the row, which the caller settles in the same transaction; nothing where it is not there any more.
    func keep(_ letter: DeadLetter, row id: Int64, of endpoint: EndpointID) throws(SQLiteError) {
        let reason = Array(letter.reason.rawValue.utf8)
        var size: Int64?
        try reason.withBytes { (reason) throws(SQLiteError) in
            try statements.keepDeadLetter.query { row in
                row.set(1, id)
                row.set(2, endpoint.rawValue)
                row.set(3, reason)
                if let status = letter.status { row.set(4, Int64(status)) } else { row.setNull(4) }
                row.set(5, Int64(letter.attempts))
                row.set(6, letter.firstAttempt)
                row.set(7, letter.lastAttempt)
            } _: { (row) throws(SQLiteError) in
                size = row.integer(0)
                return true
            }
        }
        if let size { deadLetters[endpoint, default: DeadLetterSum()].add(size) }
    }

    /// Those of an endpoint that is not configured any more.
    func dropDeadLetters(of endpoint: EndpointID, _ name: ByteString) throws(SQLiteError) {
        guard let sum = deadLetters.removeValue(forKey: endpoint) else { return }
        try database.prepare("DELETE FROM dead_letters WHERE endpoint = ?1", doing: "dropping dead letters")
            .run { $0.set(1, endpoint.rawValue) }
        logger.warning(
            "an endpoint is not configured any more: its dead letters are dropped",
            LogField(.endpoint, name),
            LogField(.count, sum.count)
        )
    }

    static func readDeadLetters(_ database: Database) throws(SQLiteError) -> [EndpointID: DeadLetterSum] {
        var sums: [EndpointID: DeadLetterSum] = [:]
        try database.prepare(
            """
            SELECT endpoint, count(*), total(length(head) + length(payload) + \(Schema.rowOverhead))
            FROM dead_letters GROUP BY endpoint
            """,
            doing: "reading the dead letters"
        )
        .query { (row) throws(SQLiteError) in
            sums[EndpointID(row.integer(0))] = DeadLetterSum(count: Int(row.integer(1)), bytes: row.integer(2))
            return true
        }
        return sums
    }
}

internal import BridgeModel
internal import BridgeSQLite
internal import RoomsRuntime

/// What endpoints and rooms wait for.
extension Ledger {
    /// Nil: it waits no more.
    func write(_ hold: StoredHold?, of scope: HoldScope) throws(SQLiteError) {
        let room = scope.room?.rawValue ?? 0
        guard let hold else {
            return try statements.dropHold.run { row in
                row.set(1, scope.endpoint.rawValue)
                row.set(2, room)
            }
        }
        try statements.writeHold.run { row in
            row.set(1, scope.endpoint.rawValue)
            row.set(2, room)
            row.set(3, Int64(hold.failures))
            row.set(4, Int64(hold.attempts))
            row.set(5, hold.end)
            row.set(6, hold.length)
        }
    }

    /// Those of an endpoint that is not configured any more.
    func dropHolds(of endpoint: EndpointID) throws(SQLiteError) {
        try database.prepare("DELETE FROM holds WHERE endpoint = ?1", doing: "dropping an endpoint's waits")
            .run { $0.set(1, endpoint.rawValue) }
    }

    func holds() throws(SQLiteError) -> [HoldScope: StoredHold] {
        var holds: [HoldScope: StoredHold] = [:]
        try database.prepare(
            "SELECT endpoint, room, failures, attempts, end_at, length FROM holds",
            doing: "reading waits"
        )
        .query { (row) throws(SQLiteError) in
            let room = row.integer(1)
            holds[HoldScope(endpoint: EndpointID(row.integer(0)), room: room == 0 ? nil : RoomID(room))] = StoredHold(
                failures: Int(clamping: row.integer(2)),
                attempts: Int(clamping: row.integer(3)),
                end: row.integer(4),
                length: row.integer(5)
            )
            return true
        }
        return holds
    }
}

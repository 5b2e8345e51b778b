internal import BridgeModel
internal import BridgeSQLite
internal import RoomsRuntime

/// What endpoints wait for.
extension Ledger {
    func write(_ hold: EndpointHold?, of endpoint: EndpointID) throws(SQLiteError) {
        guard let hold else { return try statements.dropHold.run { $0.set(1, endpoint.rawValue) } }
        try statements.writeHold.run { row in
            row.set(1, endpoint.rawValue)
            row.set(2, Int64(hold.failures))
            row.set(3, hold.end)
            row.set(4, hold.length)
        }
    }

    func holds() throws(SQLiteError) -> [EndpointID: EndpointHold] {
        var holds: [EndpointID: EndpointHold] = [:]
        try database.prepare("SELECT endpoint, failures, end_at, length FROM holds", doing: "reading waits")
            .query { (row) throws(SQLiteError) in
                holds[EndpointID(row.integer(0))] = EndpointHold(
                    failures: Int(clamping: row.integer(1)),
                    end: row.integer(2),
                    length: row.integer(3)
                )
                return true
            }
        return holds
    }
}

internal import BridgeModel
internal import BridgeSQLite
internal import RoomsRuntime

/// Copies what can be read of the attached database `old` into a new one, lets go of it, and makes the new one whole.
struct SalvagedRows {
    struct Sum {
        var rooms: Int64 = 0
        var rows: Int64 = 0
        /// Events of rooms or endpoints whose names could not be read; they are in quarantine.
        var nameless: Int64 = 0
        /// The names of endpoints are lost.
        var hasNoEndpoints = false
        /// Holes between stored events, each told to the endpoints that wait for what was there.
        var gaps: Int64 = 0
    }

    private let database: Database

    init(_ database: Database) {
        self.database = database
    }

    func copy() throws(SQLiteError) -> Sum {
        // Each statement for itself: in a transaction that met damage SQLite writes nothing more.
        try database.execute("PRAGMA synchronous=OFF", doing: Self.action)
        // Which numbers there may be: every row takes some bytes of the file.
        let pages = try whatIsReadable("PRAGMA old.page_count") ?? 0
        let size = try whatIsReadable("PRAGMA old.page_size") ?? 0
        let most = max(1, pages * max(512, size) / 8)
        for table in ["endpoints", "routes", "rooms", "positions", "lanes", "tally"] {
            try copy(table, upTo: most)
        }
        for table in ["meta", "losses", "holds", "ages"] { try copyAtOnce(table) }
        try copy("events", upTo: try lastRow(most))
        try copy("dead_letters", upTo: try whatIsReadable("SELECT seq FROM old.sqlite_sequence") ?? most)
        try copy("quarantine", upTo: try lastRow(most))
        try database.execute("DETACH old; PRAGMA synchronous=FULL; BEGIN IMMEDIATE", doing: Self.action)
        let nameless = try setNamelessAside()
        let mending = try SalvagedLanes(database)
        try mending.write()
        try database.execute("COMMIT", doing: Self.action)
        return Sum(
            rooms: try database.integer("SELECT count(*) FROM rooms", doing: Self.action),
            rows: try database.integer("SELECT count(*) FROM events", doing: Self.action) - mending.gaps,
            nameless: nameless,
            hasNoEndpoints: try database.integer("SELECT count(*) FROM endpoints", doing: Self.action) == 0,
            gaps: mending.gaps
        )
    }

    private func setNamelessAside() throws(SQLiteError) -> Int64 {
        let rule =
            "FROM events WHERE room NOT IN (SELECT id FROM rooms) OR NOT EXISTS (SELECT * FROM endpoints)"
        let count = try database.integer("SELECT count(*) \(rule)", doing: Self.action)
        guard count > 0 else { return 0 }
        try database.execute(
            """
            INSERT OR REPLACE INTO quarantine
            SELECT id, \(SystemClock.wallMilliseconds), room, route, prev, seq, crc, head, payload \(rule);
            DELETE \(rule);
            """,
            doing: Self.action
        )
        return count
    }

    private static let action = "saving a damaged store"

    /// The highest id of an event that anything speaks of.
    private func lastRow(_ most: Int64) throws(SQLiteError) -> Int64 {
        let known = try database.integer(
            "SELECT max(next_row, (SELECT ifnull(max(tail), 0) FROM positions)) FROM tally",
            doing: Self.action
        )
        return try max(known, whatIsReadable("SELECT max(id) FROM old.events") ?? 0, known > 1 ? 0 : most)
    }

    /// Copies the rows whose ids are from 1 to `last`.
    private func copy(_ table: String, upTo last: Int64) throws(SQLiteError) {
        guard let key = try keyColumn(of: table), let columns = try commonColumns(of: table) else { return }
        let statement: Statement
        do throws(SQLiteError) {
            statement = try database.prepare(
                """
                INSERT OR REPLACE INTO main.\(table) (\(columns)) SELECT \(columns) FROM old.\(table)
                WHERE \(key) BETWEEN ?1 AND ?2
                """,
                doing: Self.action
            )
        } catch {
            guard error.isDamage else { throw error }
            return
        }
        try copy(0...max(0, last), by: statement)
    }

    /// In one piece where that can be read, else each half for itself: what is left out in the end is one row at a time.
    private func copy(_ range: ClosedRange<Int64>, by statement: Statement) throws(SQLiteError) {
        do throws(SQLiteError) {
            try statement.run { row in
                row.set(1, range.lowerBound)
                row.set(2, range.upperBound)
            }
        } catch {
            guard error.isDamage else { throw error }
            guard range.count > 1 else { return }
            let middle = range.lowerBound + Int64(range.count / 2)
            try copy(range.lowerBound...middle - 1, by: statement)
            try copy(middle...range.upperBound, by: statement)
        }
    }

    /// A table without ids: all of it, or nothing.
    private func copyAtOnce(_ table: String) throws(SQLiteError) {
        guard let columns = try commonColumns(of: table) else { return }
        do throws(SQLiteError) {
            try database.execute(
                "INSERT OR REPLACE INTO main.\(table) (\(columns)) SELECT \(columns) FROM old.\(table)",
                doing: Self.action
            )
        } catch {
            guard error.isDamage else { throw error }
        }
    }

    // MARK: what the old one is like

    /// Nil: there is no such table in the old one, or it cannot be told.
    private func commonColumns(of table: String) throws(SQLiteError) -> String? {
        let old = try columns(of: table, in: "old")
        let common = try columns(of: table, in: "main").filter { old.contains($0) }
        return common.isEmpty ? nil : common.map(\.name).joined(separator: ", ")
    }

    private func keyColumn(of table: String) throws(SQLiteError) -> String? {
        try columns(of: table, in: "main").first { $0.isKey }?.name
    }

    private struct Column: Equatable {
        var name: String
        var isKey: Bool
    }

    private func columns(of table: String, in schema: String) throws(SQLiteError) -> [Column] {
        var found: [Column] = []
        do throws(SQLiteError) {
            try database.prepare("PRAGMA \(schema).table_info(\(table))", doing: Self.action)
                .query { (row) throws(SQLiteError) in
                    let name = String(decoding: row.bytes(1), as: UTF8.self)
                    found.append(Column(name: name, isKey: row.integer(5) > 0))
                    return true
                }
        } catch {
            guard error.isDamage, schema == "old" else { throw error }
            return []
        }
        return found
    }

    private func whatIsReadable(_ sql: String) throws(SQLiteError) -> Int64? {
        do throws(SQLiteError) {
            return try database.integer(sql, doing: Self.action)
        } catch {
            guard error.isDamage else { throw error }
            return nil
        }
    }
}

extension SQLiteError {
    /// The file is not what was written, or what was to be there is not.
    var isDamage: Bool {
        switch code {
        case .corrupt, .notADatabase, .error: true
        default: false
        }
    }
}

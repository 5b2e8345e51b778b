internal import BridgeModel
internal import BridgeSQLite
internal import RoomsRuntime

/// The database and what of it is held in memory; no threads, no waiting, no time.
///
/// Belongs to the thread that opened it until the writer takes it over.
final class Ledger {
    let path: String
    let storeID: ByteString
    /// Its tables were made just now.
    let isNew: Bool
    let logger: Logger
    let database: Database
    let statements: Statements
    let letters: LetterStatements
    var catalog: Catalog
    var cache = RowCache()
    var retention = Retention()
    /// The head of the row being written; kept for its storage.
    var head: [UInt8] = []
    var counts = StoreCounts()
    /// Of those that are configured.
    var endpointNames: [EndpointID: ByteString] = [:]
    var lossRules: [EndpointID: LossRule] = [:]
    /// In order.
    var ages: [AgeMark] = []
    /// What the dead letters of each endpoint come to.
    var deadLetters: [EndpointID: DeadLetterSum] = [:]
    /// Rows whose damage was logged; no more lines once it is full.
    var reportedRows: Set<Int64> = []
    /// What was read of a damaged one, where it was made of that just now.
    var salvaged: SalvagedRows.Sum?
    /// Places of rooms of which nobody knows what was lost with it, with their seq: their next event has a gap before it.
    var lostRooms: [Int: Int64] = [:]
    /// Lanes that came to an end too early, which was not handed on yet.
    var shortLanes: [Int] = []

    private let lock: StoreLock

    /// Takes over a database that was found to be ours, and the lock of its directory.
    init(
        _ database: Database,
        isNew: Bool,
        path: String,
        lock: StoreLock,
        logger: Logger
    ) throws(SQLiteError) {
        self.path = path
        self.isNew = isNew
        self.lock = lock
        self.logger = logger
        self.database = database
        try Self.configureConnection(database)
        statements = try Statements(database)
        letters = try LetterStatements(database)
        storeID = try Self.readStoreID(database)
        catalog = try Catalog(reading: database, logger: logger)
        deadLetters = try Self.readDeadLetters(database)
        ages = try Self.readAges(database)
    }

    /// The last id that was given out.
    var lastRow: RowID { RowID(catalog.tally.nextRow - 1) }

    /// What a failure means; damage is noted, so that the next start saves what can be read.
    func failure(_ error: SQLiteError) -> StoreError {
        let failure = StoreError(error, path: path)
        if failure.code == .damaged { Salvage.request(of: path) }
        return failure
    }

    /// Tells of rows that were committed once and are gone; their ids are not given out again.
    ///
    /// The positions went back with them, so the server is asked again for what they held.
    func compareAnchor() throws(SQLiteError) {
        let known = Anchor(path: path, storeID: storeID).nextRow
        let missing = known - catalog.tally.nextRow
        guard missing > 0 else { return }
        logger.critical(
            "the end of the store is gone, as after a power cut: the server is asked again for what it held",
            LogField(.path, path),
            LogField(.missing, missing)
        )
        try transact { () throws(SQLiteError) in catalog.tally.nextRow = known }
    }

    func close() {
        database.close()
        lock.release()
    }

    private static func configureConnection(_ database: Database) throws(SQLiteError) {
        try database.execute(Schema.connectionPragmas, doing: "setting up the connection")
        try database.watchLog()
        database.keepLogOnClose(false)
    }

    private static func readStoreID(_ database: Database) throws(SQLiteError) -> ByteString {
        var id = ByteString.empty
        try database.prepare("SELECT value FROM meta WHERE key = 'store_id'", doing: "reading the store's id")
            .query { (row) throws(SQLiteError) in
                id = ByteString(copying: row.bytes(0))
                return false
            }
        return id
    }
}

/// What the store did since it was opened.
package struct StoreCounts: Sendable, Equatable {
    package var commits = 0
    /// Events and gaps that were committed.
    package var records = 0
    /// Events and gaps that were at or below the committed position, and dropped.
    package var duplicates = 0
    /// Rows whose last lane settled them.
    package var released = 0
    /// Rows that were given up for an endpoint.
    package var lost = 0
    /// Rows that were read and are not what was written.
    package var damaged = 0
    /// Rows on disk, each once, and their size.
    package var waitingRows: Int64 = 0
    package var waitingBytes: Int64 = 0

    package init() {}
}

/// The statements that serve the whole life of a connection.
struct Statements {
    let begin: Statement
    let commit: Statement
    let rollBack: Statement
    let insertEvent: Statement
    let deleteEvents: Statement
    let writePosition: Statement
    let writeTold: Statement
    let writeLane: Statement
    let writeTally: Statement
    let keepDeadLetter: Statement
    let writeHold: Statement
    let dropHold: Statement
    let facts: Statement
    let factsInRange: Statement
    let rowsFrom: Statement
    let payload: Statement
    let headsFrom: Statement
    let writeLoss: Statement
    let dropLosses: Statement
    let quarantine: Statement
    let writeAge: Statement
    let dropAges: Statement

    /// A payload up to this size is read along with its row; a larger one only when the row is taken.
    static let inlinePayload = 2_048

    init(_ database: Database) throws(SQLiteError) {
        begin = try database.prepare("BEGIN IMMEDIATE", doing: "beginning a transaction")
        commit = try database.prepare("COMMIT", doing: "committing")
        rollBack = try database.prepare("ROLLBACK", doing: "rolling back")
        insertEvent = try database.prepare(
            "INSERT INTO events VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            doing: "storing an event"
        )
        deleteEvents = try database.prepare(
            "DELETE FROM events WHERE id BETWEEN ?1 AND ?2",
            doing: "deleting settled events"
        )
        writePosition = try database.prepare(
            "REPLACE INTO positions VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            doing: "storing a position"
        )
        writeTold = try database.prepare("REPLACE INTO told VALUES (?1, ?2, ?3)", doing: "storing what was told")
        writeLane = try database.prepare(
            "REPLACE INTO lanes VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            doing: "storing a lane"
        )
        writeTally = try database.prepare(
            "REPLACE INTO tally VALUES (1, ?1, ?2, ?3, ?4, ?5)",
            doing: "storing the sums"
        )
        keepDeadLetter = try database.prepare(
            """
            INSERT INTO dead_letters
                (endpoint, reason, status, attempts, first_at, last_at, row, room, route, prev, seq, crc, head, payload)
            SELECT ?2, CAST(?3 AS TEXT), ?4, ?5, ?6, ?7, id, room, route, prev, seq, crc, head, payload
            FROM events WHERE id = ?1
            RETURNING length(head) + length(payload)
            """,
            doing: "keeping a dead letter"
        )
        writeHold = try database.prepare(
            "REPLACE INTO holds VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            doing: "storing a wait"
        )
        dropHold = try database.prepare(
            "DELETE FROM holds WHERE endpoint = ?1 AND room = ?2",
            doing: "ending a wait"
        )
        facts = try database.prepare(
            "SELECT id, room, route, prev, length(head) + length(payload) FROM events WHERE id = ?1",
            doing: "reading a row"
        )
        factsInRange = try database.prepare(
            """
            SELECT id, room, route, prev, length(head) + length(payload) FROM events
            WHERE id BETWEEN ?1 AND ?2 ORDER BY id
            """,
            doing: "reading rows"
        )
        rowsFrom = try database.prepare(
            """
            SELECT id, room, route, prev, seq, crc, head, length(payload),
                CASE WHEN length(payload) <= \(Self.inlinePayload) THEN payload END
            FROM events WHERE id >= ?1 ORDER BY id
            """,
            doing: "reading waiting events"
        )
        payload = try database.prepare("SELECT payload FROM events WHERE id = ?1", doing: "reading a payload")
        headsFrom = try database.prepare(
            """
            SELECT id, room, route, prev, length(head) + length(payload), seq, head FROM events
            WHERE id BETWEEN ?1 AND ?2 ORDER BY id
            """,
            doing: "reading waiting events"
        )
        writeLoss = try database.prepare(
            "REPLACE INTO losses VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            doing: "storing what was lost"
        )
        dropLosses = try database.prepare("DELETE FROM losses WHERE lane = ?1", doing: "forgetting what was lost")
        quarantine = try database.prepare(
            """
            INSERT OR IGNORE INTO quarantine
            SELECT id, ?2, room, route, prev, seq, crc, head, payload FROM events WHERE id = ?1
            """,
            doing: "keeping a damaged row"
        )
        writeAge = try database.prepare("REPLACE INTO ages VALUES (?1, ?2)", doing: "storing an age")
        dropAges = try database.prepare("DELETE FROM ages WHERE row < ?1", doing: "forgetting ages")
    }
}

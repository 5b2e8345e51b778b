internal import BridgeSQLite
internal import Glibc
internal import RoomsRuntime

/// The steps from the schema of an older version to the present one.
enum Migration {
    /// What makes version `index + 2` of version `index + 1`.
    private static let steps = [
        "ALTER TABLE lanes ADD COLUMN skipped INTEGER NOT NULL DEFAULT 0;" + Schema.deadLetters + holdsOfVersion2,
        """
        ALTER TABLE holds RENAME TO older_holds;
        \(Schema.losses)
        \(Schema.retries)
        \(Schema.quarantine)
        \(Schema.told)
        \(Schema.holds)
        INSERT INTO holds SELECT endpoint, 0, failures, 0, end_at, length FROM older_holds;
        DROP TABLE older_holds;
        """,
    ]

    private static let holdsOfVersion2 = """
        CREATE TABLE holds (
            endpoint INTEGER PRIMARY KEY, failures INTEGER NOT NULL, end_at INTEGER NOT NULL, length INTEGER NOT NULL
        );
        """

    /// Brings the database up to date in one transaction; a copy of it as it was stays beside it, for a downgrade.
    static func run(
        _ database: Database,
        from version: Int64,
        path: String,
        logger: Logger,
        progress: @escaping () -> Void
    ) throws(StoreError) {
        guard version >= 1, version < Schema.version else { return }
        database.watchProgress(progress)
        defer { database.watchProgress(nil) }
        progress()
        let copy = "\(path).schema-\(version)"
        do throws(SQLiteError) {
            try keepCopy(of: database, at: copy)
            try database.execute("BEGIN IMMEDIATE", doing: "bringing the store up to date")
            for step in steps[Int(version - 1)...] {
                try database.execute(step, doing: "bringing the store up to date")
            }
            try database.execute(
                "PRAGMA user_version=\(Schema.version); COMMIT",
                doing: "bringing the store up to date"
            )
        } catch {
            throw StoreError(error, path: path)
        }
        logger.notice(
            "the store was brought up to date; as it was before it lies beside it",
            LogField(.path, copy),
            LogField(.version, "\(version) to \(Schema.version)")
        )
    }

    /// Whole and consistent, also when the log holds more than the database; one of an earlier try goes.
    private static func keepCopy(of database: Database, at path: String) throws(SQLiteError) {
        unlink(path)
        // SQLite fills a file that is there and empty, and leaves its mode as it is.
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        if descriptor >= 0 { close(descriptor) }
        let quoted = path.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''")
        try database.execute("VACUUM INTO '\(quoted)'", doing: "keeping a copy of the store")
    }
}

internal import BridgeSQLite
internal import Glibc
internal import RoomsRuntime

/// The files of a state directory: made with mode 0600, checked before anything is written.
enum StoreFiles {
    static func makeDirectory(_ directory: String) throws(StoreError) {
        guard mkdir(directory, 0o700) != 0 else { return }
        let reason = errno
        var status = stat()
        guard reason == EEXIST else {
            throw StoreError(
                code: .cannotCreate,
                message: "\(directory): cannot be made: \(String(cString: strerror(reason))); "
                    + "the directory above it must exist and be writable for this user",
                systemError: reason
            )
        }
        guard stat(directory, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
            throw StoreError(
                code: .cannotCreate,
                message: "\(directory): is not a directory; the state directory must be a directory, "
                    + "or not exist so that it can be made",
                systemError: ENOTDIR
            )
        }
    }

    /// The path without links: SQLite follows none, and under `DynamicUser=` systemd makes /var/lib/roombridge one.
    private static func resolved(_ directory: String) -> String {
        guard let path = realpath(directory, nil) else { return directory }
        defer { free(path) }
        return String(cString: path)
    }

    /// Locks the directory, which must be there, and opens its database.
    static func openLedger(
        in directory: String,
        logger: Logger,
        progress: @escaping () -> Void = {}
    ) throws(StoreError) -> Ledger {
        let directory = resolved(directory)
        let lock = try StoreLock(directory: directory)
        let path = directory + "/" + Schema.databaseName
        if let begun = Salvage(pendingAt: path, logger: logger) {
            return try open(path, lock, logger, progress, salvaged: begun.run(progress))
        }
        try refuseLogAlone(path)
        do throws(StoreError) {
            return try open(path, lock, logger, progress)
        } catch {
            guard error.code == .damaged else { throw error }
        }
        Salvage.request(of: path)
        guard let salvage = Salvage(pendingAt: path, logger: logger) else {
            throw StoreError(
                code: .damaged,
                message: "\(path): the file is damaged, and the state directory is not writable for this user; "
                    + "make it so and start again: what can be read is saved then"
            )
        }
        return try open(path, lock, logger, progress, salvaged: salvage.run(progress))
    }

    private static func open(
        _ path: String,
        _ lock: StoreLock,
        _ logger: Logger,
        _ progress: @escaping () -> Void,
        salvaged: SalvagedRows.Sum? = nil
    ) throws(StoreError) -> Ledger {
        try makeFile(path)
        do {
            let (database, isNew) = try prepare(path, logger, progress)
            let ledger = try Ledger(database, isNew: isNew, path: path, lock: lock, logger: logger)
            try ledger.compareAnchor()
            ledger.salvaged = salvaged
            return ledger
        } catch let error as StoreError {
            throw error
        } catch let error as SQLiteError {
            throw StoreError(error, path: path)
        } catch {
            throw StoreError(code: .inputOutput, message: "\(path): \(error)")
        }
    }

    /// Next to a database that is missing or empty, SQLite would throw its log away: with it what was received.
    private static func refuseLogAlone(_ path: String) throws(StoreError) {
        var status = stat()
        guard stat(path + "-wal", &status) == 0, status.st_size > 0 else { return }
        guard stat(path, &status) != 0 || status.st_size == 0 else { return }
        throw StoreError(
            code: .damaged,
            message: "\(path): the database is gone, but its log \(path)-wal is there and holds events; "
                + "nothing was touched: put the database back beside it, or move the log aside to begin anew"
        )
    }

    /// SQLite would make it readable for others.
    static func makeFile(_ path: String) throws(StoreError) {
        let descriptor = Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else {
            throw StoreError(
                code: .cannotCreate,
                message: "\(path): cannot be opened: \(String(cString: strerror(errno))); "
                    + "the state directory and its files must be writable for this user",
                systemError: errno
            )
        }
        close(descriptor)
    }

    /// Makes the tables in an empty file; refuses what is not a store of ours, and a newer one, untouched.
    ///
    /// An older one is brought up to date.
    private static func prepare(
        _ path: String,
        _ logger: Logger,
        _ progress: @escaping () -> Void
    ) throws -> (Database, isNew: Bool) {
        let database = try Database(path: path)
        database.keepLogOnClose(true)
        try database.execute(Schema.lockingPragma, doing: "locking the database")
        let version = try database.integer("PRAGMA user_version", doing: "reading the version")
        let owner = try database.integer("PRAGMA application_id", doing: "reading the version")
        let tables = try database.integer("SELECT count(*) FROM sqlite_schema", doing: "reading the tables")
        if version == 0, owner == 0, tables == 0 {
            try create(database)
            return (database, true)
        }
        guard owner == Schema.applicationID else {
            throw StoreError(
                code: .foreign,
                message: "\(path): is a database of another program; "
                    + "the state directory must be empty or one that RoomBridge made"
            )
        }
        guard version <= Schema.version else {
            throw StoreError(
                code: .newerSchema,
                message: "\(path): has schema \(version), this program knows up to \(Schema.version); "
                    + "it was left as it is: run the newer version, or use another state directory"
            )
        }
        try Migration.run(database, from: version, path: path, logger: logger, progress: progress)
        return (database, false)
    }

    static func create(_ database: Database) throws(SQLiteError) {
        try database.execute(Schema.creationPragmas, doing: "making the database")
        try database.execute(Schema.connectionPragmas, doing: "making the database")
        try database.execute("BEGIN IMMEDIATE", doing: "making the tables")
        try database.execute(Schema.tables, doing: "making the tables")
        let id = Base32.encode(Digest.randomBytes(20))
        let insert = try database.prepare(
            "INSERT INTO meta VALUES ('store_id', CAST(?1 AS TEXT))",
            doing: "making the tables"
        )
        try id.withBytes { (id) throws(SQLiteError) in try insert.run { $0.set(1, id) } }
        try database.execute(
            "PRAGMA application_id=\(Schema.applicationID); PRAGMA user_version=\(Schema.version); COMMIT",
            doing: "making the tables"
        )
    }
}

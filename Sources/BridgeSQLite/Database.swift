internal import CSQLite

/// One connection to one file, owned by one thread at a time.
///
/// It never waits for a lock (a second writer is a bug of ours or a mistake of the operator's), and checkpoints only when
/// it is told to.
package final class Database {
    package enum Checkpoint: Sendable {
        /// Moves what can be moved; never waits.
        case passive
        /// Moves all and cuts the log to nothing.
        case truncate
    }

    private var handle: OpaquePointer?
    /// The pages in the log after the last commit, kept by the hook of SQLite; lives as long as the connection.
    private let logPages: UnsafeMutablePointer<Int32>
    private var progress: (() -> Void)?

    /// So many of SQLite's own instructions lie between two signs of progress: some milliseconds.
    private static let progressStep: Int32 = 10_000

    /// Opens a file that exists, for reading and writing.
    package init(path: String) throws(SQLiteError) {
        var handle: OpaquePointer?
        let flags =
            SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_EXRESCODE
            | SQLITE_OPEN_PRIVATECACHE
        let result = sqlite3_open_v2(path, &handle, flags, nil)
        guard result == SQLITE_OK, let handle else {
            defer { sqlite3_close_v2(handle) }
            throw SQLiteError(result, handle, doing: "opening the database")
        }
        self.handle = handle
        logPages = .allocate(capacity: 1)
        logPages.initialize(to: 0)
        sqlite3_busy_timeout(handle, 0)
    }

    deinit {
        close()
        logPages.deallocate()
    }

    /// Closes the connection and ends its statements, which must not be in use.
    package func close() {
        guard let handle else { return }
        while let statement = sqlite3_next_stmt(handle, nil) { sqlite3_finalize(statement) }
        sqlite3_close_v2(handle)
        self.handle = nil
    }

    /// Leaves the log as it is when the connection closes, instead of moving it into the database.
    package func keepLogOnClose(_ keeps: Bool) {
        guard let handle else { return }
        _ = shim_sqlite3_db_config_flag(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keeps ? 1 : 0)
    }

    package func prepare(_ sql: String, doing action: String) throws(SQLiteError) -> Statement {
        try Statement(self, sql, doing: action)
    }

    /// Runs statements of ours that take no parameters.
    package func execute(_ sql: String, doing action: String) throws(SQLiteError) {
        let handle = try open()
        let result = sqlite3_exec(handle, sql, nil, nil, nil)
        guard result == SQLITE_OK else { throw SQLiteError(result, handle, doing: action) }
    }

    /// The first column of the first row, 0 when there is none.
    package func integer(_ sql: String, doing action: String) throws(SQLiteError) -> Int64 {
        var value: Int64 = 0
        try prepare(sql, doing: action).query { (row) throws(SQLiteError) in
            value = row.integer(0)
            return false
        }
        return value
    }

    /// Pages read from the file since the connection was opened.
    package var pagesRead: Int {
        guard let handle else { return 0 }
        var count: Int32 = 0
        var highest: Int32 = 0
        sqlite3_db_status(handle, SQLITE_DBSTATUS_CACHE_MISS, &count, &highest, 0)
        return Int(count)
    }

    /// `progress` is called now and then while a statement works; nil: no more.
    package func watchProgress(_ progress: (() -> Void)?) {
        guard let handle else { return }
        self.progress = progress
        guard progress != nil else { return sqlite3_progress_handler(handle, 0, nil, nil) }
        sqlite3_progress_handler(
            handle,
            Self.progressStep,
            { context in
                guard let context else { return 0 }
                // Safety: the connection, which calls this, is this object's.
                Unmanaged<Database>.fromOpaque(context).takeUnretainedValue().progress?()
                return 0
            },
            // Safety: as above.
            Unmanaged.passUnretained(self).toOpaque()
        )
    }

    package var isInTransaction: Bool {
        guard let handle else { return false }
        return sqlite3_get_autocommit(handle) == 0
    }

    // MARK: the write-ahead log

    /// Counts the pages of the log at each commit, and takes checkpoints out of SQLite's hands.
    package func watchLog() throws(SQLiteError) {
        let handle = try open()
        sqlite3_wal_autocheckpoint(handle, 0)
        sqlite3_wal_hook(
            handle,
            { context, _, _, pages in
                context?.assumingMemoryBound(to: Int32.self).pointee = pages
                return SQLITE_OK
            },
            logPages
        )
    }

    /// The pages in the log since it was last begun anew.
    ///
    /// The size of the file says nothing: it does not shrink.
    package var pagesInLog: Int { Int(logPages.pointee) }

    package func checkpoint(_ kind: Checkpoint) throws(SQLiteError) {
        let handle = try open()
        let mode = kind == .passive ? SQLITE_CHECKPOINT_PASSIVE : SQLITE_CHECKPOINT_TRUNCATE
        var inLog: Int32 = 0
        var moved: Int32 = 0
        let result = sqlite3_wal_checkpoint_v2(handle, nil, mode, &inLog, &moved)
        guard result == SQLITE_OK else { throw SQLiteError(result, handle, doing: "checkpointing") }
        logPages.pointee = inLog - moved
    }

    var isOpen: Bool { handle != nil }

    func open() throws(SQLiteError) -> OpaquePointer {
        guard let handle else { throw SQLiteError(SQLITE_MISUSE, nil, doing: "using a closed database") }
        return handle
    }
}

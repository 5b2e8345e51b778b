internal import BridgeSQLite
internal import Glibc
internal import RoomsRuntime

/// Makes a new store of what can be read of a damaged one, which is moved aside and stays as it is.
///
/// Every step may be the last before a crash: the mark is written first and goes last, and what it names is done again.
/// 1. the mark, which tells how the old files are to be called;
/// 2. database and log get those names;
/// 3. a new database beside them is filled;
/// 4. it takes the place of the old one.
struct Salvage {
    private static let markName = "store.salvage"

    /// Where the store is looked for.
    private let path: String
    /// Where the damaged one lies.
    let aside: String
    private let mark: String
    private let logger: Logger

    /// The one that was begun or asked for; nil: none.
    init?(pendingAt path: String, logger: Logger) {
        let mark = Self.mark(of: path)
        let descriptor = open(mark, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = read(descriptor, &bytes, bytes.count)
        let stamp = bytes.prefix(max(0, count)).prefix { Self.isStamp($0) }
        // A mark that was not written whole was never obeyed: nothing was moved yet.
        let text = stamp.isEmpty ? Self.stamp() : String(decoding: stamp, as: UTF8.self)
        self.init(path, stamp: text, logger)
    }

    private init(_ path: String, stamp: String, _ logger: Logger) {
        self.path = path
        aside = "\(path).damaged-\(stamp)"
        mark = Self.mark(of: path)
        self.logger = logger
    }

    /// Notes that the store is damaged, for the next start; what cannot be noted is found out again.
    static func request(of path: String) {
        let descriptor = open(mark(of: path), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        let text = Array(stamp().utf8)
        _ = write(descriptor, text, text.count)
        fdatasync(descriptor)
        syncDirectory(of: path)
    }

    /// Takes all steps that were not taken yet; `progress` is called now and then.
    func run(_ progress: @escaping () -> Void = {}) throws(StoreError) -> SalvagedRows.Sum {
        logger.critical(
            "the store is damaged: what can be read of it is saved, and it is moved aside as it is",
            LogField(.path, aside)
        )
        for suffix in ["-wal", "-shm", ""] { try move(path + suffix, to: aside + suffix) }
        Self.syncDirectory(of: path)
        let new = path + ".new"
        for suffix in ["", "-wal", "-shm"] { unlink(new + suffix) }
        try StoreFiles.makeFile(new)
        let saved: SalvagedRows.Sum
        do throws(SQLiteError) {
            saved = try fill(new, progress)
        } catch {
            throw StoreError(error, path: new)
        }
        Self.sync(new, O_RDWR)
        guard rename(new, path) == 0 else { throw failure("\(new): cannot be renamed") }
        Self.syncDirectory(of: path)
        unlink(mark)
        Self.syncDirectory(of: path)
        report(saved)
        return saved
    }

    private func report(_ saved: SalvagedRows.Sum) {
        if saved.nameless > 0 {
            logger.critical(
                "events were saved of rooms or endpoints whose names are lost: they are kept in quarantine",
                LogField(.path, path),
                LogField(.count, saved.nameless)
            )
        }
        guard saved.rooms > 0 || saved.nameless > 0 else {
            return logger.critical(
                "nothing of the damaged store could be read: rooms begin where the configuration says",
                LogField(.path, path)
            )
        }
        logger.notice(
            "the store was saved as far as it could be read; where events are missing, endpoints get gaps",
            LogField(.path, path),
            LogField(.count, saved.rows),
            LogField(.missing, saved.gaps)
        )
    }

    private func fill(_ new: String, _ progress: @escaping () -> Void) throws(SQLiteError) -> SalvagedRows.Sum {
        let database = try Database(path: new)
        database.watchProgress(progress)
        progress()
        // What is read of the old one must not be written to it when it is closed.
        database.keepLogOnClose(true)
        try database.execute(Schema.lockingPragma, doing: "locking the database")
        try StoreFiles.create(database)
        let quoted = aside.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''")
        var isReadable = true
        do throws(SQLiteError) {
            try database.execute("ATTACH '\(quoted)' AS old", doing: "opening the damaged store")
        } catch {
            guard error.isDamage else { throw error }
            isReadable = false
        }
        var sum = SalvagedRows.Sum()
        if isReadable { sum = try SalvagedRows(database).copy() }
        database.keepLogOnClose(false)
        try database.checkpoint(.truncate)
        database.close()
        return sum
    }

    // MARK: files

    private func move(_ from: String, to: String) throws(StoreError) {
        var status = stat()
        guard stat(from, &status) == 0, stat(to, &status) != 0 else { return }
        guard rename(from, to) == 0 else { throw failure("\(from): cannot be moved to \(to)") }
    }

    private func failure(_ what: String) -> StoreError {
        let reason = errno
        return StoreError(
            code: .cannotCreate,
            message: "\(what): \(String(cString: strerror(reason))); "
                + "the state directory and its files must be writable for this user",
            systemError: reason
        )
    }

    private static func mark(of path: String) -> String {
        directory(of: path) + "/" + markName
    }

    private static func directory(of path: String) -> Substring {
        path.lastIndex(of: "/").map { path[..<$0] } ?? "."
    }

    /// A rename is on disk when its directory is.
    private static func syncDirectory(of path: String) {
        sync(String(directory(of: path)), O_RDONLY | O_DIRECTORY)
    }

    private static func sync(_ path: String, _ flags: CInt) {
        let descriptor = open(path, flags | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        fsync(descriptor)
        close(descriptor)
    }

    /// The time, UTC, as it can stand in a name.
    private static func stamp() -> String {
        var now = time(nil)
        var parts = tm()
        gmtime_r(&now, &parts)
        var text = [CChar](repeating: 0, count: 32)
        let count = strftime(&text, text.count, "%Y%m%dT%H%M%SZ", &parts)
        return String(decoding: text.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    private static func isStamp(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || byte == UInt8(ascii: "T") || byte == UInt8(ascii: "Z")
    }
}

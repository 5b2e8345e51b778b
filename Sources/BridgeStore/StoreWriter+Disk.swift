internal import BridgeSQLite
internal import RoomsRuntime

/// What a full disk changes: nothing more comes in, what is stored goes on, and that makes room.
extension StoreWriter {
    /// With nothing to commit, only a write of no use tells whether there is space again.
    func probeDisk(_ now: Instant) throws(SQLiteError) {
        probeAt = now + WriteBatch.retryDelay
        guard space.allowsMore(now, wasFull: true) else { return }
        do {
            try ledger.rewriteTally()
            try ledger.database.checkpoint(.passive)
            noteDisk(isFull: false, nil)
        } catch {
            guard case .full = error.code else { throw error }
        }
    }

    func noteDisk(isFull: Bool, _ error: SQLiteError?) {
        guard isFull != isDiskFull else { return }
        isDiskFull = isFull
        probeAt = SystemClock.now + WriteBatch.retryDelay
        admission.withLock { $0.diskIsFull(isFull) }
        if isFull {
            space.dropBallast()
            logger.error(
                "the disk is full: nothing more comes in until there is space, what is stored goes on",
                LogField(.path, ledger.path),
                LogField(.error, error?.description ?? "less than \(DiskSpace.reserve >> 20) MiB are free")
            )
        } else {
            space.takeBallast()
            logger.notice("the disk has space again", LogField(.path, ledger.path))
        }
    }

    /// A full disk only puts it off.
    func checkpoint(_ kind: Database.Checkpoint) throws(SQLiteError) {
        _ = try unlessFull { () throws(SQLiteError) in try ledger.database.checkpoint(kind) }
    }

    /// False: the disk is full, which is noted; whatever else goes wrong is the end.
    func unlessFull(_ work: () throws(SQLiteError) -> Void) throws(SQLiteError) -> Bool {
        do {
            try work()
            return true
        } catch {
            guard case .full = error.code else { throw error }
            noteDisk(isFull: true, error)
            return false
        }
    }
}

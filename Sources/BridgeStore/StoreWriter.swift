internal import BridgeModel
internal import BridgeSQLite
internal import RoomsRuntime

/// The thread's work: takes what waits, commits it group by group, reads and sweeps in between, checkpoints.
///
/// Lives on the loop "store-writer".
final class StoreWriter {
    /// Bounds of what is read between two commits.
    private static let sliceRows = 500
    private static let sliceBytes = 256 << 10
    /// Pages in the log at which they are moved into the database.
    private static let checkpointPages = 1_000
    /// Quiet time after which the log is cut to nothing.
    private static let idleDelay = Duration.seconds(5)

    let ledger: Ledger
    /// The loop keeps the writer, not the other way round.
    private unowned let loop: EventLoop
    private let inbox: Inbox<StoreCommand>
    /// They stay in here until they are due: handing them in then wakes this thread once, not each time.
    private let settlements: Inbox<[Settlement]>
    let admission: Lock<Admission>
    private let published: Lock<StoreCounts>
    private let deadLetters: Lock<[EndpointID: DeadLetterSum]>
    private let deadLetterLimit: Int64
    private let ports: StorePorts
    let logger: Logger

    private var commands: [StoreCommand] = []
    private var settled: [[Settlement]] = []
    /// When the oldest of the settlements that wait was seen.
    private var settlementsSince: Instant?
    private var batch = WriteBatch()
    private var marks: EndpointMarks
    private let losses: LossKeeper
    private let feeder: RetryFeeder
    private var jobs: [(job: DeadLetterJob, done: @Sendable (DeadLetterAnswer) -> Void)] = []
    private var passes: [(pass: RefillPass, done: @Sendable (RefillResult) -> Void)] = []
    private var timer: (id: TimerID, deadline: Instant)?
    private var lastWork: Instant
    private var isBufferFull = false
    var isDiskFull = false
    var probeAt = Instant.distantFuture
    var space: DiskSpace
    private let anchor: Anchor
    private var anchorAt = Instant(nanoseconds: 0)
    private var hasFailed = false
    private var isStopping = false
    private var isFinished = false

    init(
        ledger: Ledger,
        loop: EventLoop,
        inbox: Inbox<StoreCommand>,
        settlements: Inbox<[Settlement]>,
        admission: Lock<Admission>,
        published: Lock<StoreCounts>,
        deadLetters: Lock<[EndpointID: DeadLetterSum]>,
        deadLetterLimit: Int64,
        ports: StorePorts,
        logger: Logger
    ) {
        self.ledger = ledger
        self.loop = loop
        self.inbox = inbox
        self.settlements = settlements
        self.admission = admission
        self.published = published
        self.deadLetters = deadLetters
        self.deadLetterLimit = deadLetterLimit
        feeder = RetryFeeder(ledger)
        self.ports = ports
        self.logger = logger
        let size = admission.withLock { $0.maxSize }
        marks = EndpointMarks(size: size)
        lastWork = SystemClock.now
        space = DiskSpace(path: ledger.path)
        space.takeBallast()
        anchor = Anchor(path: ledger.path, storeID: ledger.storeID)
        losses = LossKeeper(ledger, size: size, logger: logger, now: lastWork)
    }

    /// Everything there is to do now; runs whenever the loop was woken or a deadline came.
    func turn() {
        guard !isFinished else { return }
        takeCommands()
        guard !hasFailed else { return finishIfAsked() }
        do {
            try commitDue()
            try lose()
            try serveOperator()
            try read()
            try sweep()
            try truncateWhenIdle()
            dropAnchor()
        } catch {
            fail(error)
        }
        tellAdmission()
        finishIfAsked()
        if !isStopping, !hasFailed { arm() }
    }

    private func takeCommands() {
        inbox.drain(into: &commands)
        let now = SystemClock.now
        for command in commands {
            switch command {
            case .append(let records): batch.add(records)
            case .hold(let scope, let hold): batch.add(hold, of: scope, now: now)
            case .refill(let request, let done): passes.append((RefillPass(request, ledger), done))
            case .deadLetters(let request, let done): jobs.append((DeadLetterJob(request, ledger), done))
            case .status(let done): done(ledger.status(admission.withLock { $0 }))
            case .stop: isStopping = true
            }
        }
        commands.removeAll(keepingCapacity: true)
        takeSettlements(now)
    }

    /// With the records that are due now, or when they have waited long enough for such company.
    private func takeSettlements(_ now: Instant) {
        guard !settlements.isEmpty else { return }
        let since = settlementsSince ?? now
        let isDue = since + WriteBatch.patience <= now || batch.due().map { $0 <= now } == true
        guard isDue || isDiskFull || isStopping else {
            settlementsSince = since
            return
        }
        settlementsSince = nil
        settlements.drain(into: &settled)
        for group in settled { batch.add(group, now: since) }
        settled.removeAll(keepingCapacity: true)
    }

    // MARK: committing

    private func commitDue() throws(SQLiteError) {
        let now = SystemClock.now
        if isDiskFull, batch.isEmpty, probeAt <= now { try probeDisk(now) }
        while let due = batch.due(), due <= now || isStopping {
            guard try commitGroup() else { return }
        }
    }

    /// False when the disk is full.
    ///
    /// What is settled frees pages, so it is tried alone then: a full disk empties itself.
    private func commitGroup() throws(SQLiteError) -> Bool {
        let now = SystemClock.now
        lastWork = now
        if space.allowsMore(now, wasFull: isDiskFull) {
            do {
                try commit(batch.next(now: now))
                noteDisk(isFull: false, nil)
                return true
            } catch {
                guard case .full = error.code else { throw error }
                noteDisk(isFull: true, error)
            }
        } else {
            noteDisk(isFull: true, nil)
        }
        let settlements = batch.next(now: now, takesRecords: false)
        if batch.waitingRecords > 0, !settlements.settlements.isEmpty {
            do {
                try commit(settlements)
            } catch {
                guard case .full = error.code else { throw error }
            }
        }
        batch.postpone(now: now)
        return false
    }

    private func commit(_ group: WriteBatch.Group) throws(SQLiteError) {
        let deliveries = try ledger.commit(group.records, group.settlements, group.holds)
        let bytes = batch.committed()
        publishCounts()
        feeder.settled(group.settlements)
        noteDeadLetters()
        admission.withLock { $0.took(bytes) }
        noteStored()
        if !deliveries.isEmpty { ports.committed(deliveries) }
        if ledger.database.pagesInLog >= Self.checkpointPages { try checkpoint(.passive) }
    }

    // MARK: between commits

    /// One slice of the pass that has waited longest; the others follow in turn.
    private func read() throws(SQLiteError) {
        guard !passes.isEmpty, !isStopping else { return }
        let (pass, done) = passes.removeFirst()
        if let result = try pass.advance(rows: Self.sliceRows, bytes: Self.sliceBytes, ledger) {
            done(result)
        } else {
            passes.append((pass, done))
        }
        lastWork = SystemClock.now
        if !passes.isEmpty { loop.wake() }
    }

    private func sweep() throws(SQLiteError) {
        guard ledger.hasSweep, batch.isEmpty, passes.isEmpty, !isStopping, !isDiskFull else { return }
        guard try unlessFull({ () throws(SQLiteError) in try ledger.sweep(limit: Self.sliceRows) }) else { return }
        publishCounts()
        noteStored()
        if ledger.database.pagesInLog >= Self.checkpointPages { try checkpoint(.passive) }
        loop.wake()
    }

    /// One slice of what an operator wants, and dead letters that are to be sent again.
    private func serveOperator() throws(SQLiteError) {
        // Also with a full disk: what is removed makes room.
        guard !isStopping else { return }
        _ = try unlessFull { () throws(SQLiteError) in
            if let (job, done) = jobs.first {
                if let answer = try job.advance(ledger) {
                    job.report(answer, logger)
                    jobs.removeFirst()
                    feeder.marked(ledger)
                    noteDeadLetters()
                    done(answer)
                }
                if !jobs.isEmpty { loop.wake() }
            }
            guard feeder.hasWork else { return }
            let deliveries = try feeder.next(ledger)
            if !deliveries.isEmpty { ports.retried(deliveries) }
        }
    }

    /// Tells of places that there are again.
    private func noteDeadLetters() {
        let sums = ledger.deadLetters
        let before = deadLetters.withLock { known in
            defer { if known != sums { known = sums } }
            return known
        }
        for (endpoint, sum) in before where sum.bytes >= deadLetterLimit {
            if sums[endpoint]?.bytes ?? 0 < deadLetterLimit { ports.freed(endpoint) }
        }
    }

    /// What endpoints have lost by damage, and one slice of what they may lose.
    private func lose() throws(SQLiteError) {
        let missing = ledger.takeShortLanes()
        if !missing.isEmpty { ports.lost(missing) }
        guard !isStopping, !isDiskFull else { return }
        let isDone = try unlessFull { () throws(SQLiteError) in
            let ports = ports
            let isBusy = try losses.step(now: SystemClock.now, wall: SystemClock.wallMilliseconds) { ports.lost($0) }
            if isBusy { loop.wake() }
        }
        if isDone { publishCounts() }
    }

    private func truncateWhenIdle() throws(SQLiteError) {
        guard ledger.database.pagesInLog > 0, SystemClock.now - lastWork >= Self.idleDelay else { return }
        try checkpoint(.truncate)
    }

    /// At most once a second, and at the end.
    private func dropAnchor() {
        let now = SystemClock.now
        guard anchor.isBehind(ledger.catalog.tally.nextRow), now >= anchorAt || isStopping else { return }
        anchorAt = now + Anchor.interval
        anchor.write(ledger.catalog.tally.nextRow)
    }

    private func publishCounts() {
        let counts = ledger.counts
        published.withLock { $0 = counts }
    }

    private func tellAdmission() {
        noteStored()
        noteBuffer()
        if let isOpen = admission.withLock({ $0.takeNews() }) { ports.admission(isOpen) }
    }

    /// What waits now, in all and for each endpoint.
    private func noteStored() {
        let waiting = ledger.counts.waitingBytes
        let losing = ledger.lossRules.contains { $0.value.onOverflow }
        let all = ledger.catalog.held
        let held = losing ? all.filter { ledger.lossRules[$0.key]?.onOverflow != true } : all
        let changes = marks.update(waiting: waiting, held: held)
        admission.withLock { $0.stored(waiting, crowded: marks.overBytes) }
        guard !isStopping, !hasFailed else { return }
        for change in changes {
            let fields = [
                LogField(.endpoint, ledger.endpointNames[change.endpoint] ?? .empty), LogField(.bytes, change.held),
                LogField(.limit, marks.size),
            ]
            if change.isOver {
                logger.log(
                    .warning,
                    "an endpoint holds too much of the buffer: its rooms are left until it accepts some",
                    fields
                )
            } else {
                logger.log(.notice, "an endpoint holds less of the buffer again: its rooms are joined again", fields)
            }
            ports.crowded(change.endpoint, change.isOver)
        }
    }

    private func noteBuffer() {
        let isFull = admission.withLock { $0.isBufferFull }
        guard isFull != isBufferFull, !isStopping, !hasFailed else { return }
        isBufferFull = isFull
        let fields = [
            LogField(.path, ledger.path), LogField(.bytes, ledger.counts.waitingBytes),
            LogField(.limit, admission.withLock { $0.maxSize }),
        ]
        if isFull {
            logger.log(.warning, "the buffer is full: nothing more comes in until endpoints accept what waits", fields)
        } else {
            logger.log(.notice, "the buffer has room again: intake goes on", fields)
        }
    }

    /// Sets the one timer to what comes first: a commit that is due, or the end of the quiet time.
    private func arm() {
        var deadline = batch.due()
        if let settlementsSince {
            deadline = min(deadline ?? .distantFuture, settlementsSince + WriteBatch.patience)
        }
        if let due = losses.deadline { deadline = min(deadline ?? .distantFuture, due) }
        if deadline == nil, isDiskFull { deadline = probeAt }
        if anchor.isBehind(ledger.catalog.tally.nextRow) { deadline = min(deadline ?? .distantFuture, anchorAt) }
        if deadline == nil, ledger.database.pagesInLog > 0 { deadline = lastWork + Self.idleDelay }
        guard let deadline else { return }
        if let timer {
            if timer.deadline <= deadline, timer.deadline > SystemClock.now { return }
            loop.cancel(timer.id)
        }
        let id = loop.schedule(at: deadline) { [unowned self] in
            timer = nil
            turn()
        }
        timer = (id, deadline)
    }

    // MARK: the end

    private func fail(_ error: SQLiteError) {
        hasFailed = true
        // After a failed write only a fresh start may move anything: it reads what is really there.
        ledger.database.keepLogOnClose(true)
        let failure = ledger.failure(error)
        logger.critical(
            "the store cannot go on",
            LogField(.error, failure.message),
            LogField(.code, error.code.rawValue)
        )
        ports.failed(failure)
    }

    private func finishIfAsked() {
        guard isStopping else { return }
        if !hasFailed {
            if batch.waitingRecords > 0 {
                logger.warning(
                    "stopped with a full disk: the server keeps what could not be stored",
                    LogField(.count, batch.waitingRecords)
                )
            }
            do {
                try checkpoint(.truncate)
            } catch {
                fail(error)
            }
        }
        isFinished = true
        ledger.close()
        loop.stop()
    }
}

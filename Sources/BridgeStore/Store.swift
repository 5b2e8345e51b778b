package import BridgeModel
internal import BridgeSQLite
internal import Glibc
package import RoomsRuntime

/// The durable buffer between the server and the endpoints: events, positions and lanes of one state directory.
///
/// `open`, then `configure`, then `start`, on one thread; after that everything may be called from anywhere.
package final class Store: Sendable {
    package let loop = EventLoop(name: "store-writer")
    private let inbox: Inbox<StoreCommand>
    private let settlements: Inbox<[Settlement]>
    private let admission: Lock<Admission>
    private let published = Lock(StoreCounts())
    private let deadLetters: Lock<[EndpointID: DeadLetterSum]>
    private let deadLetterLimit: Int64
    private let logger: Logger
    // Safety: used before `start` by its caller, afterwards on the loop's thread alone.
    nonisolated(unsafe) let ledger: Ledger
    /// Whether `open` made it: what it says of positions is that there are none.
    package let isNew: Bool
    private let isStarted = Lock(false)

    private init(_ options: StoreOptions, _ ledger: Ledger, logger: Logger) {
        inbox = Inbox { [loop] in loop.wake() }
        settlements = Inbox { [loop] in loop.wake() }
        admission = Lock(Admission(inboxLimit: options.inboxLimit, maxSize: options.maxSize))
        deadLetters = Lock(ledger.deadLetters)
        deadLetterLimit = Int64(options.maxDeadLetters)
        self.ledger = ledger
        isNew = ledger.isNew
        self.logger = logger
    }

    /// Locks the state directory and opens what is in it, or makes it.
    ///
    /// `progress` is called while something moves that may take long.
    package static func open(
        _ options: StoreOptions,
        logger: Logger,
        progress: @escaping () -> Void = {}
    ) throws(StoreError) -> Store {
        try StoreFiles.makeDirectory(options.directory)
        let ledger = try StoreFiles.openLedger(in: options.directory, logger: logger, progress: progress)
        return Store(options, ledger, logger: logger)
    }

    /// Tells which rooms, endpoints and routes (sets of indices into `endpoints`) there are; before `start`.
    ///
    /// `rules` are parallel to `endpoints`; without them nobody loses anything.
    /// An endpoint that is gone loses its lanes; a room that is gone keeps its position and what waits for it.
    package func configure(
        rooms: [RoomKey],
        endpoints: [ByteString],
        losing rules: [LossRule] = [],
        routes: [[Int]]
    ) throws(StoreError) -> StoreSnapshot {
        do {
            return try ledger.configure(rooms: rooms, endpoints: endpoints, losing: rules, routes: routes)
        } catch {
            throw ledger.failure(error)
        }
    }

    /// Starts the writer's thread.
    package func start(_ ports: StorePorts) {
        isStarted.withLock { $0 = true }
        let counts = ledger.counts
        published.withLock { $0 = counts }
        admission.withLock { $0.stored(counts.waitingBytes) }
        let writer = StoreWriter(
            ledger: ledger,
            loop: loop,
            inbox: inbox,
            settlements: settlements,
            admission: admission,
            published: published,
            deadLetters: deadLetters,
            deadLetterLimit: deadLetterLimit,
            ports: ports,
            logger: logger
        )
        loop.onWake { writer.turn() }
        loop.start()
        loop.wake()
    }

    /// Takes records to commit, whatever the answer; false: hand in no more until `admission(true)`.
    package func append(_ records: [AppendRecord]) -> Bool {
        var bytes = 0
        for record in records { bytes += record.bytes }
        let isOpen = admission.withLock { $0.handIn(bytes) }
        inbox.put(.append(records))
        return isOpen
    }

    package func settle(_ settlements: [Settlement]) {
        guard !settlements.isEmpty else { return }
        self.settlements.put(settlements)
    }

    /// Keeps what an endpoint or one of its rooms waits for; nil: it waits no more.
    package func hold(_ scope: HoldScope, _ hold: StoredHold?) {
        inbox.put(.hold(scope, hold))
    }

    /// Reads what waits for some lanes; `done` runs on the writer's thread, in one order with `committed`.
    package func refill(_ request: RefillRequest, _ done: @escaping @Sendable (RefillResult) -> Void) {
        inbox.put(.refill(request, done))
    }

    /// Does what an operator wants of the dead letters; `done` runs on the writer's thread, unless the store stops before.
    package func deadLetters(_ request: DeadLetterRequest, _ done: @escaping @Sendable (DeadLetterAnswer) -> Void) {
        inbox.put(.deadLetters(request, done))
    }

    /// What is held for whom; `done` runs on the writer's thread, unless the store stops before.
    package func status(_ done: @escaping @Sendable (StoreStatus) -> Void) {
        inbox.put(.status(done))
    }

    /// As the last commit left them.
    package var counts: StoreCounts { published.withLock { $0 } }

    /// Whether one more dead letter of that endpoint may come, as the last commit left them.
    package func hasPlaceForDeadLetter(of endpoint: EndpointID) -> Bool {
        deadLetters.withLock { $0[endpoint]?.bytes ?? 0 } < deadLetterLimit
    }

    /// Commits what waits, moves the log into the database, closes and unlocks it; refills under way are not answered.
    package func stop() {
        guard isStarted.withLock({ $0 }) else { return ledger.close() }
        inbox.put(.stop)
        loop.join()
    }
}

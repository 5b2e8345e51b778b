internal import BridgeModel
internal import RoomsHTTP
internal import RoomsRuntime
internal import RoomsTransport

/// Drives one endpoint: what the state machine decides goes out over its connections.
///
/// Belongs to the loop's thread.
final class Endpoint: HTTPConnectionOwner {
    let settings: EndpointSettings
    private let transport: TransportLoop
    private let writer: RequestWriter
    private let classifier: ResponseClassifier
    private let report: EndpointReport
    private let buffer: UnsafeMutableRawBufferPointer
    private let settled: (Settlement) -> Void
    private let held: (EndpointHold?) -> Void
    private let hasPlaceForDeadLetter: () -> Bool
    private let refill: (RefillRequest) -> Void
    private(set) var machine: EndpointStateMachine
    private var connections: [HTTPConnection] = []
    /// Those without a request, the last used at the end: it is the least likely to have been closed by the peer.
    private var free: [HTTPConnection] = []
    private var armed = Instant.distantFuture
    private var timer: TimerID?
    private var isPumping = false
    private var isClosed = false
    /// Looks for the endpoint's socket while there is no connection to it.
    private var socketWatch: PathWatch?

    init(
        _ settings: EndpointSettings,
        transport: TransportLoop,
        storeID: ByteString,
        buffer: UnsafeMutableRawBufferPointer,
        logger: Logger,
        settled: @escaping (Settlement) -> Void,
        held: @escaping (EndpointHold?) -> Void,
        hasPlaceForDeadLetter: @escaping () -> Bool,
        refill: @escaping (RefillRequest) -> Void
    ) {
        self.settings = settings
        self.transport = transport
        self.buffer = buffer
        self.settled = settled
        self.held = held
        self.hasPlaceForDeadLetter = hasPlaceForDeadLetter
        self.refill = refill
        writer = RequestWriter(
            beginning: Self.beginning(settings),
            storeID: storeID,
            keys: settings.signing,
            format: settings.format
        )
        classifier = ResponseClassifier(settings.statusPolicy)
        report = EndpointReport(logger: logger.with(LogField(.endpoint, settings.name)))
        machine = EndpointStateMachine(
            id: settings.id,
            limits: EndpointStateMachine.Limits(
                concurrency: max(1, settings.concurrency),
                laneBytes: settings.laneBytes,
                totalBytes: settings.totalBytes
            ),
            schedule: settings.retry,
            random: { UInt32.random(in: 0 ... .max) }
        )
    }

    // MARK: what comes in

    /// Runs `change` on the machine; `pump` has to follow once all changes of the moment are made.
    func update(_ change: (inout EndpointStateMachine) -> Void) {
        change(&machine)
    }

    /// Begins all that may begin.
    func pump() {
        // An attempt that ends at once comes back here: the outer round goes on with it.
        guard !isPumping, !isClosed else { return }
        isPumping = true
        defer { isPumping = false }
        let now = transport.loop.now
        var wallTime: Int64?
        while let attempt = machine.nextAttempt(now) {
            let time = wallTime ?? SystemClock.wallMilliseconds
            wallTime = time
            begin(attempt, time)
        }
        if let request = machine.nextRefill() { refill(request) }
        if let deadline = machine.nextDeadline() { arm(deadline) }
    }

    /// Closes every connection; what was on its way stays unsettled.
    func close() {
        isClosed = true
        if let timer { transport.loop.cancel(timer) }
        for connection in connections { connection.close() }
        socketWatch?.cancel()
        socketWatch = nil
    }

    /// A Unix socket that comes back is noticed at once, not when the next wait is over.
    private func watchSocket() {
        guard let path = settings.target.unixPath, !isClosed else { return }
        guard machine.hold?.isUnreachable == true else {
            socketWatch?.cancel()
            socketWatch = nil
            return
        }
        guard socketWatch == nil else { return }
        // It may tell while it is being made, in the middle of our turn.
        socketWatch = PathWatch(path, on: transport.loop) { [weak self] in
            guard let self else { return }
            transport.loop.schedule(after: .zero) { [weak self] in
                guard let self, !isClosed else { return }
                machine.hurry(transport.loop.now)
                pump()
            }
        }
    }

    // MARK: connections

    func finished(_ connection: HTTPConnection, _ result: AttemptResult) {
        free.append(connection)
        guard let attempt = connection.attempt.take() else { return }
        let verdict = classifier.judge(result)
        if case .refused(let refusal) = verdict {
            if refusal.wantsNewConnection { connection.close() }
            if refusal.scope == .event { machine.isFullOfDeadLetters = !hasPlaceForDeadLetter() }
        }
        let wasHeld = machine.hold
        let outcome = machine.finish(attempt, verdict, transport.loop.now, wall: SystemClock.wallMilliseconds)
        if machine.hold?.until != wasHeld?.until { held(machine.hold?.kept(transport.loop.now)) }
        watchSocket()
        for settlement in outcome.deadLetters { settled(settlement) }
        if let settlement = outcome.settlement { settled(settlement) }
        if outcome.endpoint != nil || outcome.lane != nil || !outcome.deadLetters.isEmpty {
            report.write(outcome, room: machine.lanes[attempt.lane].room)
        }
        pump()
    }

    func mayRetry(_ connection: HTTPConnection) -> Bool {
        connection.attempt.map { machine.mayRetry($0) } ?? false
    }

    func tookBack(_ connection: HTTPConnection) {
        free.append(connection)
        guard let attempt = connection.attempt.take() else { return }
        machine.takeBack(attempt)
        pump()
    }

    func arm(_ deadline: Instant) {
        guard deadline < armed, !isClosed else { return }
        if let timer { transport.loop.cancel(timer) }
        armed = deadline
        timer = transport.loop.schedule(at: deadline) { [weak self] in self?.expire() }
    }

    private func begin(_ attempt: EndpointStateMachine.Attempt, _ wallTime: Int64) {
        guard let delivery = machine.lanes[attempt.lane].current else { return }
        let connection = takeConnection()
        connection.attempt = attempt
        writer.write(
            delivery,
            previousSeq: machine.lanes[attempt.lane].acknowledged,
            skipped: machine.lanes[attempt.lane].skippedBefore,
            attempt: attempt.number,
            now: wallTime,
            into: &connection.request
        )
        connection.perform()
    }

    /// An open one if there is one, else one that has to connect.
    private func takeConnection() -> HTTPConnection {
        if let index = free.lastIndex(where: \.isOpen) { return free.remove(at: index) }
        if let connection = free.popLast() { return connection }
        let connection = HTTPConnection(transport, settings, buffer: buffer, owner: self)
        connections.append(connection)
        return connection
    }

    /// One timer serves all deadlines of the endpoint: they are looked through when the earliest comes.
    private func expire() {
        armed = .distantFuture
        timer = nil
        let now = transport.loop.now
        for connection in connections { connection.check(now) }
        machine.wake(now)
        pump()
        let earliest = connections.lazy.map(\.deadline).min() ?? .distantFuture
        if earliest < .distantFuture { arm(earliest) }
    }

    private static func beginning(_ settings: EndpointSettings) -> RequestHead {
        do throws(RequestError) {
            return try settings.requestBeginning()
        } catch {
            preconditionFailure("the configuration let through what cannot stand in a request: \(error)")
        }
    }
}

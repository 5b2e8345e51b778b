internal import BridgeModel
internal import RoomsRuntime
internal import RoomsTransport

/// Drives one endpoint: what the state machine decides goes out through its carrier.
///
/// Belongs to the loop's thread.
final class Endpoint: CarrierOwner {
    private static let fullCarrierPause = Duration.milliseconds(20)

    private(set) var settings: EndpointSettings
    private let transport: TransportLoop
    private let report: EndpointReport
    private let settled: (Settlement) -> Void
    private let held: (RoomID?, StoredHold?) -> Void
    private let hasPlaceForDeadLetter: () -> Bool
    private let refill: (RefillRequest) -> Void
    private(set) var machine: EndpointStateMachine
    private var carrier: (any Carrier)?
    private var armed = Instant.distantFuture
    private var timer: TimerID?
    private var isPumping = false
    /// Something ended while attempts were begun.
    private var wantsPump = false
    private var isClosed = false
    /// Why it did not accept an event, lately.
    private(set) var lastRefusal: Refusal?
    private var clock = ClockComparison()
    /// Looks for the endpoint's socket while there is no connection to it.
    private var socketWatch: PathWatch?

    init(
        _ settings: EndpointSettings,
        transport: TransportLoop,
        storeID: ByteString,
        buffer: UnsafeMutableRawBufferPointer,
        logger: Logger,
        settled: @escaping (Settlement) -> Void,
        held: @escaping (RoomID?, StoredHold?) -> Void,
        hasPlaceForDeadLetter: @escaping () -> Bool,
        refill: @escaping (RefillRequest) -> Void
    ) {
        self.settings = settings
        self.transport = transport
        self.settled = settled
        self.held = held
        self.hasPlaceForDeadLetter = hasPlaceForDeadLetter
        self.refill = refill
        report = EndpointReport(logger: logger.with(LogField(.endpoint, settings.name)))
        machine = EndpointStateMachine(
            id: settings.id,
            limits: EndpointStateMachine.Limits(
                concurrency: max(1, settings.concurrency),
                laneBytes: settings.laneBytes,
                totalBytes: settings.totalBytes,
                infersPoison: settings.infersPoison,
                batch: settings.batch
            ),
            schedule: settings.retry,
            random: { UInt32.random(in: 0 ... .max) }
        )
        if let stream = settings.stream {
            carrier = StreamCarrier(
                settings,
                stream,
                transport: transport,
                storeID: storeID,
                buffer: buffer,
                logger: logger.with(LogField(.endpoint, settings.name)),
                owner: self
            )
        } else {
            carrier = HTTPCarrier(settings, transport: transport, storeID: storeID, buffer: buffer, owner: self)
        }
    }

    // MARK: what comes in

    /// Runs `change` on the machine; `pump` has to follow once all changes of the moment are made.
    func update(_ change: (inout EndpointStateMachine) -> Void) {
        change(&machine)
    }

    /// Begins all that may begin.
    func pump() {
        // An attempt that ends at once comes back here: the outer round goes on with it.
        guard !isPumping, !isClosed, let carrier else { return wantsPump = true }
        isPumping = true
        defer { isPumping = false }
        let now = transport.loop.now
        var wallTime: Int64?
        repeat {
            wantsPump = false
            while carrier.canBegin, let attempt = machine.nextAttempt(now) {
                let time = wallTime ?? SystemClock.wallMilliseconds
                wallTime = time
                begin(attempt, time)
            }
            carrier.flush()
        } while wantsPump
        if let request = machine.nextRefill() { refill(request) }
        // A carrier that cannot begin says when it can: until then nothing is due at once.
        if let deadline = machine.nextDeadline() {
            arm(carrier.canBegin ? deadline : max(deadline, now + Self.fullCarrierPause))
        }
    }

    func renew(_ credentials: EndpointCredentials) {
        settings.use(credentials)
        carrier?.renew(settings)
    }

    func sawDate(_ date: Int64) {
        let time = date.multipliedReportingOverflow(by: 1_000).partialValue
        clock.compare(own: SystemClock.wallMilliseconds, other: time).map(report.writeSkew)
    }

    func connectionEnded() {
        machine.endPostponements()
    }

    func goOn() {
        pump()
    }

    /// Closes every connection; what was on its way stays unsettled.
    func close() {
        isClosed = true
        if let timer { transport.loop.cancel(timer) }
        carrier?.close()
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

    // MARK: the carrier

    func finished(_ attempt: EndpointStateMachine.Attempt, _ verdict: Verdict) {
        if verdict.refusal?.scope == .event {
            machine.isFullOfDeadLetters = !hasPlaceForDeadLetter()
        }
        if case .refused(let refusal) = verdict { lastRefusal = refusal }
        let wasHeld = machine.hold
        let (now, wall) = (transport.loop.now, SystemClock.wallMilliseconds)
        let outcome = machine.finish(attempt, verdict, now, wall: wall)
        if machine.hold?.until != wasHeld?.until { held(nil, machine.storedHold(now, wall: wall)) }
        if let stored = machine.takeStoredHold(of: attempt.lane, now, wall: wall) {
            held(machine.lanes[attempt.lane].lane.room, stored)
        }
        watchSocket()
        for settlement in outcome.deadLetters { settled(settlement) }
        if let settlement = outcome.settlement { settled(settlement) }
        for settlement in outcome.behind { settled(settlement) }
        if outcome.isNews {
            report.write(outcome, room: machine.lanes[attempt.lane].room)
        }
    }

    func mayRetry(_ attempt: EndpointStateMachine.Attempt) -> Bool {
        machine.mayRetry(attempt)
    }

    func tookBack(_ attempt: EndpointStateMachine.Attempt, isCounted: Bool) {
        machine.takeBack(attempt, isCounted: isCounted)
    }

    func arm(_ deadline: Instant) {
        guard deadline < armed, !isClosed else { return }
        if let timer { transport.loop.cancel(timer) }
        armed = deadline
        timer = transport.loop.schedule(at: deadline) { [weak self] in self?.expire() }
    }

    private func begin(_ attempt: EndpointStateMachine.Attempt, _ wallTime: Int64) {
        guard let delivery = machine.lanes[attempt.lane].current else { return }
        carrier?.begin(
            Consignment(
                attempt: attempt,
                delivery: delivery,
                previousSeq: machine.lanes[attempt.lane].acknowledged,
                skipped: machine.lanes[attempt.lane].skippedBefore,
                wallTime: wallTime,
                batch: settings.batch == nil ? [] : machine.lanes[attempt.lane].records(attempt.count),
                batchBytes: machine.batchBytes
            )
        )
    }

    /// One timer serves all deadlines of the endpoint: they are looked through when the earliest comes.
    private func expire() {
        armed = .distantFuture
        timer = nil
        let now = transport.loop.now
        carrier?.check(now)
        machine.wake(now)
        pump()
        if let deadline = carrier?.deadline, deadline < .distantFuture { arm(deadline) }
    }
}

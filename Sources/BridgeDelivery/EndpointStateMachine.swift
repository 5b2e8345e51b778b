internal import BridgeModel
internal import RoomsRuntime

/// Decides what an endpoint gets next: order in each lane, fairness and concurrency across them, waits after failures, and
/// whose fault a failure is.
///
/// A value without I/O: events come in as calls, the caller pulls the next attempt and the next wish to the store.
///
/// - Open: up to `concurrency` attempts, one per lane. → held when it cannot be reached, when two lanes fail with nothing
///   accepted in between, when it asks for a pause, or when five events in a row are refused.
/// - Held: one attempt, the probe, each time the wait is over; every probe takes the next ready lane.
///   → open by an acceptance, at first with one attempt at a time.
///
/// A refused event is tried as often as its budget says. It is given up when it was refused before and after something else
/// of the endpoint was accepted, or when one behind it is. Otherwise it is set aside, and nothing is known until then.
struct EndpointStateMachine {
    struct Limits {
        var concurrency: Int
        /// What a lane may keep in memory; one record is always allowed.
        var laneBytes: Int
        /// The same for all lanes of the endpoint.
        var totalBytes: Int
        /// An event that fails while others are accepted is given up, although nobody said that it is its own fault.
        var infersPoison = false
        /// Nil: each event for itself.
        var batch: BatchLimits?
    }

    /// An attempt to begin.
    struct Attempt {
        var lane: Int
        /// Counts the attempts for this record, from 1.
        var number: Int
        /// Counts the endpoint's attempts, from 1.
        var serial: UInt64
        /// A failure of the endpoint counts only once for all that were on their way together.
        var epoch: Int
        /// How many records it is for, from the lane's current one on.
        var count = 1
        /// How large that is.
        var bytes = 0
    }

    /// What the end of an attempt changed; nil where nothing did.
    struct Outcome {
        enum Change {
            case held(Refusal, wait: Duration)
            /// Waiting since before, and by all appearances because of one event.
            case suspected(Refusal, failures: Int)
            case recovered(failures: Int, after: Duration)
        }

        /// Given up, in the order of their lane, before `settlement`.
        var deadLetters: [Settlement] = []
        var settlement: Settlement?
        /// Given up or accepted behind `settlement`, in the order of their lane.
        var behind: [Settlement] = []
        var endpoint: Change?
        var lane: Change?

        var isNews: Bool { endpoint != nil || lane != nil || !deadLetters.isEmpty || !behind.isEmpty }
    }

    struct Hold {
        var failures: Int
        var since: Instant
        var until: Instant
        var length: Duration
        /// It was refusals of events that led to it: one more of them is no sign of life.
        var isRejecting = false
        /// No connection came about.
        var isUnreachable = false
        var isProbing = false
        /// What should be given up has no place.
        var isForPlace = false
        /// How many of the next failures wait only for moments.
        var eager = 0
    }

    /// With more held lanes than this, further ones are not reported one by one.
    static let reportedHolds = 8
    /// A hold that comes back within this time goes on where it was.
    static let health = Duration.seconds(10)
    /// A socket's file is there some moments before somebody listens: at 5, 15, 35 ms and so on, within half a second.
    static let eagerProbes = 6
    static let eagerWait = Duration.milliseconds(5)
    /// So many lanes are asked for at once: a row of the store that none of them wants is looked at for nothing.
    static let mostWishes = 16_384
    /// A receiver that wants an event later at once gets no loop.
    static let shortestPostponement = Duration.milliseconds(10)
    /// An event that failed so often, for so long, while so many others were accepted, is likely to be the cause.
    static let leastDoubts = 5
    static let leastDoubtful = Duration.seconds(60)
    static let leastAccepted: UInt64 = 3
    /// So many refused events in a row, and it is not the events.
    static let mostRefused = 5

    let id: EndpointID
    let limits: Limits
    let schedule: RetrySchedule
    let random: () -> UInt32
    var lanes: [LaneQueue] = []
    private var index: [RoomID: Int] = [:]
    private var ready = RingBuffer<Int>()
    var waits = TimerHeap<Int>()
    var inFlight = 0
    var hold: Hold?
    var epoch = 0
    private var serial: UInt64 = 0
    /// How many attempts were accepted.
    var accepted: UInt64 = 0
    /// The youngest attempt that was accepted.
    var lastAccepted: UInt64 = 0
    /// Events that were set aside since then.
    var refusedInARow = 0
    /// Lanes that failed since then, and may do so because the endpoint does.
    var suspects: Set<Int> = []
    var lastHold: (failures: Int, end: Instant)?
    /// How many attempts there may be at a time: less than `concurrency` after a recovery or an overload.
    var allowed: Int
    /// After a recovery each delivery allows one more; after an overload a whole round of them does.
    var growsSlowly = false
    var round = 0
    var heldLanes = 0
    var bytes = 0
    /// No dead letter has a place.
    var isFullOfDeadLetters = false
    /// How large a batch may be, by what the endpoint refused as too large.
    var batchBytes: Int
    /// Lanes whose first event waits for company, in the order of their times; some may have left since.
    var lingering = RingBuffer<(lane: Int, until: Instant)>()
    /// Those that came since the last look at the clock.
    var arrived: [Int] = []
    private var wanting = RingBuffer<Int>()
    private var isAsking = false
    private(set) var isDraining = false

    init(id: EndpointID, limits: Limits, schedule: RetrySchedule, random: @escaping () -> UInt32) {
        self.id = id
        self.limits = limits
        self.schedule = schedule
        self.random = random
        allowed = limits.concurrency
        batchBytes = limits.batch?.maxBytes ?? 0
    }

    // MARK: what comes in

    /// Takes over what the store knows of a lane at start.
    ///
    /// `wall`: milliseconds since 1970.
    mutating func restore(_ state: LaneState, _ now: Instant, wall: Int64) {
        let lane = lanes.count
        index[state.lane.room] = lane
        lanes.append(LaneQueue(state))
        if let hold = state.hold, lanes[lane].isBehind { goOnWaiting(lane, hold, now, wall) }
        want(lane)
    }

    /// A record was committed.
    mutating func admit(_ delivery: PendingDelivery) {
        let lane = lane(of: delivery.lane, delivery.room)
        // Rows come in the order of their commit, each once.
        guard delivery.row > lanes[lane].tail else { return }
        if lanes[lane].isBehind || !fits(delivery, lane) {
            lanes[lane].tail = max(lanes[lane].tail, delivery.row)
            want(lane)
        } else {
            append(delivery, to: lane)
        }
    }

    /// A record was committed that was not sent along.
    mutating func note(_ row: RowID, of lane: Lane, _ room: RoomKey) {
        let lane = self.lane(of: lane, room)
        lanes[lane].tail = max(lanes[lane].tail, row)
        want(lane)
    }

    /// What the lane had up to the gap's row is lost.
    mutating func lose(_ gap: PendingDelivery) {
        let lane = lane(of: gap.lane, gap.room)
        lanes[lane].losses.append(gap)
        if lanes[lane].phase != .inFlight { applyChanges(lane) }
    }

    /// A dead letter is sent again: at the head of its lane, or beside it as a lane of its own.
    mutating func retry(_ letter: PendingDelivery) {
        guard let retry = letter.retry else { return }
        let own = letter.lane
        let beside = Lane(endpoint: own.endpoint, room: RoomID(-own.room.rawValue))
        let lane = lane(of: retry.isInOrder ? own : beside, letter.room)
        lanes[lane].retries.append(letter)
        if lanes[lane].phase != .inFlight { applyChanges(lane) }
    }

    /// What came while an attempt of the lane was on its way.
    mutating func applyChanges(_ lane: Int) {
        guard !lanes[lane].losses.isEmpty || !lanes[lane].retries.isEmpty else { return }
        let size = lanes[lane].bytes
        for gap in lanes[lane].losses { lanes[lane].lose(gap) }
        for letter in lanes[lane].retries {
            let known = index[letter.lane.room].map { lanes[$0].acknowledged }
            lanes[lane].insert(letter, acknowledged: letter.retry?.isInOrder == true ? nil : known)
        }
        lanes[lane].losses = []
        lanes[lane].retries = []
        bytes += lanes[lane].bytes - size
        if lanes[lane].phase == .idle { makeReady(lane) }
        want(lane)
    }

    /// The store's answer to `nextRefill`.
    mutating func refilled(_ result: RefillResult) {
        isAsking = false
        for delivery in result.deliveries {
            guard let lane = index[delivery.lane.room], lanes[lane].isAsking, delivery.row >= lanes[lane].cursor else {
                continue
            }
            append(delivery, to: lane)
        }
        for wish in result.next {
            guard let lane = index[wish.room] else { continue }
            if lanes[lane].isAsking {
                lanes[lane].isAsking = false
                lanes[lane].cursor = max(lanes[lane].cursor, wish.from)
            }
            want(lane)
        }
    }

    /// Time has passed: lanes whose wait is over are ready again.
    mutating func wake(_ now: Instant) {
        endLinger(now)
        while let lane = waits.popDue(now) {
            lanes[lane].wait = nil
            lanes[lane].awaitsSuccessor = false
            lanes[lane].beginRound()
            makeReady(lane)
            want(lane)
        }
    }

    /// What the endpoint was missing seems to be there: a probe goes out now, and if need be a few more soon.
    ///
    /// Not where the endpoint asked for its pause.
    mutating func hurry(_ now: Instant) {
        guard let held = hold, held.isUnreachable else { return }
        hold?.until = min(held.until, now)
        hold?.eager = Self.eagerProbes
    }

    /// The dead letters have a place again.
    mutating func placeCame(_ now: Instant) {
        isFullOfDeadLetters = false
        guard let held = hold, held.isForPlace else { return }
        hold?.until = min(held.until, now)
    }

    /// No new attempts from now on.
    mutating func drain() {
        isDraining = true
    }

    // MARK: what goes out

    /// The next attempt to begin now, if any.
    mutating func nextAttempt(_ now: Instant) -> Attempt? {
        if !arrived.isEmpty { beginLinger(now) }
        guard !isDraining, !ready.isEmpty else { return nil }
        if let hold {
            guard !hold.isProbing, hold.until <= now else { return nil }
        } else {
            guard inFlight < min(allowed, limits.concurrency) else { return nil }
        }
        guard let lane = ready.popFirst() else { return nil }
        inFlight += 1
        serial += 1
        lanes[lane].phase = .inFlight
        var attempt = Attempt(lane: lane, number: lanes[lane].beginAttempt(), serial: serial, epoch: epoch)
        // A probe is for one event: what refuses it says more, and costs less.
        if hold == nil, let batch = limits.batch {
            (attempt.count, attempt.bytes) = lanes[lane].run(upTo: batch.maxEvents, bytes: batchBytes)
        }
        hold?.isProbing = true
        return attempt
    }

    /// Whether an attempt whose connection was gone may begin again at once: not when the endpoint waits since.
    func mayRetry(_ attempt: Attempt) -> Bool {
        hold == nil || attempt.epoch == epoch
    }

    /// An attempt came to nothing and may not begin again: its record is ready as if it had never begun.
    ///
    /// `isCounted`: it has begun all the same, the receiver may have seen it.
    mutating func takeBack(_ attempt: Attempt, isCounted: Bool = false) {
        inFlight -= 1
        if !isCounted { lanes[attempt.lane].takeBackAttempt() }
        makeReady(attempt.lane)
    }

    /// How many attempts there were.
    var attempts: UInt64 { serial }

    /// The next question to the store, if there is one to ask.
    mutating func nextRefill() -> RefillRequest? {
        guard !isAsking, !isDraining, !wanting.isEmpty else { return nil }
        // When all memory is taken by records that wait, one more at a time still gets through.
        let room = limits.totalBytes - bytes
        guard room > 0 || (inFlight == 0 && ready.isEmpty) else { return nil }
        // With all memory taken by what can be sent, a question for each record that leaves would cost more than the record.
        guard room >= limits.totalBytes / 4 || ready.count <= limits.concurrency else { return nil }
        var wishes: [RefillRequest.Wish] = []
        while wishes.count < Self.mostWishes, let lane = wanting.popFirst() {
            lanes[lane].isWanting = false
            guard needsMore(lane) else { continue }
            lanes[lane].isAsking = true
            wishes.append(RefillRequest.Wish(room: lanes[lane].lane.room, from: lanes[lane].cursor))
        }
        guard !wishes.isEmpty else { return nil }
        isAsking = true
        return RefillRequest(
            endpoint: id,
            wishes: wishes,
            maxRows: 4_000,
            maxBytes: max(1, min(room, limits.laneBytes * wishes.count)),
            maxRowsPerLane: max(256, 2 * (limits.batch?.maxEvents ?? 1))
        )
    }

    /// When `wake` and `nextAttempt` have something to do without another event.
    mutating func nextDeadline() -> Instant? {
        var wait = heldLanes > 0 ? waits.earliest() : nil
        if let first = lingering.first { wait = min(wait ?? .distantFuture, first.until) }
        guard let hold, !hold.isProbing, !ready.isEmpty, !isDraining else { return wait }
        return min(wait ?? .distantFuture, hold.until)
    }

    // MARK: lanes

    private mutating func lane(of lane: Lane, _ room: RoomKey) -> Int {
        if let known = index[lane.room] { return known }
        index[lane.room] = lanes.count
        lanes.append(LaneQueue(lane: lane, room: room))
        return lanes.count - 1
    }

    private func fits(_ delivery: PendingDelivery, _ lane: Int) -> Bool {
        if lanes[lane].phase == .waiting, !lanes[lane].isSpent { return false }
        let size = delivery.bytes
        return bytes + size <= limits.totalBytes
            && (lanes[lane].isSpent || lanes[lane].bytes + size <= limits.laneBytes)
    }

    private mutating func append(_ delivery: PendingDelivery, to lane: Int) {
        lanes[lane].append(delivery)
        bytes += delivery.bytes
        if lanes[lane].phase == .idle {
            if lingers(lane) { arrived.append(lane) } else { makeReady(lane) }
        } else if lanes[lane].phase == .lingering {
            if !lingers(lane) { makeReady(lane) }
        } else if lanes[lane].awaitsSuccessor {
            endWait(lane)
            lanes[lane].skipAside()
            makeReady(lane)
        }
    }

    mutating func endWait(_ lane: Int) {
        lanes[lane].awaitsSuccessor = false
        if let wait = lanes[lane].wait.take() { waits.cancel(wait) }
    }

    /// To the back of the ready queue, unless there is nothing to send.
    mutating func makeReady(_ lane: Int) {
        if lanes[lane].current == nil { lanes[lane].beginRound() }
        if lanes[lane].records.isEmpty {
            lanes[lane].phase = .idle
        } else {
            lanes[lane].phase = .ready
            ready.append(lane)
        }
    }

    /// Half a window is enough to go on with while the store looks.
    private func needsMore(_ lane: Int) -> Bool {
        guard lanes[lane].isBehind else { return false }
        if lanes[lane].isSpent { return true }
        // What failed last may fail for ever, and its rows lie far behind those of the others.
        guard lanes[lane].hold == nil else { return false }
        return lanes[lane].bytes <= limits.laneBytes / 2 && lanes[lane].phase != .waiting
    }

    mutating func want(_ lane: Int) {
        guard !lanes[lane].isWanting, !lanes[lane].isAsking, needsMore(lane) else { return }
        lanes[lane].isWanting = true
        wanting.append(lane)
    }
}

internal import BridgeModel
internal import RoomsRuntime

/// Decides what an endpoint gets next: order in each lane, fairness and concurrency across them, waits after failures.
///
/// A value without I/O: events come in as calls, the caller pulls the next attempt and the next wish to the store.
///
/// - Open: up to `concurrency` attempts, one per lane. → held by a failure to connect.
/// - Held: one attempt, the probe, each time the wait is over; every probe takes the next ready lane.
///   → open by any answer, at first with one attempt at a time.
struct EndpointStateMachine {
    struct Limits {
        var concurrency: Int
        /// What a lane may keep in memory; one record is always allowed.
        var laneBytes: Int
        /// The same for all lanes of the endpoint.
        var totalBytes: Int
    }

    /// An attempt to begin.
    struct Attempt {
        var lane: Int
        /// Counts the attempts for this record, from 1.
        var number: Int
        /// A failure to connect counts only once for all that were on their way together.
        fileprivate var epoch: Int
    }

    /// What the end of an attempt changed; nil where nothing did.
    struct Outcome {
        enum Change {
            case held(Refusal, wait: Duration)
            case recovered(failures: Int, after: Duration)
        }

        var settlement: Settlement?
        var endpoint: Change?
        var lane: Change?
    }

    private struct Hold {
        var failures: Int
        var since: Instant
        var until: Instant
        var isProbing = false
    }

    /// With more held lanes than this, further ones are not reported one by one.
    private static let reportedHolds = 8
    /// A hold that comes back within this time goes on where it was.
    private static let health = Duration.seconds(10)

    let id: EndpointID
    private let limits: Limits
    private let schedule: RetrySchedule
    private let random: () -> UInt32
    private(set) var lanes: [LaneQueue] = []
    private var index: [RoomID: Int] = [:]
    private var ready = RingBuffer<Int>()
    private var waits = TimerHeap<Int>()
    private(set) var inFlight = 0
    private var hold: Hold?
    private var epoch = 0
    private var lastHold: (failures: Int, end: Instant)?
    /// Concurrency after a recovery: grows by one with each delivery.
    private var allowed: Int
    private var heldLanes = 0
    private var bytes = 0
    private var wanting = RingBuffer<Int>()
    private var isAsking = false
    private var isDraining = false

    init(id: EndpointID, limits: Limits, schedule: RetrySchedule, random: @escaping () -> UInt32) {
        self.id = id
        self.limits = limits
        self.schedule = schedule
        self.random = random
        allowed = limits.concurrency
    }

    // MARK: what comes in

    /// Takes over what the store knows of a lane at start.
    mutating func restore(_ state: LaneState) {
        index[state.lane.room] = lanes.count
        lanes.append(LaneQueue(state))
        want(lanes.count - 1)
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
        while let lane = waits.popDue(now) {
            makeReady(lane)
            want(lane)
        }
    }

    /// No new attempts from now on.
    mutating func drain() {
        isDraining = true
    }

    mutating func finish(_ attempt: Attempt, _ verdict: Verdict, _ now: Instant) -> Outcome {
        inFlight -= 1
        switch verdict {
        case .delivered:
            return delivered(attempt, now)
        case .refused(let refusal) where refusal.scope == .lane:
            return laneRefused(attempt, refusal, now)
        case .refused(let refusal):
            return endpointRefused(attempt, refusal, now)
        }
    }

    // MARK: what goes out

    /// The next attempt to begin now, if any.
    mutating func nextAttempt(_ now: Instant) -> Attempt? {
        guard !isDraining, !ready.isEmpty else { return nil }
        if let hold {
            guard !hold.isProbing, hold.until <= now else { return nil }
        } else {
            guard inFlight < min(allowed, limits.concurrency) else { return nil }
        }
        guard let lane = ready.popFirst() else { return nil }
        hold?.isProbing = true
        inFlight += 1
        lanes[lane].phase = .inFlight
        lanes[lane].attempts += 1
        return Attempt(lane: lane, number: lanes[lane].attempts, epoch: epoch)
    }

    /// The next question to the store, if there is one to ask.
    mutating func nextRefill() -> RefillRequest? {
        guard !isAsking, !isDraining, !wanting.isEmpty else { return nil }
        // When all memory is taken by records that wait, one more at a time still gets through.
        let room = limits.totalBytes - bytes
        guard room > 0 || (inFlight == 0 && ready.isEmpty) else { return nil }
        var wishes: [RefillRequest.Wish] = []
        while wishes.count < 256, let lane = wanting.popFirst() {
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
            maxRows: 1_000,
            maxBytes: max(1, min(room, limits.laneBytes * wishes.count)),
            maxRowsPerLane: 256
        )
    }

    /// When `wake` and `nextAttempt` have something to do without another event.
    mutating func nextDeadline() -> Instant? {
        let wait = heldLanes > 0 ? waits.earliest() : nil
        guard let hold, !hold.isProbing, !ready.isEmpty, !isDraining else { return wait }
        return min(wait ?? .distantFuture, hold.until)
    }

    // MARK: ends of attempts

    private mutating func delivered(_ attempt: Attempt, _ now: Instant) -> Outcome {
        var outcome = Outcome()
        outcome.endpoint = open(now)
        if allowed < limits.concurrency { allowed += 1 }
        let lane = attempt.lane
        let size = lanes[lane].bytes
        outcome.settlement = lanes[lane].settle()
        bytes -= size - lanes[lane].bytes
        if let hold = lanes[lane].hold {
            lanes[lane].hold = nil
            heldLanes -= 1
            if hold.isReported { outcome.lane = .recovered(failures: hold.failures, after: now - hold.since) }
        }
        makeReady(lane)
        want(lane)
        return outcome
    }

    private mutating func laneRefused(_ attempt: Attempt, _ refusal: Refusal, _ now: Instant) -> Outcome {
        var outcome = Outcome()
        outcome.endpoint = open(now)
        let lane = attempt.lane
        var hold = lanes[lane].hold ?? LaneQueue.Hold(failures: 0, since: now, isReported: false)
        hold.failures += 1
        let wait = schedule.wait(afterFailures: hold.failures, random: random())
        if hold.failures == 1 {
            heldLanes += 1
            hold.isReported = heldLanes <= Self.reportedHolds
            if hold.isReported { outcome.lane = .held(refusal, wait: wait) }
        }
        lanes[lane].hold = hold
        lanes[lane].phase = .waiting
        let size = lanes[lane].bytes
        lanes[lane].trim()
        bytes -= size - lanes[lane].bytes
        _ = waits.add(lane, at: now + wait)
        return outcome
    }

    private mutating func endpointRefused(_ attempt: Attempt, _ refusal: Refusal, _ now: Instant) -> Outcome {
        var outcome = Outcome()
        makeReady(attempt.lane)
        guard attempt.epoch == epoch else { return outcome }
        epoch += 1
        var failures = (hold?.failures ?? 0) + 1
        if hold == nil, let last = lastHold, now - last.end < Self.health { failures = last.failures + 1 }
        let wait = schedule.wait(afterFailures: failures, random: random())
        if hold == nil { outcome.endpoint = .held(refusal, wait: wait) }
        hold = Hold(failures: failures, since: hold?.since ?? now, until: now + wait)
        return outcome
    }

    private mutating func open(_ now: Instant) -> Outcome.Change? {
        guard let ended = hold else { return nil }
        hold = nil
        epoch += 1
        lastHold = (ended.failures, now)
        allowed = 1
        return .recovered(failures: ended.failures, after: now - ended.since)
    }

    // MARK: lanes

    private mutating func lane(of lane: Lane, _ room: RoomKey) -> Int {
        if let known = index[lane.room] { return known }
        index[lane.room] = lanes.count
        lanes.append(LaneQueue(lane: lane, room: room))
        return lanes.count - 1
    }

    private func fits(_ delivery: PendingDelivery, _ lane: Int) -> Bool {
        if lanes[lane].phase == .waiting { return false }
        let size = delivery.bytes
        return bytes + size <= limits.totalBytes
            && (lanes[lane].records.isEmpty || lanes[lane].bytes + size <= limits.laneBytes)
    }

    private mutating func append(_ delivery: PendingDelivery, to lane: Int) {
        lanes[lane].append(delivery)
        bytes += delivery.bytes
        if lanes[lane].phase == .idle { makeReady(lane) }
    }

    /// To the back of the ready queue, unless there is nothing to send.
    private mutating func makeReady(_ lane: Int) {
        if lanes[lane].records.isEmpty {
            lanes[lane].phase = .idle
        } else {
            lanes[lane].phase = .ready
            ready.append(lane)
        }
    }

    /// Half a window is enough to go on with while the store looks.
    private func needsMore(_ lane: Int) -> Bool {
        lanes[lane].isBehind && lanes[lane].bytes <= limits.laneBytes / 2
            && (lanes[lane].phase != .waiting || lanes[lane].records.isEmpty)
    }

    private mutating func want(_ lane: Int) {
        guard !lanes[lane].isWanting, !lanes[lane].isAsking, needsMore(lane) else { return }
        lanes[lane].isWanting = true
        wanting.append(lane)
    }
}

import BridgeModel
import BridgeTestSupport
import RoomsRuntime

@testable import BridgeDelivery

/// The machine of one endpoint with a clock that is made up: what it does for minutes takes no time.
final class EndpointSimulation {
    typealias Time = Duration

    struct Request: Equatable {
        var room: Int64
        var seq: Int64
        var at: Time
        var attempt: Int
        var skipped: Int64
        /// All that are in it.
        var seqs: [Int64] = []
    }

    /// How long each attempt takes.
    static let exchange = Duration.milliseconds(1)

    /// What the endpoint says of a request that ends now.
    var answer: (Request) -> Verdict
    /// Hears of each request that begins.
    var onBegin: (Request) -> Void = { _ in }
    private(set) var requests: [Request] = []
    private(set) var accepted: [Request] = []
    private(set) var deadLetters: [(room: Int64, seq: Int64, letter: DeadLetter, at: Time)] = []
    private(set) var changes: [(at: Time, EndpointStateMachine.Outcome.Change)] = []
    private(set) var complaint: String?
    private(set) var now = Duration.zero

    private let start = Instant(nanoseconds: 1_000_000_000)
    private var machine: EndpointStateMachine
    private var running: [(attempt: EndpointStateMachine.Attempt, request: Request, end: Duration)] = []
    private var row: Int64 = 0
    private var seqs: [Int64: Int64] = [:]
    private var settled: [Int64: Int64] = [:]
    /// What was accepted of each room.
    private var taken: [Int64: Set<Int64>] = [:]
    private var rows: [Int64: [PendingDelivery]] = [:]

    init(
        concurrency: Int = 8,
        infersPoison: Bool = false,
        seed: UInt64 = 1,
        batch: BatchLimits? = nil,
        _ answer: @escaping (Request) -> Verdict
    ) {
        self.answer = answer
        var random = SeededRandom(seed: seed)
        machine = EndpointStateMachine(
            id: Sample.endpoint,
            limits: .init(
                concurrency: concurrency,
                laneBytes: 1 << 20,
                totalBytes: 1 << 24,
                infersPoison: infersPoison,
                batch: batch
            ),
            schedule: RetrySchedule(),
            random: { UInt32.random(in: 0 ... .max, using: &random) }
        )
    }

    var lanes: [LaneQueue] { machine.lanes }
    var hold: EndpointStateMachine.Hold? { machine.hold }
    var isIdle: Bool { running.isEmpty }

    func deadLettersAreFull(_ isFull: Bool) { machine.isFullOfDeadLetters = isFull }

    /// Commits the room's next event.
    func commit(_ room: Int64) {
        row += 1
        seqs[room, default: 0] += 1
        let name = ByteString("room:\(room)")
        let record = Sample.delivery(row: row, room: room, name: name, seq: seqs[room] ?? 0)
        rows[room, default: []].append(record)
        machine.admit(record)
    }

    /// Lets everything happen until `end`, or until nothing is left to do.
    func run(until end: Time = .seconds(86_400)) {
        while complaint == nil {
            begin()
            if let request = machine.nextRefill() {
                machine.refilled(refill(request))
                continue
            }
            let next = running.map(\.end).min()
            let deadline = machine.nextDeadline().map { $0 - start }
            guard let moment = [next, deadline].compactMap({ $0 }).min(), moment <= end else { break }
            now = max(now, moment)
            if let place = running.firstIndex(where: { $0.end <= now }) {
                finish(place)
            } else {
                machine.wake(start + now)
            }
        }
        now = max(now, min(end, now + .seconds(86_400)))
    }

    private func refill(_ request: RefillRequest) -> RefillResult {
        var result = RefillResult(endpoint: request.endpoint, deliveries: [], next: [], lastCommitted: RowID(row))
        for wish in request.wishes {
            let more = (rows[wish.room.rawValue] ?? []).drop { $0.row < wish.from }.prefix(request.maxRowsPerLane)
            let from = more.last.map { RowID($0.row.rawValue + 1) } ?? RowID(row + 1)
            result.deliveries += more
            result.next.append(RefillRequest.Wish(room: wish.room, from: from))
        }
        result.deliveries.sort { $0.row < $1.row }
        return result
    }

    private func begin() {
        while let attempt = machine.nextAttempt(start + now) {
            let lane = machine.lanes[attempt.lane]
            guard let record = lane.current else { return complaint = "an attempt without a record" }
            let request = Request(
                room: record.lane.room.rawValue,
                seq: record.seq,
                at: now,
                attempt: attempt.number,
                skipped: lane.skippedBefore,
                seqs: lane.records(attempt.count).map(\.seq)
            )
            if request.seqs.first != record.seq { complaint = "a batch begins with another record" }
            if running.contains(where: { $0.attempt.lane == attempt.lane }) { complaint = "two in flight in one lane" }
            if lane.turn > 0, taken[request.room]?.contains(request.seq) == true {
                // Sent again to find out whose fault it is that what stands before was refused.
                taken[request.room] = taken[request.room]?.filter { $0 < request.seq }
            }
            requests.append(request)
            onBegin(request)
            running.append((attempt, request, now + Self.exchange))
        }
    }

    private func finish(_ place: Int) {
        let (attempt, request, _) = running.remove(at: place)
        let verdict = answer(request)
        accept(request, verdict)
        let outcome = machine.finish(attempt, verdict, start + now, wall: 1_000 + now.wholeMilliseconds)
        for settlement in outcome.deadLetters {
            if settlement.deadLetter == nil { complaint = "given up without a reason" }
            settle(settlement)
        }
        if let settlement = outcome.settlement { settle(settlement) }
        for settlement in outcome.behind { settle(settlement) }
        if case .delivered = verdict, outcome.settlement == nil { complaint = "an acceptance settles nothing" }
        for change in [outcome.endpoint, outcome.lane].compactMap({ $0 }) { changes.append((now, change)) }
    }

    /// In order, each once: nothing is passed over without a word.
    private func settle(_ settlement: Settlement) {
        let room = settlement.lane.room.rawValue
        let expected = settled[room, default: 0] + 1
        if let letter = settlement.deadLetter {
            if settlement.seq != expected { complaint = "room \(room): \(settlement.seq) given up before \(expected)" }
            deadLetters.append((room, settlement.seq, letter, now))
        } else if settlement.seq < expected {
            complaint = "room \(room): \(settlement.seq) settled again"
        } else {
            for seq in expected...settlement.seq where taken[room]?.contains(seq) != true {
                complaint = "room \(room): \(seq) settled without an acceptance"
            }
        }
        settled[room] = settlement.seq
    }

    /// What the endpoint has accepted by its verdict: each event once.
    private func accept(_ request: Request, _ verdict: Verdict) {
        let places: [Int] =
            switch verdict {
            case .delivered: Array(request.seqs.indices)
            case .partly(let part): Array(request.seqs.indices.prefix(part.accepted)) + part.later
            case .refused: []
            }
        for place in places {
            var event = request
            event.seq = request.seqs[place]
            if place > 0 { event.skipped = 0 }
            if taken[request.room, default: []].insert(event.seq).inserted == false {
                complaint = "room \(request.room): \(event.seq) was accepted twice"
            }
            accepted.append(event)
        }
    }

    /// How many records are settled, accepted or given up.
    var settledCount: Int64 { settled.values.reduce(0, +) }
    var committedCount: Int64 { row }
}

extension Verdict {
    static func status(_ status: Int) -> Verdict {
        ResponseClassifier().judge(.answered(Answer(status: status)))
    }

    static let unreachable = Verdict.refused(
        Refusal(scope: .endpoint, status: nil, reason: "nothing listens there", hint: nil)
    )
}

import BridgeModel
import BridgeTestSupport
import RoomsRuntime
import Testing

@testable import BridgeDelivery

/// The machine against a store in memory and an endpoint that fails at random: time is made up, chance is seeded.
@Suite struct DeliverySimulationTests {
    @Test("whatever fails, every lane is delivered whole, in order and once per acceptance", arguments: 1...20)
    func deliversAll(seed: UInt64) {
        var simulation = Simulation(seed: seed)
        simulation.run()
        #expect(simulation.complaint == nil, "seed \(seed)")
    }
}

private struct Simulation {
    private typealias Running = (attempt: EndpointStateMachine.Attempt, end: Instant)

    private var random: SeededRandom
    private let store = MemoryStore()
    private var machine: EndpointStateMachine
    private var now = Instant(nanoseconds: 1_000_000_000)
    private var running: [Running] = []
    private var questions: [RefillRequest] = []
    /// What the store said, in its order, not yet seen by the machine.
    private var inbox: [(inout EndpointStateMachine) -> Void] = []
    private var accepted: [RoomID: Int64] = [:]
    private(set) var complaint: String?
    private let rooms: Int64

    init(seed: UInt64) {
        random = SeededRandom(seed: seed)
        rooms = Int64.random(in: 1...20, using: &random)
        var jitter = SeededRandom(seed: seed &+ 1)
        machine = EndpointStateMachine(
            id: Sample.endpoint,
            limits: .init(
                concurrency: Int.random(in: 1...8, using: &random),
                laneBytes: Int.random(in: 1...4_000, using: &random),
                totalBytes: Int.random(in: 1...20_000, using: &random)
            ),
            schedule: RetrySchedule(),
            random: { UInt32.random(in: 0 ... .max, using: &jitter) }
        )
        for _ in 0..<Int.random(in: 0...200, using: &random) { commit(silently: true) }
        for lane in store.lanes() { machine.restore(lane, Instant(nanoseconds: 0), wall: 0) }
    }

    mutating func run() {
        var left = 400
        var idle = 0
        while complaint == nil {
            if left > 0, Bool.random(using: &random) {
                commit(silently: false)
                left -= 1
            }
            takeInbox()
            answerQuestion()
            startAttempts()
            if !endAttempt(), !passTime(isOver: left == 0), left == 0 {
                idle += 1
                if idle > 3, inbox.isEmpty, questions.isEmpty { break }
            }
        }
        check()
    }

    private mutating func commit(silently: Bool) {
        var fresh: [PendingDelivery] = []
        store.commit(room: Int64.random(in: 1...rooms, using: &random)) { fresh += $0 }
        guard !silently else { return }
        let isNoted = Int.random(in: 0..<10, using: &random) == 0
        inbox.append { machine in
            for delivery in fresh {
                isNoted ? machine.note(delivery.row, of: delivery.lane, delivery.room) : machine.admit(delivery)
            }
        }
    }

    private mutating func takeInbox() {
        guard Int.random(in: 0..<3, using: &random) > 0 else { return }
        for message in inbox { message(&machine) }
        inbox = []
    }

    private mutating func answerQuestion() {
        guard !questions.isEmpty, Bool.random(using: &random) else { return }
        store.refill(questions.removeFirst()) { result in inbox.append { $0.refilled(result) } }
    }

    private mutating func startAttempts() {
        while let attempt = machine.nextAttempt(now) {
            if running.contains(where: { $0.attempt.lane == attempt.lane }) { complaint = "two in flight in one lane" }
            let end = now + .milliseconds(Int.random(in: 0...50, using: &random))
            running.append((attempt, end))
        }
        if let question = machine.nextRefill() { questions.append(question) }
    }

    private mutating func endAttempt() -> Bool {
        guard let place = running.indices.randomElement(using: &random) else { return false }
        let (attempt, end) = running.remove(at: place)
        now = max(now, end)
        let chance = Int.random(in: 0..<100, using: &random)
        let scope: FailureScope? = chance < 60 ? nil : chance < 85 ? .lane : .endpoint
        let verdict = scope.map {
            Verdict.refused(Refusal(scope: $0, status: nil, reason: "chance", hint: nil))
        }
        let head = machine.lanes[attempt.lane].records.first
        let outcome = machine.finish(attempt, verdict ?? .delivered, now, wall: 0)
        if verdict == nil, let head {
            let room = head.lane.room
            if head.seq != accepted[room, default: 0] + 1 {
                complaint = "room \(room.rawValue): \(head.seq) after \(accepted[room, default: 0])"
            }
            accepted[room] = head.seq
            if outcome.settlement?.row != head.row { complaint = "settled another row than the accepted one" }
        } else if outcome.settlement != nil {
            complaint = "settled without an acceptance"
        }
        machine.wake(now)
        return true
    }

    private mutating func passTime(isOver: Bool) -> Bool {
        guard let deadline = machine.nextDeadline() else { return false }
        now = max(now, deadline)
        machine.wake(now)
        return true
    }

    private mutating func check() {
        guard complaint == nil else { return }
        let committed = store.state.withLock { $0.nextSeq }
        for (room, next) in committed where accepted[room, default: 0] != next - 1 {
            complaint = "room \(room.rawValue): \(accepted[room, default: 0]) of \(next - 1) delivered"
        }
        if machine.inFlight != 0 { complaint = "something is still counted as in flight" }
    }
}

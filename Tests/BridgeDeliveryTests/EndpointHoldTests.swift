import BridgeModel
import BridgeTestSupport
import RoomsRuntime
import RoomsTransport
import Testing

@testable import BridgeDelivery

/// What an endpoint waits for outlives the process.
@Suite(.timeLimit(.minutes(1))) struct EndpointHoldTests {
    @Test(
        "what is left of a wait is at most its length, whatever the clock says",
        arguments: [
            (1_000, 5_000, 500, 500), (1_000, 5_000, 1_000, 0), (1_000, 5_000, 2_000, 0), (9_000, 5_000, 0, 5_000),
            (.max, 5_000, -5, 5_000), (.min, 5_000, 5, 0), (1_000, -1, 0, -1), (0, 0, 0, 0),
        ] as [(Int64, Int64, Int64, Int64)]
    )
    func rest(end: Int64, length: Int64, wall: Int64, rest: Int64) {
        #expect(StoredHold(failures: 1, end: end, length: length).rest(at: wall) == rest)
    }

    @Test("a machine that takes over a wait sends nothing before its end, and its failures count on")
    func restores() {
        var machine = EndpointStateMachine.forTests()
        let now = Instant(nanoseconds: 5_000_000_000)
        machine.restore(StoredHold(failures: 4, end: 61_000, length: 120_000), now, wall: 1_000)
        machine.admit(Sample.delivery(row: 1, room: 1, name: "room:1", seq: 1))
        #expect(machine.nextAttempt(now + .milliseconds(59_999)) == nil)
        #expect(machine.nextDeadline() == now + .seconds(60))
        guard let attempt = machine.nextAttempt(now + .seconds(60)) else {
            Issue.record("nothing is sent when the wait is over")
            return
        }
        _ = machine.finish(attempt, .unreachable, now + .seconds(60), wall: 0)
        // The fifth failure in a row: 8 s.
        #expect(machine.hold?.failures == 5 && machine.nextDeadline() == now + .seconds(68))
    }

    @Test("what was missing seems to be there: a probe at once and a few soon after, unless a pause was asked for")
    func hurries() {
        var machine = EndpointStateMachine.forTests()
        machine.admit(Sample.delivery(row: 1, room: 1, name: "room:1", seq: 1))
        var now = Instant(nanoseconds: 1_000_000_000)
        func fail(_ result: AttemptResult) {
            guard let attempt = machine.nextAttempt(now) else {
                Issue.record("nothing is sent")
                return
            }
            _ = machine.finish(attempt, ResponseClassifier().judge(result), now, wall: 0)
        }
        func wait() -> Duration { machine.nextDeadline().map { $0 - now } ?? .zero }
        let missing = AttemptResult.failed(AttemptFailure(.connect(TransportError(.noSuchSocket, "no such file"))))
        for seconds in [0, 1, 2] {
            now = now + .seconds(seconds)
            fail(missing)
        }
        #expect(wait() == .seconds(2))
        machine.hurry(now)
        var waits: [Duration] = []
        for _ in 0..<8 {
            now = now + wait()
            fail(missing)
            waits.append(wait())
        }
        #expect(waits == [5, 10, 20, 40, 80, 160, 4_000, 8_000].map { .milliseconds($0) })
        // It asked for a pause: nothing that appears makes that shorter.
        now = now + wait()
        fail(.answered(Answer(status: 503, retryAfter: .seconds(100))))
        machine.hurry(now)
        #expect(wait() >= .seconds(100))
    }

    @Test("a restart brings no attempt forward, and an acceptance ends what is kept")
    func restart() async throws {
        let pause = "HTTP/1.1 503 X\r\nretry-after: 2\r\ncontent-length: 0\r\n\r\n"
        let times = Lock<[Instant]>([])
        let receiver = try ScriptedReceiver { _ in
            times.withLock { times in
                times.append(SystemClock.now)
                return times.count == 1 ? .send(pause) : .ok
            }
        }
        let store = MemoryStore()
        let first = DeliveryRig(port: receiver.port, store: store)
        first.publish(count: 2)
        try await eventually("the wait is kept") { store.state.withLock { !$0.holds.isEmpty } }
        await first.stop()
        let second = DeliveryRig(port: receiver.port, store: store)
        try await second.settleAll()
        let waited = times.withLock { $0[1] - $0[0] }
        #expect(waited >= .milliseconds(1_990), "asked for 2 s, came after \(waited)")
        #expect(store.state.withLock { $0.holds.isEmpty })
        await second.stop()
        receiver.stop()
    }

    @Test("a room's wait goes on in the next process, with its failures and its attempts")
    func restoresLane() {
        var machine = EndpointStateMachine.forTests()
        let now = Instant(nanoseconds: 5_000_000_000)
        var state = LaneState(
            lane: Lane(endpoint: Sample.endpoint, room: RoomID(1)),
            room: RoomKey(server: "main", room: "room:1"),
            acknowledged: 0,
            next: RowID(1),
            tail: RowID(1),
            waitingRows: 1,
            waitingBytes: 300
        )
        state.hold = StoredHold(failures: 4, attempts: 6, end: 61_000, length: 120_000)
        machine.restore(state, now, wall: 1_000)
        guard let request = machine.nextRefill() else {
            Issue.record("what waits is not asked for")
            return
        }
        let row = Sample.delivery(row: 1, room: 1, name: "room:1", seq: 1)
        let next = RefillRequest.Wish(room: RoomID(1), from: RowID(2))
        machine.refilled(
            RefillResult(endpoint: request.endpoint, deliveries: [row], next: [next], lastCommitted: RowID(1))
        )
        #expect(machine.nextAttempt(now + .milliseconds(59_999)) == nil)
        #expect(machine.nextDeadline() == now + .seconds(60))
        machine.wake(now + .seconds(60))
        guard let attempt = machine.nextAttempt(now + .seconds(60)) else {
            Issue.record("nothing is sent when the wait is over")
            return
        }
        #expect(attempt.number == 7)
        _ = machine.finish(attempt, .status(404), now + .seconds(60), wall: 61_000)
        // The fifth failure in a row: 8 s.
        let stored = machine.takeStoredHold(of: 0, now + .seconds(60), wall: 61_000)
        #expect(stored == .some(StoredHold(failures: 5, attempts: 7, end: 69_000, length: 8_000)))
        machine.wake(now + .seconds(68))
        guard let last = machine.nextAttempt(now + .seconds(68)) else {
            Issue.record("nothing is sent when the second wait is over")
            return
        }
        _ = machine.finish(last, .delivered, now + .seconds(68), wall: 69_000)
        #expect(machine.takeStoredHold(of: 0, now + .seconds(68), wall: 69_000) == .some(nil))
        #expect(machine.takeStoredHold(of: 0, now + .seconds(68), wall: 69_000) == nil)
    }

    @Test("waits of moments are not worth a write")
    func shortWaits() {
        var machine = EndpointStateMachine.forTests()
        machine.admit(Sample.delivery(row: 1, room: 1, name: "room:1", seq: 1))
        var now = Instant(nanoseconds: 1_000_000_000)
        var lengths: [Int64?] = []
        for _ in 0..<4 {
            guard let attempt = machine.nextAttempt(now) else { break }
            _ = machine.finish(attempt, .status(404), now, wall: 0)
            lengths.append(machine.takeStoredHold(of: 0, now, wall: 0)??.length)
            now = machine.nextDeadline() ?? now
            machine.wake(now)
        }
        #expect(lengths == [nil, 1_000, 2_000, 4_000])
    }

    @Test("a restart brings no attempt of a room forward, and counts it on")
    func restartLane() async throws {
        let attempts = Lock<[(at: Instant, number: Int)]>([])
        let receiver = try ScriptedReceiver { request in
            attempts.withLock { attempts in
                attempts.append((SystemClock.now, request.attempt))
                return attempts.count == 1 ? .status(404) : .ok
            }
        }
        let store = MemoryStore()
        let slow = RetrySchedule(base: .seconds(3), cap: .seconds(3))
        let first = DeliveryRig(port: receiver.port, store: store) { $0.retry = slow }
        first.publish(room: 1)
        try await eventually("the wait is kept") { store.state.withLock { !$0.holds.isEmpty } }
        await first.stop()
        let second = DeliveryRig(port: receiver.port, store: store) { $0.retry = slow }
        try await second.settleAll()
        let (waited, numbers) = attempts.withLock { ($0[1].at - $0[0].at, $0.map(\.number)) }
        #expect(waited >= .milliseconds(1_490), "half of 3 s at the least, came after \(waited)")
        #expect(numbers == [1, 2])
        try await eventually("the wait is forgotten") { store.state.withLock { $0.holds.isEmpty } }
        await second.stop()
        receiver.stop()
    }
}

extension EndpointStateMachine {
    /// With the longest waits of the schedule.
    static func forTests() -> EndpointStateMachine {
        EndpointStateMachine(
            id: Sample.endpoint,
            limits: .init(concurrency: 8, laneBytes: 1 << 20, totalBytes: 1 << 24),
            schedule: RetrySchedule(),
            random: { .max }
        )
    }
}

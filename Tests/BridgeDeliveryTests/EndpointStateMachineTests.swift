import BridgeModel
import RoomsRuntime
import Testing

@testable import BridgeDelivery

@Suite struct EndpointStateMachineTests {
    private typealias Attempt = EndpointStateMachine.Attempt

    private static let start = Instant(nanoseconds: 1_000_000_000)

    private func rig(concurrency: Int = 8, laneBytes: Int = 1 << 20, totalBytes: Int = 1 << 24) -> Rig {
        Rig(.init(concurrency: concurrency, laneBytes: laneBytes, totalBytes: totalBytes))
    }

    private func delivery(_ row: Int64, room: Int64 = 1) -> PendingDelivery {
        Sample.delivery(row: row, room: room, name: ByteString("room:\(room)"), seq: row)
    }

    private func refused(_ scope: FailureScope, status: Int? = nil) -> Verdict {
        .refused(Refusal(scope: scope, status: status, reason: "a reason", hint: nil))
    }

    private func head(_ machine: Rig, _ attempt: Attempt) -> Int64? {
        machine.lanes[attempt.lane].records.first?.row.rawValue
    }

    @Test("a lane has one attempt at a time and goes on in order")
    func keepsOrder() throws {
        let machine = rig()
        for row in 1...3 { machine.admit(delivery(Int64(row))) }
        for row in 1...3 {
            let attempt = try #require(machine.nextAttempt(Self.start))
            #expect(machine.nextAttempt(Self.start) == nil)
            #expect(head(machine, attempt) == Int64(row))
            #expect(attempt.number == 1)
            let outcome = machine.finish(attempt, .delivered, Self.start)
            #expect(outcome.settlement?.row == RowID(Int64(row)))
            #expect(outcome.settlement?.seq == Int64(row))
        }
        #expect(machine.nextAttempt(Self.start) == nil)
        #expect(machine.inFlight == 0)
    }

    @Test("lanes take turns, as many at a time as the concurrency allows")
    func takesTurns() throws {
        let machine = rig(concurrency: 2)
        for row in 0..<9 { machine.admit(delivery(Int64(row + 1), room: Int64(row % 3))) }
        var order: [Int64] = []
        var running: [Attempt] = []
        for _ in 0..<9 {
            while let attempt = machine.nextAttempt(Self.start) { running.append(attempt) }
            #expect(running.count <= 2)
            let attempt = running.removeFirst()
            order.append(head(machine, attempt) ?? 0)
            machine.finish(attempt, .delivered, Self.start)
        }
        #expect(order == [1, 2, 3, 4, 5, 6, 7, 8, 9])
    }

    @Test("a refused event makes its own lane wait, with growing steps, and no other")
    func holdsLane() throws {
        let machine = rig(concurrency: 1)
        machine.admit(delivery(1, room: 1))
        machine.admit(delivery(2, room: 2))
        var now = Self.start
        let first = try #require(machine.nextAttempt(now))
        let outcome = machine.finish(first, refused(.lane, status: 500), now)
        guard case .held(let refusal, let wait) = outcome.lane else {
            Issue.record("the lane is not held")
            return
        }
        #expect(refusal.status == 500)
        #expect(wait == .milliseconds(500))
        let other = try #require(machine.nextAttempt(now))
        #expect(head(machine, other) == 2)
        machine.finish(other, .delivered, now)
        for (number, milliseconds) in [(2, 500), (3, 2_000), (4, 4_000)] {
            #expect(machine.nextAttempt(now) == nil)
            #expect(machine.nextDeadline() == now + .milliseconds(milliseconds))
            machine.wake(now + .milliseconds(milliseconds) + .nanoseconds(-1))
            #expect(machine.nextAttempt(now) == nil)
            now = now + .milliseconds(milliseconds)
            machine.wake(now)
            let again = try #require(machine.nextAttempt(now))
            #expect(head(machine, again) == 1)
            #expect(again.number == number)
            if number < 4 {
                #expect(machine.finish(again, refused(.lane, status: 500), now).lane == nil)
            } else {
                let end = machine.finish(again, .delivered, now)
                guard case .recovered(let failures, let time) = end.lane else {
                    Issue.record("the end of the hold is not reported")
                    return
                }
                #expect(failures == 3)
                #expect(time == .milliseconds(6_500))
            }
        }
    }

    @Test("when the endpoint cannot be reached, one probe at a time goes out, each time of another lane")
    func holdsEndpoint() throws {
        let machine = rig()
        for room in 1...3 { machine.admit(delivery(Int64(room), room: Int64(room))) }
        var now = Self.start
        let all = [machine.nextAttempt(now), machine.nextAttempt(now), machine.nextAttempt(now)].compactMap { $0 }
        #expect(all.count == 3)
        var reports = 0
        for attempt in all {
            let outcome = machine.finish(attempt, refused(.endpoint), now)
            if case .held(_, let wait) = outcome.endpoint {
                reports += 1
                #expect(wait == .milliseconds(500))
            }
        }
        #expect(reports == 1)
        var probed: [Int64] = []
        for milliseconds in [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000] {
            #expect(machine.nextAttempt(now) == nil)
            #expect(machine.nextDeadline() == now + .milliseconds(milliseconds))
            now = now + .milliseconds(milliseconds)
            let probe = try #require(machine.nextAttempt(now))
            #expect(machine.nextAttempt(now + .seconds(100)) == nil)
            probed.append(head(machine, probe) ?? 0)
            #expect(machine.finish(probe, refused(.endpoint), now).endpoint == nil)
        }
        #expect(probed == [1, 2, 3, 1, 2, 3, 1, 2])
    }

    @Test("an answer that judges an event ends the hold; at first there is one attempt at a time, then more")
    func recovers() throws {
        let machine = rig()
        for room in 1...20 { machine.admit(delivery(Int64(room), room: Int64(room))) }
        let first = try #require(machine.nextAttempt(Self.start))
        machine.finish(first, refused(.endpoint), Self.start)
        let now = Self.start + .seconds(1)
        let probe = try #require(machine.nextAttempt(now))
        let outcome = machine.finish(probe, refused(.event, status: 400), now)
        guard case .recovered(let failures, let time) = outcome.endpoint, case .held = outcome.lane else {
            Issue.record("the endpoint is not open again, or the lane is not held")
            return
        }
        #expect(failures == 1)
        #expect(time == .seconds(1))
        var sizes: [Int] = []
        for _ in 0..<4 {
            var running: [Attempt] = []
            while let attempt = machine.nextAttempt(now) { running.append(attempt) }
            sizes.append(running.count)
            for attempt in running { machine.finish(attempt, .delivered, now) }
        }
        #expect(sizes == [1, 2, 4, 8])
    }

    @Test(
        "a hold that comes back at once goes on where it was, after ten good seconds it begins anew",
        arguments: [
            (9, 4_000), (10, 500),
        ]
    )
    func remembersHold(seconds: Int, wait: Int) throws {
        let machine = rig()
        machine.admit(delivery(1, room: 1))
        machine.admit(delivery(2, room: 2))
        var now = Self.start
        for step in [500, 1_000, 2_000] {
            let probe = try #require(machine.nextAttempt(now))
            machine.finish(probe, refused(.endpoint), now)
            now = now + .milliseconds(step)
        }
        let good = try #require(machine.nextAttempt(now))
        machine.finish(good, .delivered, now)
        now = now + .seconds(seconds)
        let bad = try #require(machine.nextAttempt(now))
        machine.finish(bad, refused(.endpoint), now)
        #expect(machine.nextDeadline() == now + .milliseconds(wait))
    }

    @Test("a lane above its share leaves the rest to the store and asks for it when half is gone")
    func fallsBehind() throws {
        let size = delivery(1).bytes
        let machine = rig(laneBytes: size * 4)
        for row in 1...10 { machine.admit(delivery(Int64(row))) }
        #expect(machine.nextRefill() == nil)
        var rows: [Int64] = []
        for _ in 0..<2 {
            let attempt = try #require(machine.nextAttempt(Self.start))
            rows.append(head(machine, attempt) ?? 0)
            machine.finish(attempt, .delivered, Self.start)
        }
        let request = try #require(machine.nextRefill())
        #expect(request.wishes.map(\.from) == [RowID(5)])
        #expect(machine.nextRefill() == nil)
        // Committed while the question is on its way: the answer will not have it, and it must come after.
        machine.admit(delivery(11))
        machine.refilled(
            RefillResult(
                endpoint: Sample.endpoint,
                deliveries: (5...10).map { delivery(Int64($0)) },
                next: [RefillRequest.Wish(room: RoomID(1), from: RowID(11))],
                lastCommitted: RowID(10)
            )
        )
        while let attempt = machine.nextAttempt(Self.start) {
            rows.append(head(machine, attempt) ?? 0)
            machine.finish(attempt, .delivered, Self.start)
        }
        #expect(rows == Array(1...10))
        #expect(machine.nextRefill()?.wishes.map(\.from) == [RowID(11)])
    }

    @Test("what a lane has at start is asked for before fresh events are taken")
    func restores() throws {
        let machine = rig()
        machine.restore(
            LaneState(
                lane: Lane(endpoint: Sample.endpoint, room: RoomID(1)),
                room: RoomKey(server: "main", room: "room:1"),
                acknowledged: 2,
                next: RowID(3),
                tail: RowID(4),
                waitingRows: 2,
                waitingBytes: 0
            )
        )
        machine.admit(delivery(5))
        #expect(machine.nextAttempt(Self.start) == nil)
        let request = try #require(machine.nextRefill())
        #expect(request.wishes.map(\.from) == [RowID(3)])
        machine.refilled(
            RefillResult(
                endpoint: Sample.endpoint,
                deliveries: [delivery(3), delivery(4), delivery(5)],
                next: [RefillRequest.Wish(room: RoomID(1), from: RowID(6))],
                lastCommitted: RowID(5)
            )
        )
        machine.admit(delivery(6))
        let attempt = try #require(machine.nextAttempt(Self.start))
        #expect(head(machine, attempt) == 3)
        #expect(machine.lanes[attempt.lane].acknowledged == 2)
        #expect(machine.lanes[attempt.lane].records.count == 4)
    }

    @Test("a waiting lane keeps its head alone; the store's answer that no longer fits is dropped")
    func trims() throws {
        let size = delivery(1).bytes
        let machine = rig(laneBytes: size * 2)
        for row in 1...4 { machine.admit(delivery(Int64(row))) }
        let first = try #require(machine.nextAttempt(Self.start))
        machine.finish(first, .delivered, Self.start)
        let request = try #require(machine.nextRefill())
        #expect(request.wishes.map(\.from) == [RowID(3)])
        let second = try #require(machine.nextAttempt(Self.start))
        machine.refilled(
            RefillResult(
                endpoint: Sample.endpoint,
                deliveries: [delivery(3)],
                next: [RefillRequest.Wish(room: RoomID(1), from: RowID(4))],
                lastCommitted: RowID(4)
            )
        )
        // Rows 2 and 3 are here; a refusal of 2 forgets 3.
        machine.finish(second, refused(.lane, status: 500), Self.start)
        #expect(machine.lanes[0].records.count == 1)
        #expect(machine.nextRefill() == nil)
        let now = Self.start + .seconds(1)
        machine.wake(now)
        // It may fail for ever: no question to the store is spent on it.
        #expect(machine.nextRefill() == nil)
        let again = try #require(machine.nextAttempt(now))
        machine.finish(again, refused(.lane, status: 500), now)
        machine.admit(delivery(5))
        var rows: [Int64] = []
        func deliver() {
            while let attempt = machine.nextAttempt(now) {
                rows.append(head(machine, attempt) ?? 0)
                machine.finish(attempt, .delivered, now)
            }
        }
        machine.wake(now + .seconds(10))
        deliver()
        #expect(machine.nextRefill()?.wishes.map(\.from) == [RowID(3)])
        machine.refilled(
            RefillResult(
                endpoint: Sample.endpoint,
                deliveries: [delivery(3), delivery(4)],
                next: [RefillRequest.Wish(room: RoomID(1), from: RowID(5))],
                lastCommitted: RowID(4)
            )
        )
        deliver()
        #expect(rows == [2, 3, 4])
        #expect(machine.nextRefill()?.wishes.map(\.from) == [RowID(5)])
    }

    @Test("with all memory taken the store is asked again when a quarter is free, not for each record that leaves")
    func asksRarely() throws {
        let size = delivery(1).bytes
        let machine = rig(concurrency: 1, totalBytes: size * 8)
        // Twelve lanes of two records each; the second ones are left to the store.
        for row in 1...24 { machine.admit(delivery(Int64(row), room: Int64((row - 1) % 12))) }
        #expect(machine.nextRefill() == nil)
        var asked: [Int] = []
        for sent in 1...6 {
            machine.finish(try #require(machine.nextAttempt(Self.start)), .delivered, Self.start)
            if machine.nextRefill() != nil { asked.append(sent) }
        }
        #expect(asked == [2])
    }

    @Test("an attempt that is taken back does not count, and another wait does not lose it")
    func takesBack() throws {
        let machine = rig()
        for room in 1...2 { machine.admit(delivery(Int64(room), room: Int64(room))) }
        let first = try #require(machine.nextAttempt(Self.start))
        let second = try #require(machine.nextAttempt(Self.start))
        #expect(machine.mayRetry(first))
        machine.finish(second, refused(.endpoint), Self.start)
        #expect(!machine.mayRetry(first))
        machine.takeBack(first)
        #expect(machine.inFlight == 0)
        let end = try #require(machine.nextDeadline())
        let probe = try #require(machine.nextAttempt(end))
        #expect(machine.mayRetry(probe))
        machine.finish(probe, .delivered, end)
        let other = try #require(machine.nextAttempt(end))
        #expect(Set([probe, other].map { [$0.lane, $0.number] }) == [[0, 1], [1, 2]])
    }

    @Test("while it drains nothing begins, also not what a failure brings back")
    func drains() throws {
        let machine = rig()
        for room in 1...3 { machine.admit(delivery(Int64(room), room: Int64(room))) }
        let first = try #require(machine.nextAttempt(Self.start))
        machine.drain()
        #expect(machine.nextAttempt(Self.start) == nil)
        machine.finish(first, refused(.lane, status: 500), Self.start)
        machine.wake(Self.start + .seconds(60))
        #expect(machine.nextAttempt(Self.start + .seconds(60)) == nil)
        #expect(machine.inFlight == 0)
    }

    @Test("many refusing rooms are not reported one by one")
    func reportsFewHolds() throws {
        let machine = rig(concurrency: 100)
        var reported = 0
        for room in 1...100 {
            machine.admit(delivery(Int64(room), room: Int64(room)))
            let attempt = try #require(machine.nextAttempt(Self.start))
            if machine.finish(attempt, refused(.event, status: 400), Self.start).lane != nil { reported += 1 }
        }
        #expect(reported == 8)
    }
}

/// The machine behind a reference: the macros cannot call mutating functions on a value.
private final class Rig {
    private var machine: EndpointStateMachine

    init(_ limits: EndpointStateMachine.Limits) {
        machine = EndpointStateMachine(
            id: Sample.endpoint,
            limits: limits,
            schedule: RetrySchedule(),
            random: { .max }
        )
    }

    var lanes: [LaneQueue] { machine.lanes }
    var inFlight: Int { machine.inFlight }

    func restore(_ state: LaneState) { machine.restore(state, Instant(nanoseconds: 0), wall: 0) }
    func admit(_ delivery: PendingDelivery) { machine.admit(delivery) }
    func refilled(_ result: RefillResult) { machine.refilled(result) }
    func wake(_ now: Instant) { machine.wake(now) }
    func drain() { machine.drain() }
    func nextAttempt(_ now: Instant) -> EndpointStateMachine.Attempt? { machine.nextAttempt(now) }
    func nextRefill() -> RefillRequest? { machine.nextRefill() }
    func mayRetry(_ attempt: EndpointStateMachine.Attempt) -> Bool { machine.mayRetry(attempt) }
    func takeBack(_ attempt: EndpointStateMachine.Attempt) { machine.takeBack(attempt) }
    func nextDeadline() -> Instant? { machine.nextDeadline() }

    @discardableResult
    func finish(
        _ attempt: EndpointStateMachine.Attempt,
        _ verdict: Verdict,
        _ now: Instant
    ) -> EndpointStateMachine.Outcome {
        machine.finish(attempt, verdict, now, wall: 0)
    }
}

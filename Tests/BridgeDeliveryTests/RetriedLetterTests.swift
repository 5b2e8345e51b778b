import BridgeModel
import BridgeTestSupport
import RoomsHTTP
import RoomsRuntime
import Testing

@testable import BridgeDelivery

/// Dead letters that an operator sends again, among what waits.
@Suite struct RetriedLetterTests {
    private struct Bench {
        var machine = EndpointStateMachine(
            id: Sample.endpoint,
            limits: .init(concurrency: 8, laneBytes: 1 << 20, totalBytes: 1 << 24),
            schedule: RetrySchedule(),
            random: { .max }
        )
        var now = Instant(nanoseconds: 1_000_000_000)

        var rows: [PendingDelivery] = []

        mutating func commit(_ rows: ClosedRange<Int64>) {
            self.rows += rows.map { Sample.delivery(row: $0, room: 1, name: "room:1", seq: $0) }
            for row in rows { machine.admit(Sample.delivery(row: row, room: 1, name: "room:1", seq: row)) }
        }

        mutating func retry(_ seq: Int64, inOrder: Bool = true) {
            var letter = Sample.delivery(row: seq, room: 1, name: "room:1", seq: seq)
            letter.retry = DeadLetterRetry(number: seq * 100, run: "run_x", isInOrder: inOrder)
            machine.retry(letter)
        }

        mutating func begin() -> EndpointStateMachine.Attempt? {
            if let request = machine.nextRefill() { machine.refilled(refill(request)) }
            if let attempt = machine.nextAttempt(now) { return attempt }
            if let deadline = machine.nextDeadline() { now = max(now, deadline) }
            machine.wake(now)
            return machine.nextAttempt(now)
        }

        private func refill(_ request: RefillRequest) -> RefillResult {
            let wish = request.wishes[0]
            let last = RowID((rows.last?.row.rawValue ?? 0) + 1)
            return RefillResult(
                endpoint: request.endpoint,
                deliveries: rows.filter { $0.row >= wish.from },
                next: [RefillRequest.Wish(room: wish.room, from: last)],
                lastCommitted: last
            )
        }

        /// Sends the next one and answers that; what it was, with the seq before it and what was skipped.
        mutating func next(_ verdict: Verdict = .delivered) -> String {
            guard let attempt = begin(), let record = machine.lanes[attempt.lane].current else { return "nothing" }
            let lane = machine.lanes[attempt.lane]
            let outcome = machine.finish(attempt, verdict, now, wall: 0)
            let settled = (outcome.deadLetters + [outcome.settlement].compactMap { $0 })
                .map {
                    ($0.deadLetter == nil ? "" : "dead ")
                        + ($0.retry.map { "letter \($0.number)" } ?? "\($0.row.rawValue)")
                }
            return "\(record.seq) after \(lane.acknowledged) skipped \(lane.skippedBefore): "
                + settled.joined(separator: ", ")
        }
    }

    @Test("at the head of the lane, in its order, before everything that waits")
    func inOrder() {
        var bench = Bench()
        bench.commit(1...1)
        #expect(bench.next() == "1 after 0 skipped 0: 1")
        bench.commit(8...9)
        bench.retry(5)
        bench.retry(3)
        #expect(bench.next() == "3 after 1 skipped 0: letter 300")
        #expect(bench.next() == "5 after 3 skipped 0: letter 500")
        #expect(bench.next() == "8 after 5 skipped 0: 8")
        #expect(bench.next() == "9 after 8 skipped 0: 9")
        #expect(bench.next() == "nothing" && bench.machine.bytes == 0)
    }

    @Test("one that comes while an attempt is on its way is next")
    func meanwhile() {
        var bench = Bench()
        bench.commit(8...9)
        guard let attempt = bench.begin() else {
            Issue.record("nothing is sent")
            return
        }
        bench.retry(3)
        _ = bench.machine.finish(attempt, .delivered, bench.now, wall: 0)
        // What the endpoint accepted last stands before it: it is older.
        #expect(bench.next() == "3 after 8 skipped 0: letter 300")
        #expect(bench.next() == "9 after 8 skipped 0: 9")
    }

    @Test("refused again it stays a dead letter, the lane goes on, and no new hole is told")
    func refusedAgain() {
        var bench = Bench()
        bench.commit(8...9)
        bench.retry(3)
        for _ in 1...3 { #expect(bench.next(.status(422)) == "3 after 0 skipped 0: ") }
        #expect(bench.next() == "8 after 0 skipped 0: dead letter 300, 8")
        #expect(bench.next() == "9 after 8 skipped 0: 9")
    }

    @Test("with all places taken one that is refused again needs none, a new one does, and goes on when one is free")
    func places() {
        var bench = Bench()
        bench.machine.isFullOfDeadLetters = true
        bench.retry(3)
        #expect(bench.next(.status(413)) == "3 after 0 skipped 0: ")
        bench.commit(8...10)
        #expect(bench.next() == "8 after 0 skipped 0: dead letter 300, 8")
        _ = bench.next(.status(413))
        #expect(bench.next() == "10 after 8 skipped 1: dead 9, 10")
        bench.commit(11...11)
        var settings = EndpointStateMachine.Hold(
            failures: 5,
            since: bench.now,
            until: bench.now + .seconds(30),
            length: .seconds(30)
        )
        settings.isForPlace = true
        bench.machine.hold = settings
        bench.machine.isFullOfDeadLetters = true
        #expect(bench.machine.nextAttempt(bench.now) == nil)
        bench.machine.placeCame(bench.now)
        #expect(!bench.machine.isFullOfDeadLetters && bench.machine.nextAttempt(bench.now) != nil)
    }

    @Test("out of order it goes beside its lane, which does not wait for it")
    func outOfOrder() {
        var bench = Bench()
        bench.commit(1...1)
        #expect(bench.next() == "1 after 0 skipped 0: 1")
        bench.retry(3, inOrder: false)
        bench.commit(8...9)
        #expect(bench.next(.status(500)) == "3 after 1 skipped 0: ")
        #expect(bench.next() == "8 after 1 skipped 0: 8")
        #expect(bench.next() == "9 after 8 skipped 0: 9")
        #expect(bench.next() == "3 after 1 skipped 0: letter 300")
        #expect(bench.next() == "nothing" && bench.machine.bytes == 0)
        #expect(bench.machine.nextRefill() == nil)
    }

    @Test("what a lane that waits gives back to the store are not the letters, and no row is skipped or twice")
    func trims() {
        var bench = Bench()
        bench.commit(8...10)
        bench.retry(3)
        bench.retry(4)
        #expect(bench.next(.status(500)) == "3 after 0 skipped 0: ")
        #expect(bench.machine.lanes[0].records.count == 2)
        #expect(bench.machine.lanes[0].cursor == RowID(8))
        #expect(bench.next() == "3 after 0 skipped 0: letter 300")
        #expect(bench.next() == "4 after 3 skipped 0: letter 400")
        for seq in 8...10 { #expect(bench.next().hasPrefix("\(seq) after ")) }
        #expect(bench.next() == "nothing")
    }

    @Test("only what is out of order is marked")
    func header() throws {
        for inOrder in [true, false] {
            let writer = RequestWriter(
                beginning: try RequestHead(method: "POST", target: "/", host: "localhost"),
                storeID: "s",
                keys: []
            )
            var delivery = Sample.delivery()
            delivery.retry = DeadLetterRetry(number: 1, run: "run_abc", isInOrder: inOrder)
            var request = RequestHead()
            writer.write(delivery, previousSeq: 0, attempt: 1, now: 0, into: &request)
            let text = String(decoding: request.bytes, as: UTF8.self)
            #expect(text.contains("\r\nroombridge-replay: run_abc\r\n") == !inOrder)
        }
    }
}

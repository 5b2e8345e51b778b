import BridgeModel
import BridgeTestSupport
import RoomsRuntime
import Testing

@testable import BridgeDelivery

/// Records that the store gives up for one endpoint, while they wait here or are on their way.
@Suite struct LostRecordTests {
    private static let start = Instant(nanoseconds: 1_000_000_000)

    private struct Bench {
        var machine = EndpointStateMachine(
            id: Sample.endpoint,
            limits: .init(concurrency: 8, laneBytes: 1 << 20, totalBytes: 1 << 24),
            schedule: RetrySchedule(),
            random: { .max }
        )
        var now = LostRecordTests.start

        mutating func commit(_ rows: ClosedRange<Int64>) {
            for row in rows { machine.admit(Sample.delivery(row: row, room: 1, name: "room:1", seq: row)) }
        }

        /// Row, seq and offset are one number here.
        mutating func lose(_ from: UInt64, _ to: UInt64, epoch: ByteString = "ab12") {
            var delivery = Sample.delivery(row: Int64(to), room: 1, name: "room:1", seq: Int64(to))
            delivery.body = .gap(Gap(reason: .retention, epoch: epoch, from: from, to: to), at: 5)
            machine.lose(delivery)
        }

        mutating func begin() -> EndpointStateMachine.Attempt? {
            if let deadline = machine.nextDeadline() { now = max(now, deadline) }
            machine.wake(now)
            return machine.nextAttempt(now)
        }

        /// What is sent next, and is accepted.
        mutating func deliver() -> String? {
            guard let attempt = begin(), let record = machine.lanes[attempt.lane].current else { return nil }
            let outcome = machine.finish(attempt, .delivered, now, wall: 0)
            let text = record.loss.map { "gap \($0.from)-\($0.to ?? 0)" } ?? "\(record.row.rawValue)"
            guard let settlement = outcome.settlement, settlement.row == record.row else { return "unsettled \(text)" }
            if let gap = record.loss, settlement.told != gap.from...(gap.to ?? 0) { return "untold \(text)" }
            return text
        }

        mutating func deliverAll() -> [String] {
            var all: [String] = []
            while let next = deliver() { all.append(next) }
            return all
        }
    }

    @Test("the gap stands in the place of what was lost, before what came after it")
    func inPlace() {
        var bench = Bench()
        bench.commit(1...5)
        bench.lose(1, 3)
        #expect(bench.deliverAll() == ["gap 1-3", "4", "5"])
        #expect(bench.machine.bytes == 0)
        // All of it, also what was never here.
        bench.commit(6...7)
        bench.lose(6, 9)
        bench.commit(10...10)
        #expect(bench.deliverAll() == ["gap 6-9", "10"])
        // With nothing behind it.
        bench.lose(11, 12)
        #expect(bench.deliverAll() == ["gap 11-12"])
    }

    @Test("what is on its way ends as it may, then comes the gap", arguments: [true, false])
    func onItsWay(isAccepted: Bool) {
        var bench = Bench()
        bench.commit(1...4)
        guard let attempt = bench.begin() else {
            Issue.record("nothing is sent")
            return
        }
        bench.lose(1, 2)
        bench.lose(1, 3)
        let outcome = bench.machine.finish(attempt, isAccepted ? .delivered : .unreachable, bench.now, wall: 0)
        #expect(outcome.settlement?.row == (isAccepted ? RowID(1) : nil))
        #expect(bench.deliverAll() == ["gap 1-3", "4"])
        #expect(bench.machine.bytes == 0)
    }

    @Test("more that is lost makes one larger gap; one that was tried keeps its range, and its id")
    func tried() {
        var bench = Bench()
        bench.commit(1...9)
        bench.lose(1, 2)
        bench.lose(1, 4)
        guard let attempt = bench.begin() else {
            Issue.record("nothing is sent")
            return
        }
        bench.lose(1, 5)
        _ = bench.machine.finish(attempt, .unreachable, bench.now, wall: 0)
        bench.lose(1, 7)
        #expect(bench.deliverAll() == ["gap 1-4", "gap 5-7", "8", "9"])
    }

    @Test("what was accepted before the store gave it up is not told as lost")
    func accepted() {
        var bench = Bench()
        bench.commit(1...4)
        #expect(bench.deliver() == "1" && bench.deliver() == "2")
        bench.lose(1, 2)
        #expect(bench.deliver() == "3")
        bench.lose(1, 4)
        #expect(bench.deliverAll() == ["gap 1-4"])
    }

    @Test("two streams have a gap each, whatever is lost later")
    func streams() {
        var bench = Bench()
        bench.lose(1, 3)
        bench.lose(1, 6, epoch: "cd34")
        bench.lose(1, 8, epoch: "cd34")
        bench.commit(9...9)
        #expect(bench.deliverAll() == ["gap 1-3", "gap 1-8", "9"])
    }

    @Test("what waits or was set aside goes like the rest, and the memory of a wait keeps the gaps")
    func waiting() {
        var bench = Bench()
        bench.commit(1...6)
        for _ in 1...4 {
            guard let attempt = bench.begin() else { break }
            let verdict = Verdict.status(422)
            _ = bench.machine.finish(attempt, verdict, bench.now, wall: 0)
        }
        #expect(!bench.machine.lanes[0].aside.isEmpty)
        bench.lose(1, 3)
        bench.lose(1, 5, epoch: "cd34")
        guard let attempt = bench.begin() else {
            Issue.record("nothing is sent")
            return
        }
        _ = bench.machine.finish(attempt, Verdict.status(500), bench.now, wall: 0)
        // The rows behind went back to the store, the gaps did not.
        #expect(bench.machine.lanes[0].records.count == 2)
        #expect(bench.deliver() == "gap 1-3" && bench.deliver() == "gap 1-5")
        #expect(bench.machine.nextRefill()?.wishes.map(\.from) == [RowID(6)])
    }
}

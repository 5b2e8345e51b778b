internal import RoomsRuntime
internal import Testing

/// The judge of the crash test must itself be judged: a log with one thing wrong, and the fault it has to name.
@Suite struct RunCheckerTests {
    @Test func `finds nothing wrong with a good run`() {
        let report = RunChecker.check(SampleRun().log)
        #expect(report.faults.isEmpty, "\(report)")
        #expect(report.published == 12)
        #expect(report.received == 12)
        #expect(report.repeated == 0)
    }

    @Test func `names a lost event`() {
        var run = SampleRun()
        run.log.receptions.remove(at: run.index(room: "a", offset: 6))
        #expect(RunChecker.check(run.log).faults == [.lost(run.key("a", 6))])
    }

    @Test func `names a lost event that arrived and was refused`() {
        var run = SampleRun()
        run.log.receptions[run.index(room: "a", offset: 6)].status = 503
        #expect(RunChecker.check(run.log).faults == [.lost(run.key("a", 6))])
    }

    @Test func `names swapped events`() {
        var run = SampleRun()
        run.swap(run.index(room: "a", offset: 3), run.index(room: "a", offset: 4))
        let faults = RunChecker.check(run.log).faults
        #expect(faults.contains(.reordered(run.key("a", 4))))
        #expect(faults.allSatisfy { $0.kind == "reordered" })
    }

    @Test func `names an event that arrived before its predecessor was accepted`() throws {
        var run = SampleRun()
        let first = run.index(room: "a", offset: 3)
        run.log.receptions[first].answered = try #require(run.log.receptions[first].answered) + .seconds(60)
        #expect(RunChecker.check(run.log).faults == [.reordered(run.key("a", 4))])
    }

    @Test func `names a changed byte`() {
        var run = SampleRun()
        run.log.receptions[run.index(room: "b", offset: 2)].item = .event(offset: 2, digest: [1])
        #expect(RunChecker.check(run.log).faults == [.changed(run.key("b", 2))])
    }

    @Test func `names an event that nobody published`() {
        var run = SampleRun()
        run.forget(run.key("b", 6))
        #expect(RunChecker.check(run.log).faults == [.invented(run.key("b", 6))])
    }

    @Test func `takes an event whose publisher got no answer`() {
        var run = SampleRun()
        run.forget(run.key("b", 6))
        run.log.uncertain = [Uncertain(room: "b", digest: SampleRun.digest("b", 6))]
        #expect(RunChecker.check(run.log).faults.isEmpty)
    }

    @Test(arguments: [
        // answered before the kill (ms), allowed
        (10, true), (249, true), (251, false), (5_000, false),
    ])
    func `allows a duplicate only of what was answered just before the kill`(age: Int, isAllowed: Bool) throws {
        var run = SampleRun()
        let first = run.log.receptions[run.index(room: "b", offset: 6)]
        let kill = try #require(first.answered) + .milliseconds(age)
        run.log.kills = [Kill(killed: kill, restarted: kill + .milliseconds(50))]
        run.append(first, at: kill + .milliseconds(100))
        let report = RunChecker.check(run.log)
        #expect(report.repeated == 1)
        #expect(report.faults == (isAllowed ? [] : [.duplicated(run.key("b", 6))]))
    }

    @Test func `allows a duplicate of what a kill found in flight`() throws {
        var run = SampleRun()
        let index = run.index(room: "b", offset: 6)
        let kill = run.log.receptions[index].arrived + .milliseconds(1)
        run.log.receptions[index].answered = kill + .seconds(1)
        run.log.kills = [Kill(killed: kill, restarted: kill + .milliseconds(50))]
        run.append(run.log.receptions[index], at: kill + .seconds(2))
        #expect(RunChecker.check(run.log).faults.isEmpty)
    }

    @Test func `allows a duplicate of what was on its way at a kill and arrived after it`() throws {
        var run = SampleRun()
        let first = run.log.receptions[run.index(room: "b", offset: 6)]
        let kill = Instant(nanoseconds: first.arrived.nanoseconds - 1_000_000)
        run.log.kills = [Kill(killed: kill, restarted: kill + .milliseconds(50))]
        run.append(first, at: kill + .milliseconds(100))
        #expect(RunChecker.check(run.log).faults.isEmpty)
        run.log.kills[0].restarted = kill
        #expect(RunChecker.check(run.log).faults == [.duplicated(run.key("b", 6))])
    }

    @Test func `names a duplicate without any kill`() {
        var run = SampleRun()
        run.append(run.log.receptions[0], at: run.end + .seconds(1))
        #expect(RunChecker.check(run.log).faults == [.duplicated(run.key("a", 1))])
    }

    @Test func `names a new stream that no gap announced`() {
        var run = SampleRun()
        run.log.allowsGaps = true
        run.publish("a", epoch: "second", 1...2)
        #expect(RunChecker.check(run.log).faults == [.missingGap(run.key("a", 1, epoch: "second"))])
    }

    @Test func `names a hole of which the publisher knows nothing`() {
        var run = SampleRun()
        run.publish("a", epoch: "first", 8...9)
        #expect(RunChecker.check(run.log).faults == [.missingGap(run.key("a", 8))])
    }

    @Test func `counts what a gap declares as declared, not as lost`() {
        var run = SampleRun()
        run.log.allowsGaps = true
        run.log.receptions.remove(at: run.index(room: "a", offset: 6))
        run.declare("a", epoch: "first", from: 6, to: nil)
        run.publish("a", epoch: "second", 1...2)
        let report = RunChecker.check(run.log)
        #expect(report.faults.isEmpty, "\(report)")
        #expect(report.declared == 1)
        #expect(report.gaps == 1)
    }

    @Test func `takes the end of a stream as covering streams that came and went unseen`() {
        var run = SampleRun()
        run.log.allowsGaps = true
        run.log.published.append(Published(key: run.key("a", 1, epoch: "unseen"), digest: [7]))
        run.declare("a", epoch: "first", from: 7, to: nil)
        run.publish("a", epoch: "second", 1...2)
        #expect(RunChecker.check(run.log).faults.isEmpty)
    }

    @Test func `names a gap that came behind the event after it`() {
        var run = SampleRun()
        run.log.allowsGaps = true
        run.log.receptions.remove(at: run.index(room: "a", offset: 5))
        run.declare("a", epoch: "first", from: 5, to: 5)
        #expect(RunChecker.check(run.log).faults == [.reordered(run.key("a", 6))])
    }

    @Test func `names a gap where the server lost nothing`() {
        var run = SampleRun()
        run.declare("a", epoch: "first", from: 7, to: nil)
        #expect(RunChecker.check(run.log).faults == [.unexpectedGap(run.key("a", 7))])
    }

    @Test func `names a gap over an event that was received`() {
        var run = SampleRun()
        run.log.allowsGaps = true
        run.declare("a", epoch: "first", from: 6, to: 6)
        #expect(RunChecker.check(run.log).faults.contains(.falseGap(run.key("a", 6))))
    }

    @Test func `names an event that comes back under another id`() throws {
        var run = SampleRun()
        var again = run.log.receptions[run.index(room: "b", offset: 6)]
        let kill = try #require(again.answered) + .milliseconds(1)
        run.log.kills = [Kill(killed: kill, restarted: kill + .milliseconds(50))]
        again.id = "rb_other"
        run.append(again, at: kill + .seconds(1))
        #expect(RunChecker.check(run.log).faults == [.identity(run.key("b", 6))])
    }
}

/// Two rooms, six events each, received as they should be.
private struct SampleRun {
    var log = RunLog()
    private var clock = Instant(nanoseconds: 1_000_000_000)

    init() {
        publish("a", epoch: "first", 1...6)
        publish("b", epoch: "first", 1...6)
    }

    var end: Instant { clock }

    static func digest(_ room: ByteString, _ offset: UInt64) -> [UInt8] { room.bytes + [UInt8(offset)] }

    func key(_ room: ByteString, _ offset: UInt64, epoch: ByteString = "first") -> EventKey {
        EventKey(room: room, epoch: epoch, offset: offset)
    }

    func index(room: ByteString, offset: UInt64) -> Int {
        log.receptions.firstIndex { reception in
            guard case .event(offset, _) = reception.item else { return false }
            return reception.room == room
        } ?? -1
    }

    mutating func forget(_ key: EventKey) {
        log.published.removeAll { $0.key == key }
    }

    mutating func publish(_ room: ByteString, epoch: ByteString, _ offsets: ClosedRange<UInt64>) {
        for offset in offsets {
            let digest = Self.digest(room, offset)
            log.published.append(Published(key: key(room, offset, epoch: epoch), digest: digest))
            receive(room, epoch, "rb_\(room)_\(epoch)_\(offset)", .event(offset: offset, digest: digest))
        }
    }

    mutating func declare(_ room: ByteString, epoch: ByteString, from: UInt64, to: UInt64?) {
        receive(room, epoch, "rb_gap_\(room)_\(epoch)", .gap(from: from, to: to, reason: "epoch_changed"))
    }

    /// The same request once more.
    mutating func append(_ reception: Reception, at time: Instant) {
        var again = reception
        again.arrived = time
        again.answered = time + .milliseconds(1)
        log.receptions.append(again)
    }

    /// Exchanges what two requests carried, not when they came.
    mutating func swap(_ first: Int, _ second: Int) {
        let item = log.receptions[first].item
        let id = log.receptions[first].id
        log.receptions[first].item = log.receptions[second].item
        log.receptions[first].id = log.receptions[second].id
        log.receptions[second].item = item
        log.receptions[second].id = id
    }

    private mutating func receive(_ room: ByteString, _ epoch: ByteString, _ id: String, _ item: Reception.Item) {
        clock = clock + .milliseconds(10)
        log.receptions.append(
            Reception(
                item: item,
                room: room,
                epoch: epoch,
                id: ByteString(id),
                seq: Int64(log.receptions.count + 1),
                attempt: 1,
                arrived: clock,
                answered: clock + .milliseconds(5),
                status: 200
            )
        )
    }
}

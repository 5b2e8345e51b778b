import BridgeModel
import BridgeTestSupport
import RoomsRuntime
import RoomsTransport
import Testing

@testable import BridgeDelivery

/// Whose fault a refusal is: nothing is given up that another try would have brought to its end.
@Suite struct WhoseFaultTests {
    private typealias Request = EndpointSimulation.Request

    @Test("an endpoint that refuses everything for ten minutes gets everything afterwards", arguments: [1, 3, 50])
    func outage(rooms: Int64) {
        var isBad = true
        let endpoint = EndpointSimulation { _ in isBad ? .status(400) : .delivered }
        for _ in 0..<6 { for room in 1...rooms { endpoint.commit(room) } }
        endpoint.run(until: .seconds(600))
        #expect(endpoint.deadLetters.isEmpty && endpoint.accepted.isEmpty)
        // It is asked now and then, and no more than that.
        #expect(endpoint.requests.count < 3 * 50 + 600)
        let asked = endpoint.requests.count { $0.at > .seconds(300) }
        #expect((10...20).contains(asked), "\(asked) in the second half")
        isBad = false
        endpoint.run()
        #expect(endpoint.deadLetters.isEmpty && endpoint.complaint == nil)
        #expect(endpoint.settledCount == endpoint.committedCount)
    }

    @Test("one bad event of a single room is given up within its budget, and the next one tells of the hole")
    func poisonAlone() throws {
        let endpoint = EndpointSimulation { $0.seq == 3 ? .status(422) : .delivered }
        for _ in 1...10 { endpoint.commit(1) }
        endpoint.run()
        #expect(endpoint.deadLetters.map(\.seq) == [3] && endpoint.complaint == nil)
        let letter = try #require(endpoint.deadLetters.first)
        #expect(letter.letter.reason == .refused && letter.letter.status == 422 && letter.letter.attempts == 3)
        #expect(letter.letter.lastAttempt - letter.letter.firstAttempt >= 10_000)
        #expect(letter.at < .seconds(12))
        #expect(endpoint.accepted.map(\.seq) == [1, 2, 4, 5, 6, 7, 8, 9, 10])
        #expect(endpoint.accepted.map(\.skipped) == [0, 0, 1, 0, 0, 0, 0, 0, 0])
    }

    @Test("several bad events in a row are given up together, with the one behind them", arguments: 1...4)
    func poisonRow(count: Int64) {
        let endpoint = EndpointSimulation { $0.seq <= count ? .status(400) : .delivered }
        for _ in 1...8 { endpoint.commit(1) }
        endpoint.run()
        #expect(endpoint.deadLetters.map(\.seq) == Array(1...count) && endpoint.complaint == nil)
        #expect(endpoint.accepted.first?.skipped == count && endpoint.accepted.count == 8 - Int(count))
    }

    @Test("five in a row are no bad events")
    func fiveInARow() throws {
        let endpoint = EndpointSimulation { $0.seq <= 5 ? .status(400) : .delivered }
        for _ in 1...8 { endpoint.commit(1) }
        endpoint.run(until: .seconds(900))
        #expect(endpoint.deadLetters.isEmpty && endpoint.accepted.isEmpty)
        #expect(endpoint.hold?.isRejecting == true)
        guard case .held(let refusal, _) = endpoint.changes.last?.1 else {
            Issue.record("nobody was told")
            return
        }
        #expect(refusal.reason.hasPrefix("it refuses every event"))
    }

    @Test("five in a row of as many rooms: what was set aside goes out again before what stands behind it")
    func fiveRooms() {
        var isBad = true
        let endpoint = EndpointSimulation(concurrency: 1) { _ in isBad ? .status(400) : .delivered }
        for _ in 1...3 { for room in 1...6 { endpoint.commit(Int64(room)) } }
        endpoint.onBegin = { _ in if endpoint.hold?.isRejecting == true { isBad = false } }
        endpoint.run()
        #expect(!isBad && endpoint.deadLetters.isEmpty && endpoint.complaint == nil)
        for room in 1...6 { #expect(endpoint.accepted.filter { $0.room == room }.map(\.seq) == [1, 2, 3]) }
    }

    @Test("an event's own pause is no longer than may be asked for")
    func longPause() {
        var refusal = Verdict.status(400).refusal
        refusal?.retryAfter = .seconds(1 << 40)
        let endpoint = EndpointSimulation { request in
            request.attempt == 1 ? refusal.map { .refused($0) } ?? .delivered : .delivered
        }
        endpoint.commit(1)
        endpoint.run(until: .seconds(90_000))
        #expect(endpoint.accepted.map(\.at) == [RetrySchedule().longestAsked + .milliseconds(1)])
    }

    @Test("other rooms do not notice a bad event, nor does it wait for company")
    func poisonAmongHealthy() {
        func run(_ isPoisoned: Bool) -> EndpointSimulation {
            let endpoint = EndpointSimulation { request in
                isPoisoned && request.room == 7 && request.seq == 1 ? .status(400) : .delivered
            }
            // A second of events in 20 rooms, every 50 ms.
            for step in 0..<600 {
                for room in 1...20 where room != 7 || step % 100 == 0 { endpoint.commit(Int64(room)) }
                endpoint.run(until: .milliseconds(50 * (step + 1)))
            }
            endpoint.run()
            return endpoint
        }
        let (healthy, poisoned) = (run(false), run(true))
        #expect(poisoned.deadLetters.map(\.seq) == [1] && poisoned.deadLetters.map(\.room) == [7])
        #expect((poisoned.deadLetters.first?.at ?? .zero) < .seconds(12))
        let others = [healthy, poisoned].map { $0.accepted.filter { $0.room != 7 }.map(\.at).reduce(.zero, max) }
        #expect(others[0] == others[1])
        #expect(poisoned.requests.count { $0.room != 7 } == healthy.requests.count { $0.room != 7 })
        #expect(poisoned.settledCount == poisoned.committedCount && poisoned.complaint == nil)
    }

    @Test("a bad event that nothing follows waits until something shows whose fault it is")
    func poisonLast() {
        let endpoint = EndpointSimulation { $0.room == 1 && $0.seq == 1 ? .status(400) : .delivered }
        endpoint.commit(1)
        endpoint.run(until: .seconds(600))
        #expect(endpoint.deadLetters.isEmpty)
        // One behind it is tried at once.
        endpoint.commit(1)
        endpoint.run(until: .seconds(601))
        #expect(endpoint.deadLetters.map(\.seq) == [1] && endpoint.accepted.map(\.seq) == [2])
    }

    @Test("the same in a room of its own: another room's acceptance shows it")
    func poisonLastOfItsRoom() {
        let endpoint = EndpointSimulation { $0.room == 1 ? .status(400) : .delivered }
        endpoint.commit(1)
        endpoint.run(until: .seconds(60))
        #expect(endpoint.deadLetters.isEmpty)
        endpoint.commit(2)
        endpoint.run(until: .seconds(120))
        #expect(endpoint.deadLetters.map(\.room) == [1] && endpoint.accepted.map(\.room) == [2])
    }

    @Test("what recovers while it is set aside is delivered in its place")
    func recovers() {
        var isBad = true
        let endpoint = EndpointSimulation { _ in isBad ? .status(400) : .delivered }
        for _ in 1...3 { endpoint.commit(1) }
        endpoint.run(until: .seconds(30))
        #expect(endpoint.lanes[0].aside.count >= 1)
        isBad = false
        endpoint.run()
        #expect(endpoint.accepted.map(\.seq) == [1, 2, 3] && endpoint.deadLetters.isEmpty)
        #expect(endpoint.accepted.allSatisfy { $0.skipped == 0 })
    }

    @Test("the receiver's own word gives an event up at once, also while it refuses everything")
    func abort() {
        let abort = ResponseClassifier().judge(.answered(Answer(status: 400, word: .abort)))
        let endpoint = EndpointSimulation { $0.seq == 2 ? abort : .delivered }
        for _ in 1...3 { endpoint.commit(1) }
        endpoint.run()
        #expect(endpoint.deadLetters.map(\.letter.reason) == [.aborted] && endpoint.requests.count == 3)
        #expect(endpoint.accepted.map(\.skipped) == [0, 1])
    }

    @Test(
        "too large is told by one try, a conflict by ten",
        arguments: [(413, 1, DeadLetter.Reason.tooLarge), (409, 10, .refused)]
    )
    func budgets(status: Int, tries: Int, reason: DeadLetter.Reason) {
        let endpoint = EndpointSimulation { $0.seq == 1 ? .status(status) : .delivered }
        for _ in 1...2 { endpoint.commit(1) }
        endpoint.run()
        #expect(endpoint.deadLetters.map(\.letter.reason) == [reason])
        #expect(endpoint.requests.count { $0.seq == 1 } == tries)
    }

    @Test("one room that fails where others do not waits alone; two that fail make the endpoint wait")
    func confirmed() {
        let lone = EndpointSimulation { $0.room == 1 ? .status(404) : .delivered }
        for room in 1...4 { for _ in 0..<5 { lone.commit(Int64(room)) } }
        lone.run(until: .seconds(60))
        #expect(lone.accepted.count == 15 && lone.hold == nil && lone.deadLetters.isEmpty)
        let all = EndpointSimulation { _ in .status(404) }
        for room in 1...100 { all.commit(Int64(room)) }
        all.run(until: .seconds(600))
        #expect(all.hold != nil && all.requests.count < 60)
    }

    @Test("who is not known, is gone, or asks for a pause is left at once", arguments: [401, 403, 407, 511, 410])
    func atOnce(status: Int) {
        let endpoint = EndpointSimulation(concurrency: 1) { _ in .status(status) }
        for room in 1...10 { endpoint.commit(Int64(room)) }
        endpoint.run(until: .milliseconds(200))
        #expect(endpoint.requests.count == 1)
        endpoint.run(until: .seconds(3_600))
        #expect(status == 410 ? endpoint.requests.count == 1 : (100...300).contains(endpoint.requests.count))
    }

    @Test("any number of bad events with good ones in between are bad events")
    func manyBad() {
        let endpoint = EndpointSimulation { $0.seq.isMultiple(of: 2) ? .status(400) : .delivered }
        for _ in 1...31 { endpoint.commit(1) }
        endpoint.run()
        #expect(endpoint.deadLetters.count == 15 && endpoint.accepted.count == 16 && endpoint.complaint == nil)
    }

    // MARK: an event that makes its receiver fail

    /// Room 1 begins with an event that fails for ever; three other rooms get one event a second.
    private func failing(
        _ verdict: Verdict,
        infers: Bool,
        for time: Int = 300,
        others: ClosedRange<Int64>? = 2...4
    ) -> EndpointSimulation {
        let endpoint = EndpointSimulation(infersPoison: infers) { request in
            request.room == 1 && request.seq == 1 ? verdict : .delivered
        }
        for _ in 1...3 { endpoint.commit(1) }
        for second in 1...time {
            for room in others ?? 2...2 where others != nil { endpoint.commit(room) }
            endpoint.run(until: .seconds(second))
        }
        #expect(endpoint.complaint == nil)
        return endpoint
    }

    private func suspicions(_ endpoint: EndpointSimulation) -> Int {
        endpoint.changes.count { if case .suspected = $0.1 { true } else { false } }
    }

    private static let failures: [(name: String, verdict: Verdict)] = [
        ("500", .status(500)), ("no answer", ResponseClassifier().judge(.failed(AttemptFailure(.noAnswer)))),
        (
            "reset",
            ResponseClassifier().judge(.failed(AttemptFailure(.broken(TransportError(.closed, "it was reset")))))
        ),
    ]

    @Test("an event that fails again and again while others are accepted is suspected, once", arguments: 0..<3)
    func suspected(cause: Int) {
        let endpoint = failing(Self.failures[cause].verdict, infers: false)
        #expect(suspicions(endpoint) == 1, "\(Self.failures[cause].name)")
        #expect(endpoint.deadLetters.isEmpty && endpoint.accepted.allSatisfy { $0.room != 1 })
        #expect(
            (endpoint.changes.first { if case .suspected = $0.1 { true } else { false } }?.at ?? .zero) >= .seconds(60)
        )
    }

    @Test("with infer_poison it is given up, and its room goes on", arguments: 0..<3)
    func inferred(cause: Int) throws {
        let endpoint = failing(Self.failures[cause].verdict, infers: true)
        let letter = try #require(endpoint.deadLetters.first)
        #expect(endpoint.deadLetters.count == 1 && letter.room == 1 && letter.seq == 1)
        #expect(letter.letter.reason == .inferred && letter.letter.attempts >= 5)
        #expect(letter.letter.lastAttempt - letter.letter.firstAttempt >= 60_000)
        #expect(endpoint.accepted.filter { $0.room == 1 }.map(\.skipped) == [1, 0])
        #expect(endpoint.settledCount == endpoint.committedCount && suspicions(endpoint) == 0)
    }

    @Test("nothing is inferred from too little: no other acceptances, other failures, an endpoint that is down")
    func notInferred() {
        let alone = failing(.status(500), infers: true, others: nil)
        #expect(alone.deadLetters.isEmpty)
        for verdict in [Verdict.status(404), .status(503), .status(301), .unreachable, .status(401)] {
            #expect(failing(verdict, infers: true).deadLetters.isEmpty)
        }
        #expect(failing(.status(500), infers: true, for: 55).deadLetters.isEmpty)
    }

    @Test("where nothing may be given up the room waits, and only it")
    func blocks() {
        let classifier = ResponseClassifier(givesUp: false)
        let endpoint = EndpointSimulation { request in
            request.room == 1 && request.seq == 2
                ? classifier.judge(.answered(Answer(status: 422))) : .delivered
        }
        for _ in 1...5 { for room in 1...4 { endpoint.commit(Int64(room)) } }
        endpoint.run(until: .seconds(3_600))
        #expect(endpoint.deadLetters.isEmpty && endpoint.accepted.count == 16)
        #expect(endpoint.accepted.filter { $0.room == 1 }.map(\.seq) == [1] && endpoint.hold == nil)
    }

    @Test("too much to do: half as many at a time, and slowly more again")
    func overload() throws {
        var count = 0
        let endpoint = EndpointSimulation(concurrency: 64) { _ in
            count += 1
            return count == 100 ? .status(503) : .delivered
        }
        for room in 1...64 { for _ in 0..<200 { endpoint.commit(Int64(room)) } }
        endpoint.run()
        #expect(endpoint.settledCount == endpoint.committedCount && endpoint.deadLetters.isEmpty)
        // All attempts take the same time: what begins in one moment is what there may be at a time.
        let early = endpoint.requests.prefix(10_000)
        let sizes = Dictionary(grouping: early, by: \.at).sorted { $0.key < $1.key }.map(\.value.count)
        #expect(sizes.first == 64 && endpoint.hold == nil)
        let least = try #require(sizes.dropLast().min())
        #expect((28...34).contains(least), "\(least) after the answer")
        let growth = zip(sizes, sizes.dropFirst()).map { $1 - $0 }.max() ?? 0
        #expect(growth <= 2, "\(growth) more from one moment to the next")
    }

    @Test("without a place for dead letters nothing is given up: the endpoint waits")
    func noPlace() {
        let endpoint = EndpointSimulation { $0.room == 1 && $0.seq == 1 ? .status(400) : .delivered }
        endpoint.deadLettersAreFull(true)
        endpoint.commit(1)
        for step in 0..<200 {
            endpoint.commit(2)
            endpoint.run(until: .milliseconds(100 * (step + 1)))
        }
        #expect(endpoint.deadLetters.isEmpty)
        endpoint.deadLettersAreFull(false)
        for step in 200..<800 {
            endpoint.commit(2)
            endpoint.run(until: .milliseconds(100 * (step + 1)))
        }
        endpoint.run()
        #expect(endpoint.deadLetters.map(\.room) == [1] && endpoint.settledCount == endpoint.committedCount)
    }

    @Test("a quiet room's event waits for no more than two rounds, however much a busy room has")
    func fairness() {
        let concurrency = 8
        let endpoint = EndpointSimulation(concurrency: concurrency) { _ in .delivered }
        for _ in 0..<20_000 { endpoint.commit(0) }
        endpoint.run(until: .milliseconds(20))
        for room in 1...999 {
            let before = endpoint.requests.count
            endpoint.commit(Int64(room))
            endpoint.run(until: .milliseconds(20 + 2 * room))
            let place = endpoint.requests[before...].firstIndex { $0.room == room }
            #expect(place.map { $0 - before < 2 * concurrency } == true, "room \(room)")
        }
        // All at once: each comes once before the busy room comes twice.
        for room in 0...999 { endpoint.commit(Int64(room)) }
        let before = endpoint.requests.count
        endpoint.run()
        let round = endpoint.requests[before...].prefix(1_000)
        #expect(Set(round.map(\.room)).count == 1_000)
        #expect(endpoint.settledCount == endpoint.committedCount && endpoint.complaint == nil)
    }

    @Test(
        "whatever fails and whenever: order holds, and only what is bad is given up",
        arguments: 1...300 as ClosedRange<UInt64>
    )
    func property(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let rooms = Int64.random(in: 1...12, using: &random)
        let share = [0, 0, 3, 30].randomElement(using: &random) ?? 0
        let salt = Int64.random(in: 0...1_000, using: &random)
        let statuses = [400, 404, 500, 503, 401, 422, 0]
        var outage: Int?
        var flaky = SeededRandom(seed: seed &+ 99)
        func isBad(_ room: Int64, _ seq: Int64) -> Bool {
            share > 0 && (room * 7_919 + seq * 104_729 + salt) % 1_000 < Int64(share)
        }
        let endpoint = EndpointSimulation(concurrency: Int.random(in: 1...8, using: &random), seed: seed) { request in
            if let outage { return outage == 0 ? .unreachable : .status(outage) }
            if isBad(request.room, request.seq) { return .status(422) }
            return Int.random(in: 0..<50, using: &flaky) == 0 ? .status(500) : .delivered
        }
        var time = Duration.zero
        for _ in 0..<30 {
            for _ in 0..<Int.random(in: 0...30, using: &random) {
                endpoint.commit(Int64.random(in: 1...rooms, using: &random))
            }
            // An outage begins whenever it likes, and ends while nothing is on its way.
            outage = Int.random(in: 0..<4, using: &random) == 0 ? statuses.randomElement(using: &random) : nil
            time += .seconds(Int64.random(in: 1...240, using: &random))
            endpoint.run(until: time)
            outage = nil
            time += .seconds(240)
            endpoint.run(until: time)
        }
        endpoint.run()
        #expect(endpoint.complaint == nil)
        for letter in endpoint.deadLetters {
            #expect(isBad(letter.room, letter.seq), "room \(letter.room), \(letter.seq) at \(letter.at)")
        }
        // A room whose last event is bad and that nothing follows may wait for ever.
        for lane in endpoint.lanes where !lane.records.isEmpty {
            #expect(isBad(lane.lane.room.rawValue, lane.records.first?.seq ?? 0))
        }
    }
}

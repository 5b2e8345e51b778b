import BridgeModel
import BridgeTestSupport
import RoomsRuntime
import Testing

@testable import BridgeDelivery

/// Several events of a room in one request: order, and nothing accepted twice or given up without a fault of its own.
@Suite struct BatchTests {
    private typealias Request = EndpointSimulation.Request

    private static let limits = BatchLimits(maxEvents: 1_000)

    @Test("what waits goes out together, each room for itself")
    func together() {
        let endpoint = EndpointSimulation(concurrency: 1, batch: Self.limits) { _ in .delivered }
        for _ in 1...1_500 { for room in 1...2 { endpoint.commit(Int64(room)) } }
        endpoint.run()
        #expect(endpoint.requests.map(\.seqs.count) == [1_000, 1_000, 500, 500] && endpoint.complaint == nil)
        #expect(endpoint.settledCount == 3_000)
    }

    @Test(
        "one bad event among a thousand costs eleven requests more than its own",
        arguments: [1, 2, 3, 250, 251, 499, 500, 501, 700, 701, 732, 998, 999, 1_000] as [Int64]
    )
    func oneBad(bad: Int64) throws {
        let endpoint = EndpointSimulation(batch: Self.limits) { $0.seqs.contains(bad) ? .status(400) : .delivered }
        for _ in 1...1_000 { endpoint.commit(1) }
        endpoint.run(until: .seconds(60))
        if bad == 1_000 { endpoint.commit(1) }
        endpoint.run()
        let own = endpoint.requests.count { $0.seqs == [bad] }
        let extra = endpoint.requests.count - own - (bad == 1_000 ? 2 : 1)
        #expect(extra <= 11, "\(extra)")
        #expect(endpoint.deadLetters.map(\.seq) == [bad] && endpoint.complaint == nil)
        #expect(endpoint.accepted.map(\.seq) == (1...endpoint.committedCount).filter { $0 != bad })
        #expect(bad == 1_000 || (own == 3 && endpoint.deadLetters.first?.letter.reason == .refused))
        let next = try #require(endpoint.requests.first { $0.seqs.first == bad + 1 && $0.skipped > 0 })
        #expect(next.skipped == 1)
    }

    @Test("the same for every size and every place", arguments: 2...40 as ClosedRange<Int64>)
    func everyPlace(size: Int64) {
        let log = (0...6).first { Int64(1) << $0 >= size } ?? 0
        for bad in 1..<size {
            let endpoint = EndpointSimulation(batch: Self.limits) { $0.seqs.contains(bad) ? .status(422) : .delivered }
            for _ in 1...size { endpoint.commit(1) }
            endpoint.run()
            let extra = endpoint.requests.count { $0.seqs != [bad] } - 1
            #expect(extra <= log + 1, "\(bad) of \(size): \(extra)")
            #expect(endpoint.deadLetters.map(\.seq) == [bad] && endpoint.accepted.count == size - 1)
        }
    }

    @Test("an endpoint that refuses everything for ten minutes gets everything afterwards", arguments: [1, 3])
    func outage(rooms: Int64) {
        var isBad = true
        let endpoint = EndpointSimulation(batch: Self.limits) { _ in isBad ? .status(400) : .delivered }
        for _ in 0..<600 { for room in 1...rooms { endpoint.commit(room) } }
        endpoint.run(until: .seconds(600))
        #expect(endpoint.deadLetters.isEmpty && endpoint.accepted.isEmpty)
        #expect(endpoint.hold?.isRejecting == true && endpoint.requests.count < 300)
        isBad = false
        endpoint.run()
        #expect(endpoint.deadLetters.isEmpty && endpoint.complaint == nil)
        #expect(endpoint.settledCount == endpoint.committedCount)
    }

    @Test("too large: halved until it fits, and the size is kept", arguments: [1, 7, 100, 999])
    func tooLarge(most: Int) {
        let endpoint = EndpointSimulation(batch: Self.limits) { $0.seqs.count > most ? .status(413) : .delivered }
        for _ in 1...3_000 { endpoint.commit(1) }
        endpoint.run()
        #expect(endpoint.deadLetters.isEmpty && endpoint.complaint == nil)
        #expect(endpoint.accepted.map(\.seq) == Array(1...3_000))
        let refused = endpoint.requests.count { $0.seqs.count > most }
        #expect(refused <= 10 + 3_000 / most / 20, "\(refused)")
    }

    @Test("one event that is too large is given up alone")
    func tooLargeAlone() {
        let endpoint = EndpointSimulation(batch: Self.limits) { $0.seqs.contains(300) ? .status(413) : .delivered }
        for _ in 1...1_000 { endpoint.commit(1) }
        endpoint.run()
        #expect(endpoint.deadLetters.map(\.seq) == [300] && endpoint.complaint == nil)
        #expect(endpoint.deadLetters.first?.letter.reason == .tooLarge && endpoint.accepted.count == 999)
        // It says nothing of the size of a batch.
        #expect(endpoint.requests.last?.seqs.count ?? 0 > 500)
    }

    @Test("who acknowledges a part gets the rest, and hardly more at a time", arguments: [1, 10, 600])
    func prefix(most: Int) {
        let endpoint = EndpointSimulation(batch: Self.limits) { request in
            guard request.seqs.count > most else { return .delivered }
            return .partly(PartialAcceptance(accepted: most, refusal: nil))
        }
        for _ in 1...1_000 { endpoint.commit(1) }
        endpoint.run(until: .seconds(5))
        #expect(endpoint.accepted.map(\.seq) == Array(1...1_000) && endpoint.complaint == nil)
        #expect(endpoint.requests.dropFirst().allSatisfy { $0.seqs.count <= 2 * most })
    }

    @Test("who acknowledges nothing is waited for")
    func nothing() {
        var count = 0
        let refusal = Refusal(scope: .lane, status: nil, reason: "nothing", hint: nil)
        let endpoint = EndpointSimulation(batch: Self.limits) { _ in
            count += 1
            return count < 5 ? .partly(PartialAcceptance(accepted: 0, refusal: refusal)) : .delivered
        }
        for _ in 1...10 { endpoint.commit(1) }
        endpoint.run()
        #expect(endpoint.requests.map(\.seqs.count).prefix(5) == [10, 1, 1, 1, 1])
        #expect(endpoint.requests[4].at > .seconds(3) && endpoint.settledCount == 10)
    }

    @Test("what was accepted behind a refused event is not sent again, and shows whose fault it is")
    func results() {
        let endpoint = EndpointSimulation(batch: Self.limits) { request in
            guard let place = request.seqs.firstIndex(of: 4) else { return .delivered }
            let later = request.seqs.indices.filter { $0 > place && request.seqs[$0] % 3 != 0 }
            let refusal = Verdict.status(422).refusal
            return .partly(PartialAcceptance(accepted: place, refusal: refusal, later: later))
        }
        for _ in 1...10 { endpoint.commit(1) }
        endpoint.run(until: .seconds(20))
        #expect(endpoint.requests.map(\.seqs) == [Array(1...10), [4], [4], [6, 9]])
        #expect(endpoint.deadLetters.map(\.seq) == [4] && endpoint.settledCount == 10 && endpoint.complaint == nil)
    }

    @Test(
        "what was accepted behind an event that fails later, with nothing else accepted, is sent once more to tell why"
    )
    func takenAsProbe() {
        var isBad = false
        let endpoint = EndpointSimulation(batch: Self.limits) { request in
            if isBad { return request.seqs.contains(4) ? .status(400) : .delivered }
            isBad = true
            let refusal = Verdict.status(500).refusal
            return .partly(PartialAcceptance(accepted: 3, refusal: refusal, later: Array(4...9)))
        }
        for _ in 1...10 { endpoint.commit(1) }
        endpoint.run()
        #expect(endpoint.requests.map(\.seqs) == [Array(1...10), [4], [4], [4], [5], Array(6...7), Array(8...10)])
        #expect(endpoint.deadLetters.map(\.seq) == [4] && endpoint.settledCount == 10 && endpoint.complaint == nil)
    }

    @Test("a report that shows whose fault two refusals were gives up both")
    func deadBehindAside() {
        let dead = ResponseClassifier().judge(.answered(Answer(status: 400, word: .abort))).refusal
        let endpoint = EndpointSimulation(batch: Self.limits) { request in
            if request.seqs.contains(1) { return .status(400) }
            return .partly(PartialAcceptance(accepted: 0, refusal: dead, later: Array(1..<request.seqs.count)))
        }
        for _ in 1...10 { endpoint.commit(1) }
        endpoint.run()
        #expect(endpoint.deadLetters.map(\.seq) == [1, 2] && endpoint.complaint == nil)
        #expect(endpoint.settledCount == 10 && endpoint.accepted.map(\.seq) == Array(3...10))
    }

    @Test(
        "where nothing may be given up the bad event is found as fast, and its room waits for it",
        arguments: [400, 413]
    )
    func blocks(status: Int) {
        var isBad = true
        let classifier = ResponseClassifier(givesUp: false)
        let endpoint = EndpointSimulation(batch: Self.limits) { request in
            isBad && request.seqs.contains(700) ? classifier.judge(.answered(Answer(status: status))) : .delivered
        }
        for _ in 1...1_000 { endpoint.commit(1) }
        endpoint.run(until: .milliseconds(300))
        #expect(endpoint.accepted.map(\.seq) == Array(1...699) && endpoint.requests.count <= 20)
        endpoint.run(until: .seconds(600))
        #expect(endpoint.requests.count < 60)
        isBad = false
        endpoint.run()
        #expect(endpoint.deadLetters.isEmpty && endpoint.accepted.map(\.seq) == Array(1...1_000))
        #expect(endpoint.complaint == nil)
    }

    @Test("a dead event of a batch goes at once, in its place")
    func dead() {
        let dead = ResponseClassifier().judge(.answered(Answer(status: 400, word: .abort))).refusal
        let endpoint = EndpointSimulation(batch: Self.limits) { request in
            guard let place = request.seqs.firstIndex(of: 4) else { return .delivered }
            let later = Array(request.seqs.indices.suffix(from: place + 1))
            return .partly(PartialAcceptance(accepted: place, refusal: dead, later: later))
        }
        for _ in 1...10 { endpoint.commit(1) }
        endpoint.run(until: .seconds(1))
        #expect(endpoint.requests.count == 1 && endpoint.deadLetters.map(\.letter.reason) == [.aborted])
        endpoint.commit(1)
        endpoint.run()
        #expect(endpoint.requests.last?.seqs == [11] && endpoint.requests.last?.skipped == 1)
        #expect(endpoint.settledCount == 11 && endpoint.complaint == nil)
    }

    @Test("the first event of a quiet room waits for company, no longer than it may, and not for what is there")
    func lingers() {
        let limits = BatchLimits(maxEvents: 4, linger: .milliseconds(20))
        let endpoint = EndpointSimulation(batch: limits) { _ in .delivered }
        endpoint.commit(1)
        endpoint.run(until: .milliseconds(10))
        #expect(endpoint.requests.isEmpty)
        endpoint.commit(1)
        endpoint.run(until: .milliseconds(100))
        #expect(endpoint.requests.map(\.seqs) == [[1, 2]] && endpoint.requests[0].at == .milliseconds(20))
        for _ in 1...9 { endpoint.commit(1) }
        endpoint.run(until: .milliseconds(200))
        #expect(endpoint.requests.dropFirst().map(\.seqs.count) == [4, 4, 1])
        #expect(endpoint.requests[1].at < .milliseconds(125) && endpoint.complaint == nil)
    }

    @Test(
        "whatever fails and whenever: order holds, nothing comes twice, and only what is bad is given up",
        arguments: 1...300 as ClosedRange<UInt64>
    )
    func property(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let share = [0, 0, 3, 30].randomElement(using: &random) ?? 0
        let salt = Int64.random(in: 0...1_000, using: &random)
        let isAware = random.one(in: 2)
        let limits = BatchLimits(
            maxEvents: Int.random(in: 2...100, using: &random),
            linger: .milliseconds(random.one(in: 2) ? 0 : 20)
        )
        var outage: Int?
        var flaky = SeededRandom(seed: seed &+ 99)
        func isBad(_ room: Int64, _ seq: Int64) -> Bool {
            share > 0 && (room * 7_919 + seq * 104_729 + salt) % 1_000 < Int64(share)
        }
        func report(_ request: Request) -> Verdict {
            let verdicts = request.seqs.map { seq -> Verdict in
                if isBad(request.room, seq) { return .status(422) }
                return flaky.one(in: 30) ? .status([500, 429, 401].randomElement(using: &flaky) ?? 500) : .delivered
            }
            guard let first = verdicts.firstIndex(where: { $0.refusal != nil }) else { return .delivered }
            var refusal = verdicts[first].refusal
            if refusal?.scope == .endpoint { refusal?.scope = .lane }
            let later = verdicts.indices.filter { $0 > first && verdicts[$0].refusal == nil }
            return .partly(PartialAcceptance(accepted: first, refusal: refusal, later: later))
        }
        let concurrency = Int.random(in: 1...8, using: &random)
        let endpoint = EndpointSimulation(concurrency: concurrency, seed: seed, batch: limits) { request in
            if let outage { return outage == 0 ? .unreachable : .status(outage) }
            if isAware { return report(request) }
            if request.seqs.contains(where: { isBad(request.room, $0) }) { return .status(422) }
            if flaky.one(in: 20), request.seqs.count > 1 { return .status(413) }
            return flaky.one(in: 50) ? .status(500) : .delivered
        }
        var time = Duration.zero
        for _ in 0..<20 {
            for _ in 0..<Int.random(in: 0...200, using: &random) {
                endpoint.commit(Int64.random(in: 1...5, using: &random))
            }
            let statuses = [400, 404, 500, 503, 401, 422, 0]
            outage = random.one(in: 4) ? statuses.randomElement(using: &random) : nil
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
        for room in 1...5 where !isAware {
            let seqs = endpoint.accepted.filter { $0.room == room }.map(\.seq)
            #expect(zip(seqs, seqs.dropFirst()).allSatisfy { $0 < $1 }, "room \(room)")
        }
        for lane in endpoint.lanes where !lane.records.isEmpty {
            #expect(isBad(lane.lane.room.rawValue, lane.records.first?.seq ?? 0))
        }
    }
}

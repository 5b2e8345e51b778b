import BridgeModel
import BridgeSQLite
import BridgeTestSupport
import RoomsRuntime
import Testing

@testable import BridgeStore

/// What operators do with dead letters: look, send again, remove.
@Suite struct DeadLetterJobTests {
    private let fixture: StoreFixture
    private static let letter = DeadLetter(
        reason: .refused,
        status: 422,
        attempts: 3,
        firstAttempt: 1_000,
        lastAttempt: 2_000
    )

    init() throws {
        fixture = try StoreFixture()
    }

    private func open() throws -> (Ledger, StoreSnapshot) {
        let ledger = try fixture.ledger()
        let setup = try ledger.configure(rooms: Sample.rooms(2), endpoints: ["a", "b"], routes: [[0], [1], [0, 1]])
        return (ledger, setup)
    }

    private func refused(_ delivery: PendingDelivery, _ retry: DeadLetterRetry? = nil) -> Settlement {
        var settlement = Settlement(lane: delivery.lane, row: delivery.row, seq: delivery.seq)
        settlement.deadLetter = Self.letter
        settlement.retry = retry
        return settlement
    }

    /// `count` dead letters of each room and endpoint, in turn; numbered from 1.
    private func fill(_ ledger: Ledger, _ setup: StoreSnapshot, _ count: Int) throws {
        for offset in 1...UInt64(count) {
            for room in setup.rooms {
                try ledger.settle(
                    ledger.append(Sample.append(room, offset, route: setup.routes[2])).map { refused($0) }
                )
            }
        }
    }

    private func run(_ request: DeadLetterRequest, _ ledger: Ledger) throws -> DeadLetterAnswer {
        let job = DeadLetterJob(request, ledger)
        while true {
            if let answer = try job.advance(ledger) { return answer }
        }
    }

    private func page(
        _ ledger: Ledger,
        _ selection: DeadLetterSelection = DeadLetterSelection(),
        after: Int64 = 0,
        limit: Int = 500
    ) throws -> (letters: [StoredDeadLetter], next: Int64?) {
        guard case .page(let letters, let next) = try run(.page(selection, after: after, limit: limit), ledger) else {
            return ([], -1)
        }
        return (letters, next)
    }

    private func count(_ request: DeadLetterRequest, _ ledger: Ledger) throws -> Int {
        if case .changed(let count) = try run(request, ledger) { return count }
        return -1
    }

    @Test("pages hold what was refused, in order, each once, whatever is asked for")
    func pages() throws {
        let (ledger, setup) = try open()
        try fill(ledger, setup, 3)
        let all = try page(ledger)
        #expect(all.letters.map(\.number) == Array(1...12) && all.next == nil)
        let first = try #require(all.letters.first)
        #expect(first.letter == Self.letter && first.endpoint == "a" && first.run == nil)
        #expect(first.delivery.event?.payload == Payload(#"{"n":1}"#) && first.delivery.room == Sample.rooms(1)[0])
        var seen: [Int64] = []
        var next: Int64? = 0
        while let after = next {
            let (letters, more) = try page(ledger, after: after, limit: 5)
            #expect(letters.count <= 5)
            seen += letters.map(\.number)
            next = more
        }
        #expect(seen == Array(1...12))
        #expect(try page(ledger, DeadLetterSelection(endpoint: "b")).letters.map(\.number) == [2, 4, 6, 8, 10, 12])
        let mine = DeadLetterSelection(endpoint: "a", room: "room:1")
        #expect(try page(ledger, mine).letters.map(\.number) == [3, 7, 11])
        #expect(try page(ledger, DeadLetterSelection(numbers: [4, 99])).letters.map(\.number) == [4])
        #expect(try page(ledger, DeadLetterSelection(room: "nowhere")).letters.isEmpty)
        guard case .unknownEndpoint("c") = try run(.purge(DeadLetterSelection(endpoint: "c")), ledger) else {
            Issue.record("an unknown endpoint is taken")
            return
        }
    }

    @Test("a page is bounded in bytes, and looking for few among many takes several turns")
    func bounds() throws {
        let (ledger, setup) = try open()
        let text = "\"" + String(repeating: "x", count: 400_000) + "\""
        for offset in 1...4 as ClosedRange<UInt64> {
            try ledger.settle(
                ledger.append(Sample.append(setup.rooms[0], offset, route: setup.routes[0], payload: text))
                    .map { refused($0) }
            )
        }
        #expect(try page(ledger).letters.count == 2 && page(ledger).next == 2)
        try fill(ledger, setup, 300)
        let job = DeadLetterJob(.page(DeadLetterSelection(numbers: [1_000]), after: 4, limit: 5), ledger)
        #expect(try job.advance(ledger) != nil, "the numbers say where to look")
        let wide = DeadLetterJob(.page(DeadLetterSelection(room: "nowhere"), after: 0, limit: 5), ledger)
        #expect(try wide.advance(ledger) == nil && wide.advance(ledger) == nil && wide.advance(ledger) != nil)
    }

    @Test("what is purged is gone, and its place is free")
    func purges() throws {
        let (ledger, setup) = try open()
        try fill(ledger, setup, 300)
        #expect(try count(.purge(DeadLetterSelection(numbers: [1, 2, 5_000])), ledger) == 2)
        #expect(try count(.purge(DeadLetterSelection(endpoint: "a")), ledger) == 599)
        #expect(ledger.deadLetters[setup.endpoints[0]] == DeadLetterSum())
        #expect(ledger.deadLetters[setup.endpoints[1]]?.count == 599)
        #expect(try count(.purge(DeadLetterSelection()), ledger) == 599)
        #expect(try page(ledger).letters.isEmpty)
        #expect(ledger.deadLetters[setup.endpoints[1]]?.bytes == 0)
    }

    @Test("those to be sent again are handed on a few at a time in order, the rest follow, and a restart begins anew")
    func feeds() throws {
        var (ledger, setup) = try open()
        try fill(ledger, setup, 100)
        #expect(try count(.retry(DeadLetterSelection(endpoint: "a"), run: "run_x", inOrder: true), ledger) == 200)
        var feeder = RetryFeeder(ledger)
        let first = try feeder.next(ledger)
        #expect(first.count == 64 && first.allSatisfy { $0.lane.endpoint == setup.endpoints[0] })
        let odd: [Int64] = Array(stride(from: 1, to: 129, by: 2))
        #expect(first.compactMap { $0.retry?.number } == odd)
        #expect(first[0].retry == DeadLetterRetry(number: 1, run: "run_x", isInOrder: true))
        #expect(try !feeder.hasWork && feeder.next(ledger).isEmpty)
        // Two are accepted, one is refused again.
        let done = first.prefix(3).enumerated().map { index, delivery in
            var settlement = Settlement(lane: delivery.lane, row: delivery.row, seq: delivery.seq)
            if index == 1 { settlement.deadLetter = Self.letter }
            settlement.retry = delivery.retry
            return settlement
        }
        try ledger.settle(done)
        feeder.settled(done)
        #expect(try feeder.hasWork && feeder.next(ledger).compactMap { $0.retry?.number } == [129, 131, 133])
        let left = try page(ledger, DeadLetterSelection(numbers: [1, 3, 5])).letters
        #expect(left.map(\.number) == [3] && left.map(\.letter.attempts) == [6] && left.map(\.run) == [nil])
        #expect(ledger.deadLetters[setup.endpoints[0]]?.count == 198)
        ledger.close()
        (ledger, setup) = try open()
        feeder = RetryFeeder(ledger)
        #expect(try feeder.next(ledger).compactMap { $0.retry?.number }.prefix(2) == [7, 9])
    }

    @Test("a letter that is accepted in its lane fills the hole that was not declared yet")
    func fillsHole() throws {
        let (ledger, setup) = try open()
        let sent = try ledger.append(
            Sample.append(setup.rooms[0], 1, route: setup.routes[0]),
            Sample.append(setup.rooms[0], 2, route: setup.routes[0]),
            Sample.append(setup.rooms[0], 3, route: setup.routes[0])
        )
        try ledger.settle(sent[0])
        try ledger.settle([refused(sent[1])])
        func lane() -> Catalog.Lane.State? {
            ledger.catalog.lane(of: setup.endpoints[0], in: 0).map { ledger.catalog.lanes[$0].state }
        }
        #expect(lane()?.acknowledged == 1 && lane()?.skipped == 1)
        var accepted = Settlement(lane: sent[1].lane, row: sent[1].row, seq: 2)
        accepted.retry = DeadLetterRetry(number: 1, run: "run_x", isInOrder: true)
        try ledger.settle([accepted])
        #expect(lane()?.acknowledged == 2 && lane()?.skipped == 0 && lane()?.next == 3)
        #expect(try ledger.storedRows() == [3])
        try ledger.settle([accepted])
        #expect(lane()?.acknowledged == 2)
    }

    @Test("a damaged one is not sent again")
    func damaged() throws {
        let (ledger, setup) = try open()
        try fill(ledger, setup, 1)
        try ledger.database.execute("UPDATE dead_letters SET payload = x'00' WHERE id = 1", doing: "damaging")
        try ledger.retry([1, 3], run: "run_x", inOrder: false)
        let feeder = RetryFeeder(ledger)
        #expect(try feeder.next(ledger).compactMap { $0.retry?.number } == [3])
        #expect(fixture.lines.contains { $0.contains("damaged and are not sent again") && $0.contains("ENDPOINT=a") })
    }

    @Test("the store does all of it on its own thread, and tells of a place that is free again")
    func store() async throws {
        var options = StoreOptions(directory: fixture.path)
        options.maxDeadLetters = 100
        let events = Lock<(deliveries: [PendingDelivery], retried: [PendingDelivery], freed: [EndpointID])>(
            ([], [], [])
        )
        let store = try fixture.store(options)
        let setup = try store.configure(rooms: Sample.rooms(1), endpoints: ["a"], routes: [[0]])
        store.start(
            StorePorts(
                committed: { more in events.withLock { $0.deliveries += more } },
                retried: { more in events.withLock { $0.retried += more } },
                freed: { endpoint in events.withLock { $0.freed.append(endpoint) } },
                admission: { _ in },
                failed: { _ in }
            )
        )
        _ = store.append((1...2).map { Sample.append(setup.rooms[0], $0, route: setup.routes[0]) })
        try await eventually("both") { events.withLock { $0.deliveries.count } == 2 }
        store.settle(events.withLock { $0.deliveries }.map { refused($0) })
        try await eventually("no place") { !store.hasPlaceForDeadLetter(of: setup.endpoints[0]) }
        let answers = Lock<[String]>([])
        func ask(_ request: DeadLetterRequest) {
            store.deadLetters(request) { answer in
                answers.withLock { answers in
                    switch answer {
                    case .page(let letters, let next): answers.append("\(letters.map(\.number)) \(next ?? 0)")
                    case .changed(let count): answers.append("\(count)")
                    case .unknownEndpoint(let name): answers.append("no \(name)")
                    }
                }
            }
        }
        ask(.page(DeadLetterSelection(), after: 0, limit: 1))
        ask(.retry(DeadLetterSelection(numbers: [2]), run: "run_x", inOrder: true))
        ask(.purge(DeadLetterSelection(numbers: [1])))
        ask(.purge(DeadLetterSelection(endpoint: "x")))
        try await eventually("the answers") { answers.withLock { $0 } == ["[1] 1", "1", "1", "no x"] }
        try await eventually("a place") { events.withLock { $0.freed } == [setup.endpoints[0]] }
        #expect(events.withLock { $0.retried.compactMap { $0.retry?.number } } == [2])
        #expect(store.hasPlaceForDeadLetter(of: setup.endpoints[0]))
        store.stop()
    }
}

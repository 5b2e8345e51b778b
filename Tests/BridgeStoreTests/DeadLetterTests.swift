import BridgeModel
import BridgeSQLite
import BridgeTestSupport
import RoomsRuntime
import Testing

@testable import BridgeStore

@Suite struct DeadLetterTests {
    private static let letter = DeadLetter(
        reason: .refused,
        status: 422,
        attempts: 3,
        firstAttempt: 1_796_004_000_123,
        lastAttempt: 1_796_004_011_125
    )

    private func settlement(_ delivery: PendingDelivery, _ letter: DeadLetter? = nil) -> Settlement {
        var settlement = Settlement(lane: delivery.lane, row: delivery.row, seq: delivery.seq)
        settlement.deadLetter = letter
        return settlement
    }

    private func rows(_ ledger: Ledger) throws -> [String] {
        var rows: [String] = []
        try ledger.database.prepare(
            """
            SELECT endpoint, reason, status, attempts, first_at, last_at, row, seq, payload
            FROM dead_letters ORDER BY id
            """,
            doing: "reading dead letters"
        )
        .query { row in
            let numbers = ([0, 2, 3, 4, 5, 6, 7] as [Int32]).map { "\(row.integer($0))" }.joined(separator: " ")
            let texts = ([1, 8] as [Int32]).map { String(decoding: row.bytes($0), as: UTF8.self) }.joined(
                separator: " "
            )
            rows.append("\(numbers) \(texts)")
            return true
        }
        return rows
    }

    @Test("a record that is given up is kept whole, in the transaction that settles it")
    func keeps() throws {
        let fixture = try StoreFixture()
        let ledger = try fixture.ledger()
        let setup = try ledger.configure(rooms: Sample.rooms(1), endpoints: ["a"], routes: [[0]])
        let sent = try ledger.append(
            Sample.append(setup.rooms[0], 1, route: setup.routes[0], payload: #"{"n":"eins"}"#),
            Sample.append(setup.rooms[0], 2, route: setup.routes[0])
        )
        try ledger.settle([settlement(sent[0], Self.letter)])
        #expect(try rows(ledger) == [#"1 422 3 1796004000123 1796004011125 1 1 refused {"n":"eins"}"#])
        #expect(try ledger.storedRows() == [2])
        // Said again, as after a crash before the next commit: once is enough.
        try ledger.settle([settlement(sent[0], Self.letter)])
        #expect(try rows(ledger).count == 1)
        #expect(ledger.deadLetters[setup.endpoints[0]]?.count == 1)
    }

    @Test("how many were given up since the last acceptance is known after a restart")
    func skipped() throws {
        let fixture = try StoreFixture()
        var ledger = try fixture.ledger()
        let rooms = Sample.rooms(1)
        let setup = try ledger.configure(rooms: rooms, endpoints: ["a"], routes: [[0]])
        let sent = try (1...4).flatMap {
            try ledger.append(Sample.append(setup.rooms[0], UInt64($0), route: setup.routes[0]))
        }
        try ledger.settle([settlement(sent[0]), settlement(sent[1], Self.letter), settlement(sent[2], Self.letter)])
        ledger.close()
        ledger = try fixture.ledger()
        var lanes = try ledger.configure(rooms: rooms, endpoints: ["a"], routes: [[0]]).lanes
        #expect(lanes.map(\.acknowledged) == [1] && lanes.map(\.skipped) == [2] && lanes.map(\.next) == [RowID(4)])
        try ledger.settle([settlement(sent[3])])
        ledger.close()
        ledger = try fixture.ledger()
        lanes = try ledger.configure(rooms: rooms, endpoints: ["a"], routes: [[0]]).lanes
        #expect(lanes.map(\.acknowledged) == [4] && lanes.map(\.skipped) == [0])
        #expect(ledger.deadLetters[setup.endpoints[0]]?.count == 2)
    }

    @Test("one endpoint's dead letter is not another's, and goes with its endpoint")
    func perEndpoint() throws {
        let fixture = try StoreFixture()
        let ledger = try fixture.ledger()
        let rooms = Sample.rooms(1)
        let setup = try ledger.configure(rooms: rooms, endpoints: ["a", "b"], routes: [[0, 1]])
        let sent = try ledger.append(Sample.append(setup.rooms[0], 1, route: setup.routes[0]))
        #expect(sent.count == 2)
        try ledger.settle([settlement(sent[0], Self.letter)])
        // The other one waits still.
        #expect(try ledger.storedRows() == [1])
        try ledger.settle([settlement(sent[1])])
        #expect(try ledger.storedRows().isEmpty && rows(ledger).count == 1)
        _ = try ledger.configure(rooms: rooms, endpoints: ["b"], routes: [[0]])
        #expect(try rows(ledger).isEmpty && ledger.deadLetters.isEmpty)
        #expect(fixture.lines.contains { $0.contains("its dead letters are dropped") && $0.contains("COUNT=1") })
    }

    @Test("there is a place until the endpoint's dead letters come to their limit, also after a restart")
    func limit() throws {
        let fixture = try StoreFixture()
        var options = StoreOptions(directory: fixture.path)
        options.maxDeadLetters = 3_000
        let committed = Lock<[PendingDelivery]>([])
        func open() throws -> (Store, StoreSnapshot) {
            let store = try fixture.store(options)
            let setup = try store.configure(rooms: Sample.rooms(1), endpoints: ["a", "b"], routes: [[0, 1]])
            store.start(
                StorePorts(
                    committed: { more in committed.withLock { $0 += more } },
                    admission: { _ in },
                    failed: { _ in }
                )
            )
            return (store, setup)
        }
        var (store, setup) = try open()
        let payload = "\"" + String(repeating: "x", count: 1_000) + "\""
        _ = store.append((1...4).map { Sample.append(setup.rooms[0], $0, route: setup.routes[0], payload: payload) })
        store.stop()
        let mine = committed.withLock { $0.filter { $0.lane.endpoint == setup.endpoints[0] } }
        #expect(mine.count == 4)
        var places: [Bool] = []
        for delivery in mine {
            (store, setup) = try open()
            places.append(store.hasPlaceForDeadLetter(of: setup.endpoints[0]))
            store.settle([settlement(delivery, Self.letter)])
            store.stop()
        }
        #expect(places == [true, true, true, false])
        (store, setup) = try open()
        #expect(!store.hasPlaceForDeadLetter(of: setup.endpoints[0]))
        #expect(store.hasPlaceForDeadLetter(of: setup.endpoints[1]))
        store.stop()
    }

    @Test("a disk that stays full loses no dead letter among the settlements that wait")
    func fullDisk() throws {
        var batch = WriteBatch()
        let lane = Lane(endpoint: EndpointID(1), room: RoomID(1))
        batch.postpone(now: Instant(nanoseconds: 0))
        let count = Int64(WriteBatch.maxHeldSettlements) + 10
        batch.add(
            (1...count).map { row in
                var settlement = Settlement(lane: lane, row: RowID(row), seq: row)
                if row % 5_000 == 0 { settlement.deadLetter = Self.letter }
                if row == 7 { settlement.told = 1...7 }
                if row == 9 { settlement.retry = DeadLetterRetry(number: 1, run: "r", isInOrder: true) }
                return settlement
            },
            now: Instant(nanoseconds: 0)
        )
        let kept = batch.next(now: Instant(nanoseconds: 0)).settlements
        #expect(kept.map(\.row.rawValue) == [7, 9, 5_000, 10_000, 15_000, count])
    }
}

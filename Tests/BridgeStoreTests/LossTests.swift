import BridgeModel
import BridgeSQLite
import BridgeTestSupport
import RoomsRuntime
import Testing

@testable import BridgeStore

/// What an endpoint loses because its operator said so, and how it is told.
@Suite struct LossTests {
    private let fixture: StoreFixture

    init() throws {
        fixture = try StoreFixture()
    }

    private func open() throws -> (Ledger, StoreSnapshot) {
        let ledger = try fixture.ledger()
        let setup = try ledger.configure(
            rooms: Sample.rooms(2),
            endpoints: ["a", "b"],
            losing: [LossRule(onOverflow: true), .none],
            routes: [[0, 1], [0], [1]]
        )
        return (ledger, setup)
    }

    private func lose(_ ledger: Ledger, _ endpoint: EndpointID, rows: Int, limit: Int = 1_000) throws -> Ledger.LossPass
    {
        var left = rows
        return try ledger.lose(
            endpoint,
            from: ledger.oldestRow(of: endpoint) ?? 1,
            below: ledger.catalog.tally.nextRow,
            limit: limit,
            at: 77
        ) { _ in
            left -= 1
            return left >= 0
        }
    }

    private func gap(_ from: UInt64, _ to: UInt64?, epoch: ByteString = "ab12", incarnation: UInt32 = 0) -> Gap {
        Gap(reason: .retention, epoch: epoch, from: from, to: to, incarnation: incarnation)
    }

    @Test("the oldest go, for that endpoint alone, and a gap a stream stands in their place, also after a restart")
    func oldestGo() throws {
        var (ledger, setup) = try open()
        for offset in 1...3 as ClosedRange<UInt64> {
            _ = try ledger.append(Sample.append(setup.rooms[0], offset, route: setup.routes[0]))
            _ = try ledger.append(Sample.append(setup.rooms[1], offset, route: setup.routes[1]))
        }
        _ = try ledger.append(Sample.append(setup.rooms[0], 1, route: setup.routes[0], epoch: "cd34"))
        let pass = try lose(ledger, setup.endpoints[0], rows: 7)
        #expect(pass.isDone && pass.rows == 7 && pass.cursor == 8)
        #expect(pass.deliveries.compactMap(\.gap) == [gap(1, 3), gap(1, 1, epoch: "cd34"), gap(1, 3)])
        #expect(pass.deliveries.map(\.row.rawValue) == [5, 7, 6] && pass.deliveries.map(\.seq) == [3, 4, 3])
        // What the other one waits for is still there.
        #expect(try ledger.storedRows() == [1, 3, 5, 7])
        #expect(ledger.catalog.held == [setup.endpoints[0]: 0, setup.endpoints[1]: ledger.catalog.tally.waitingBytes])
        ledger.close()
        (ledger, setup) = try open()
        #expect(setup.losses.compactMap(\.gap) == pass.deliveries.compactMap(\.gap))
        #expect(setup.losses.map(\.lane) == pass.deliveries.map(\.lane))
        #expect(setup.lanes.first { $0.lane == pass.deliveries[0].lane }?.next == RowID(8))
        // Told: then nothing is left of it.
        for gap in setup.losses {
            try ledger.settle([Settlement(lane: gap.lane, row: gap.row, seq: gap.seq)])
        }
        ledger.close()
        (ledger, setup) = try open()
        #expect(setup.losses.isEmpty)
        #expect(setup.lanes.filter { $0.lane.endpoint == setup.endpoints[0] }.map(\.acknowledged) == [4, 3])
        #expect(try ledger.database.integer("SELECT count(*) FROM losses", doing: "counting") == 0)
    }

    @Test("more that is lost extends the gap; one that was told meanwhile is not told again")
    func extended() throws {
        let (ledger, setup) = try open()
        for offset in 1...6 as ClosedRange<UInt64> {
            _ = try ledger.append(Sample.append(setup.rooms[0], offset, route: setup.routes[1]))
        }
        let first = try lose(ledger, setup.endpoints[0], rows: 2)
        #expect(first.deliveries.compactMap(\.gap) == [gap(1, 2)])
        let second = try lose(ledger, setup.endpoints[0], rows: 2)
        #expect(second.deliveries.compactMap(\.gap) == [gap(1, 4)])
        var told = Settlement(lane: first.deliveries[0].lane, row: first.deliveries[0].row, seq: 2)
        told.told = 1...2
        try ledger.settle([told])
        #expect(ledger.untoldLosses().compactMap(\.gap) == [gap(3, 4)])
        try ledger.settle([told])
        #expect(ledger.untoldLosses().compactMap(\.gap) == [gap(3, 4)])
        // What follows is settled behind it.
        try ledger.settle([Settlement(lane: told.lane, row: RowID(6), seq: 6)])
        let rows = try ledger.storedRows()
        #expect(ledger.untoldLosses().isEmpty && rows.isEmpty)
        #expect(ledger.counts.damaged == 0)
    }

    @Test("what was accepted while it was given up is not lost, what was refused for good is")
    func late() throws {
        let (ledger, setup) = try open()
        for offset in 1...6 as ClosedRange<UInt64> {
            _ = try ledger.append(Sample.append(setup.rooms[0], offset, route: setup.routes[1]))
        }
        let lane = BridgeModel.Lane(endpoint: setup.endpoints[0], room: setup.rooms[0])
        func acknowledged() -> Int64? {
            ledger.catalog.lane(of: lane.endpoint, in: 0).map { ledger.catalog.lanes[$0].state.acknowledged }
        }
        let first = try lose(ledger, setup.endpoints[0], rows: 2)
        #expect(first.cursor == 3)
        try ledger.settle((1...3).map { Settlement(lane: lane, row: RowID($0), seq: $0) })
        #expect(ledger.untoldLosses().isEmpty && acknowledged() == 3)
        _ = try lose(ledger, setup.endpoints[0], rows: 1)
        var refused = Settlement(lane: lane, row: RowID(5), seq: 5)
        refused.deadLetter = DeadLetter(reason: .refused, status: 400, attempts: 3, firstAttempt: 1, lastAttempt: 2)
        try ledger.settle([refused])
        #expect(ledger.untoldLosses().compactMap(\.gap) == [gap(4, 4)] && acknowledged() == 3)
        // Looked through to the end, it does not look there again.
        let rest = try lose(ledger, setup.endpoints[0], rows: 100)
        #expect(rest.rows == 1 && rest.cursor == 7)
    }

    @Test("a gap, an event without a place and what a room lacks are lost like the rest")
    func kinds() throws {
        let (ledger, setup) = try open()
        let open = Gap(reason: .epochChanged, epoch: "ab12", from: 5, to: nil)
        let record = AppendRecord(
            room: setup.rooms[0],
            body: .gap(open, at: 5),
            position: Position(epoch: "cd34", offset: 0),
            route: setup.routes[1]
        )
        _ = try ledger.append(Sample.append(setup.rooms[0], 4, route: setup.routes[1]), record)
        var loose = Sample.append(setup.rooms[1], 0, route: setup.routes[1])
        loose.position = nil
        _ = try ledger.append(loose)
        let pass = try lose(ledger, setup.endpoints[0], rows: 3)
        #expect(pass.deliveries.compactMap(\.gap) == [gap(4, nil), gap(1, 1, epoch: "")])
    }

    @Test(
        "whatever comes, is settled, lost and told in any order: each record of a lane is one or the other",
        arguments: 1...12
    )
    func anyOrder(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var (ledger, setup) = try open()
        var offsets: [UInt64] = [0, 0]
        /// By lane: what was sent and not settled, and the offsets that were settled or told.
        var waiting: [BridgeModel.Lane: [PendingDelivery]] = [:]
        var known: [BridgeModel.Lane: Set<UInt64>] = [:]
        for _ in 0..<300 {
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<5:
                let room = Int.random(in: 0...1, using: &random)
                offsets[room] += 1
                let route = setup.routes[Int.random(in: 0...2, using: &random)]
                for delivery in try ledger.append(Sample.append(setup.rooms[room], offsets[room], route: route)) {
                    waiting[delivery.lane, default: []].append(delivery)
                }
            case 5, 6:
                guard let lane = waiting.keys.sorted(by: { "\($0)" < "\($1)" }).randomElement(using: &random) else {
                    break
                }
                let count = min(waiting[lane]?.count ?? 0, Int.random(in: 1...4, using: &random))
                let done = waiting[lane]?.prefix(count) ?? []
                waiting[lane]?.removeFirst(count)
                for delivery in done { known[lane, default: []].formUnion(delivery.range) }
                try ledger.settle(
                    done.map { delivery in
                        var settlement = Settlement(lane: lane, row: delivery.row, seq: delivery.seq)
                        if let gap = delivery.gap, let to = gap.to { settlement.told = gap.from...to }
                        return settlement
                    }
                )
            case 7, 8:
                let pass = try lose(
                    ledger,
                    setup.endpoints[0],
                    rows: Int.random(in: 1...8, using: &random),
                    limit: Int.random(in: 1...20, using: &random)
                )
                for lane in Set(pass.deliveries.map(\.lane)) {
                    let gaps = pass.deliveries.filter { $0.lane == lane }
                    let last = try #require(gaps.last)
                    waiting[lane] = gaps + (waiting[lane] ?? []).filter { $0.row > last.row }
                }
            default:
                ledger.close()
                (ledger, setup) = try open()
            }
            for lane in setup.lanes.map(\.lane) where lane.endpoint == setup.endpoints[1] {
                #expect(!(waiting[lane] ?? []).contains { $0.gap != nil })
            }
        }
        #expect(ledger.counts.damaged == 0)
        for (lane, left) in waiting {
            for delivery in left { known[lane, default: []].formUnion(delivery.range) }
            try ledger.settle(left.map { Settlement(lane: lane, row: $0.row, seq: $0.seq) })
        }
        let rows = try ledger.storedRows()
        #expect(rows.isEmpty && ledger.untoldLosses().isEmpty)
        #expect(ledger.catalog.held.allSatisfy { $0.value == 0 } && ledger.catalog.tally.waitingBytes == 0)
    }

    @Test("how long rows have waited is known to about a fiftieth, never too early, and over a restart")
    func ages() throws {
        var (ledger, setup) = try open()
        func append(_ offset: UInt64) throws {
            _ = try ledger.append(Sample.append(setup.rooms[0], offset, route: setup.routes[1]))
        }
        try append(1)
        try ledger.noteAge(at: 1_000, horizon: -9_000)
        try append(2)
        #expect(ledger.firstRow(committedAfter: 999) == 0)
        #expect(ledger.firstRow(committedAfter: 1_000) == 2)
        try ledger.noteAge(at: 2_000, horizon: -8_000)
        ledger.close()
        (ledger, setup) = try open()
        #expect(ledger.firstRow(committedAfter: 1_999) == 2 && ledger.firstRow(committedAfter: 2_000) == 3)
        try append(3)
        try ledger.noteAge(at: 13_000, horizon: 3_000)
        #expect(ledger.ages.map(\.at) == [2_000, 13_000])
        #expect(ledger.firstRow(committedAfter: 3_000) == 3)
    }

    @Test("the store gives up what is over the mark, and what is too old; other endpoints keep theirs")
    func store() async throws {
        var options = StoreOptions(directory: fixture.path, maxSize: 100_000)
        options.maxDeadLetters = 1
        let lost = Lock<[PendingDelivery]>([])
        let crowded = Lock<[EndpointID]>([])
        let store = try fixture.store(options)
        let setup = try store.configure(
            rooms: Sample.rooms(2),
            endpoints: ["a", "b"],
            losing: [LossRule(onOverflow: true), LossRule(maxAge: .seconds(1))],
            routes: [[0], [1]]
        )
        store.start(
            StorePorts(
                committed: { _ in },
                lost: { more in lost.withLock { $0 += more } },
                admission: { _ in },
                crowded: { endpoint, _ in crowded.withLock { $0.append(endpoint) } },
                failed: { _ in }
            )
        )
        let text = "\"" + String(repeating: "z", count: 1_000) + "\""
        _ = store.append((1...90).map { Sample.append(setup.rooms[0], $0, route: setup.routes[0], payload: text) })
        try await eventually("the oldest are lost") { lost.withLock { !$0.isEmpty } }
        try await eventually("it is below its mark") { store.counts.waitingBytes <= 80_000 }
        #expect(store.counts.waitingBytes > 70_000 && crowded.withLock { $0.isEmpty })
        _ = store.append((1...3).map { Sample.append(setup.rooms[1], $0, route: setup.routes[1]) })
        try await eventually(within: .seconds(10), "the old ones are lost") {
            lost.withLock { $0.contains { $0.lane.endpoint == setup.endpoints[1] && $0.gap?.to == 3 } }
        }
        store.stop()
        let lines = fixture.lines.filter { $0.contains("loses its oldest events") }
        #expect(lines.contains { $0.contains("ENDPOINT=a") && $0.contains("REASON=overflow") }, "\(lines)")
        #expect(lines.contains { $0.contains("ENDPOINT=b") && $0.contains("REASON=max_age") }, "\(lines)")
    }
}

extension PendingDelivery {
    /// The offsets that it tells of.
    fileprivate var range: ClosedRange<UInt64> {
        if let gap { return gap.from...(gap.to ?? gap.from) }
        return (event?.offset ?? 0)...(event?.offset ?? 0)
    }
}

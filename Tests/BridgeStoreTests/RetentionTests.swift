import BridgeModel
import BridgeSQLite
import RoomsRuntime
import Testing

@testable import BridgeStore

@Suite struct RetentionTests {
    private let fixture: StoreFixture
    private let ledger: Ledger
    private let setup: StoreSnapshot

    init() throws {
        fixture = try StoreFixture()
        ledger = try fixture.ledger()
        setup = try ledger.configure(
            rooms: Sample.rooms(3),
            endpoints: ["a", "b"],
            routes: [[0], [1], [0, 1]]
        )
    }

    private func append(_ room: Int, _ offset: UInt64, route: Int) throws -> [PendingDelivery] {
        try ledger.append(Sample.append(setup.rooms[room], offset, route: setup.routes[route]))
    }

    private func lane(_ room: Int, _ endpoint: Int) -> Catalog.Lane.State? {
        ledger.catalog.lane(of: setup.endpoints[endpoint], in: room).map { ledger.catalog.lanes[$0].state }
    }

    @Test("released ids become runs without a hole")
    func runs() {
        var retention = Retention()
        for row in [7, 3, 4, 9, 8, 1, 4] as [Int64] { retention.release(row) }
        #expect(retention.takeRuns() == [1...1, 3...4, 7...9])
        #expect(retention.takeRuns().isEmpty)
    }

    @Test("a row goes when the last of its lanes has settled it")
    func lastLane() throws {
        let sent = try append(0, 1, route: 2)
        try ledger.settle(sent[0])
        #expect(try ledger.storedRows() == [1])
        #expect(ledger.catalog.tally.waitingRows == 1)
        try ledger.settle(sent[1])
        #expect(try ledger.storedRows().isEmpty)
        #expect(ledger.catalog.tally.waitingRows == 0)
        #expect(ledger.catalog.tally.waitingBytes == 0)
        #expect(ledger.counts.released == 1)
    }

    @Test("one stuck lane keeps its own rows and no others")
    func stuckLane() throws {
        _ = try append(0, 1, route: 0)
        for offset in 1...300 as ClosedRange<UInt64> {
            try ledger.settle(append(1, offset, route: 0)[0])
            if offset.isMultiple(of: 100) { _ = try append(0, offset + 1, route: 0) }
        }
        #expect(try ledger.storedRows().count == 4)
        #expect(lane(0, 0)?.waitingRows == 4)
        #expect(lane(1, 0)?.waitingRows == 0)
    }

    @Test("the file does not grow while one lane is stuck and others flow")
    func steadyState() throws {
        _ = try append(0, 1, route: 0)
        var offset: UInt64 = 0
        func flow(_ count: Int) throws {
            for _ in 0..<count {
                let records = (0..<20).map { _ in
                    offset += 1
                    return Sample.append(setup.rooms[1], offset, route: setup.routes[0])
                }
                let sent = try ledger.commit(records[...], [])
                try ledger.settle(sent.map { Settlement(lane: $0.lane, row: $0.row, seq: $0.seq) })
            }
        }
        try flow(50)
        let pages = try ledger.database.integer("PRAGMA page_count", doing: "counting pages")
        try flow(500)
        #expect(try ledger.database.integer("PRAGMA page_count", doing: "counting pages") <= pages + 2)
    }

    @Test("one settlement covers everything of its lane before it, and nothing of other lanes")
    func coalesced() throws {
        var last: PendingDelivery?
        for offset in 1...5 as ClosedRange<UInt64> {
            last = try append(0, offset, route: 2)[0]
            _ = try append(1, offset, route: 0)
        }
        try ledger.settle(try #require(last))
        #expect(lane(0, 0)?.waitingRows == 0)
        #expect(lane(0, 0)?.acknowledged == 5)
        #expect(lane(0, 1)?.waitingRows == 5)
        #expect(lane(1, 0)?.waitingRows == 5)
        #expect(try ledger.storedRows().count == 10)
    }

    @Test("a chain that was broken by another route's rows is found again")
    func brokenChain() throws {
        let first = try append(0, 1, route: 0)
        let other = try append(0, 2, route: 1)
        let third = try append(0, 3, route: 0)
        try ledger.settle(other[0])
        #expect(try ledger.storedRows() == [1, 3])
        #expect(first[0].lane == third[0].lane)
        ledger.cache = RowCache()
        // Row 3 points at row 2, which is gone, and row 1 is settled all the same.
        try ledger.settle(third[0])
        #expect(try ledger.storedRows().isEmpty)
        #expect(lane(0, 0)?.waitingRows == 0)
        #expect(ledger.counts.damaged == 0)
    }

    @Test("a settlement that comes twice, late, or for nothing changes nothing")
    func repeated() throws {
        let one = try append(0, 1, route: 0)[0]
        let two = try append(0, 2, route: 0)[0]
        try ledger.settle(two)
        try ledger.settle(two)
        try ledger.settle(one)
        #expect(lane(0, 0)?.acknowledged == 2)
        #expect(lane(0, 0)?.next == 3)
        let nobody = BridgeModel.Lane(endpoint: EndpointID(99), room: setup.rooms[0])
        let nowhere = BridgeModel.Lane(endpoint: setup.endpoints[0], room: RoomID(99))
        let unused = BridgeModel.Lane(endpoint: setup.endpoints[1], room: setup.rooms[2])
        try ledger.settle([nobody, nowhere, unused].map { Settlement(lane: $0, row: RowID(1), seq: 1) })
        #expect(ledger.catalog.lanes.count == 1)
    }

    @Test("a settlement beyond the end settles what there is, and later rows are not touched")
    func beyondTheEnd() throws {
        let one = try append(0, 1, route: 0)[0]
        _ = try append(1, 1, route: 0)
        try ledger.settle([Settlement(lane: one.lane, row: RowID(.max), seq: .max)])
        #expect(lane(0, 0)?.acknowledged == 1)
        #expect(try ledger.storedRows() == [2])
        let next = try append(0, 2, route: 0)[0]
        #expect(lane(0, 0)?.next == next.row.rawValue)
        try ledger.settle(next)
        #expect(try ledger.storedRows() == [2])
    }

    @Test("many settled rows are deleted though their facts are in memory no more")
    func coldRows() throws {
        var sent: [PendingDelivery] = []
        for start in stride(from: 1, to: 10_000, by: 1_000) {
            let records = (start..<start + 1_000).map {
                Sample.append(setup.rooms[0], UInt64($0), route: setup.routes[0])
            }
            sent += try ledger.commit(records[...], [])
        }
        try ledger.settle(sent[9_998])
        #expect(try ledger.storedRows() == [10_000])
        #expect(lane(0, 0)?.waitingRows == 1)
        #expect(ledger.catalog.tally.waitingRows == 1)
    }

    @Test("an endpoint that is not configured any more keeps no rows, and others keep theirs")
    func goneEndpoint() throws {
        for offset in 1...50 as ClosedRange<UInt64> {
            _ = try append(0, offset, route: 1)
            let both = try append(1, offset, route: 2)
            if offset <= 20 { try ledger.settle(both[0]) }
        }
        let again = try ledger.configure(rooms: Sample.rooms(3), endpoints: ["a", "c"], routes: [[0], [0, 1]])
        #expect(again.lanes.map(\.lane.endpoint) == [setup.endpoints[0]])
        #expect(again.endpoints[1] != setup.endpoints[1])
        #expect(ledger.hasSweep)
        var slices = 0
        while ledger.hasSweep {
            try ledger.sweep(limit: 7)
            slices += 1
        }
        #expect(slices > 10)
        #expect(try ledger.storedRows().count == 30)
        #expect(ledger.catalog.tally.waitingRows == 30)
        #expect(again.lanes.map(\.waitingRows) == [30])
        let lines = fixture.lines
        #expect(lines.contains { $0.contains("an endpoint is not configured any more") && $0.contains("COUNT=100") })
    }

    @Test("a sweep goes on after a restart where it was")
    func sweepSurvives() throws {
        for offset in 1...50 as ClosedRange<UInt64> { _ = try append(0, offset, route: 1) }
        _ = try ledger.configure(rooms: Sample.rooms(3), endpoints: ["a"], routes: [[0]])
        try ledger.sweep(limit: 20)
        ledger.close()
        let again = try fixture.ledger()
        #expect(again.hasSweep)
        #expect(try again.storedRows().count == 30)
        while again.hasSweep { try again.sweep(limit: 20) }
        #expect(try again.storedRows().isEmpty)
        #expect(again.catalog.tally.waitingBytes == 0)
    }
}

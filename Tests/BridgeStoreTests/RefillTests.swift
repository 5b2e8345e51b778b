import BridgeModel
import BridgeSQLite
import RoomsRuntime
import Testing

@testable import BridgeStore

@Suite struct RefillTests {
    private let fixture: StoreFixture
    private let ledger: Ledger
    private let setup: StoreSnapshot

    init() throws {
        fixture = try StoreFixture()
        ledger = try fixture.ledger()
        setup = try ledger.configure(rooms: Sample.rooms(3), endpoints: ["a", "b"], routes: [[0], [1], [0, 1]])
    }

    private func append(_ room: Int, _ offset: UInt64, route: Int = 0, payload: String? = nil) throws {
        _ = try ledger.append(Sample.append(setup.rooms[room], offset, route: setup.routes[route], payload: payload))
    }

    /// Rooms 0, 1, 2, 0, 1, 2 … for endpoint a.
    private func fill(_ rounds: UInt64) throws {
        for offset in 1...rounds { for room in 0..<3 { try append(room, offset) } }
    }

    private func refill(
        _ wishes: [(Int, Int64)],
        rows: Int = 100,
        bytes: Int = 1 << 20,
        perLane: Int = 100
    ) throws -> (rows: [Int64], next: [Int64]) {
        let result = try ledger.refill(
            setup.endpoints[0],
            wishes.map { (setup.rooms[$0.0], $0.1) },
            rows: rows,
            bytes: bytes,
            perLane: perLane
        )
        return (result.deliveries.map(\.row.rawValue), result.next.map(\.from.rawValue))
    }

    @Test("rows come in commit order, for the wished lanes only, and the end is reported")
    func order() throws {
        try fill(3)
        let answer = try refill([(2, 1), (0, 2)])
        #expect(answer.rows == [3, 4, 6, 7, 9])
        #expect(answer.next == [10, 10])
    }

    @Test("a lane whose share is full is passed over, and its first row not taken is reported")
    func shares() throws {
        try fill(4)
        let answer = try refill([(0, 1), (1, 1)], perLane: 2)
        #expect(answer.rows == [1, 2, 4, 5])
        #expect(answer.next == [7, 8])
        let rest = try refill([(0, 7), (1, 8)], perLane: 2)
        #expect(rest.rows == [7, 8, 10, 11])
        #expect(rest.next == [13, 13])
    }

    @Test("a full share does not hold up another lane")
    func fullShare() throws {
        for offset in 1...50 as ClosedRange<UInt64> { try append(0, offset) }
        try append(1, 1)
        let answer = try refill([(0, 1), (1, 1)], perLane: 3)
        #expect(answer.rows == [1, 2, 3, 51])
        #expect(answer.next == [4, 52])
    }

    @Test("the bound of the answer in rows")
    func rowBound() throws {
        try fill(4)
        let answer = try refill([(0, 1), (1, 1), (2, 1)], rows: 5)
        #expect(answer.rows == [1, 2, 3, 4, 5])
        #expect(answer.next == [6, 6, 6])
    }

    @Test("the bound of the answer in bytes, but one row is always given", arguments: [1, 10, 700])
    func byteBound(bytes: Int) throws {
        let big = String(repeating: "y", count: 5_000)
        for offset in 1...3 as ClosedRange<UInt64> { try append(0, offset, payload: big) }
        let answer = try refill([(0, 1)], bytes: bytes)
        #expect(answer.rows == [1])
        #expect(answer.next == [2])
        #expect(try refill([(0, 1)], bytes: 11_000).rows == [1, 2])
    }

    @Test("what is settled is not given again, whatever was wished")
    func settled() throws {
        try fill(3)
        let lane = BridgeModel.Lane(endpoint: setup.endpoints[0], room: setup.rooms[0])
        try ledger.settle([Settlement(lane: lane, row: RowID(4), seq: 2)])
        #expect(try refill([(0, 1)]).rows == [7])
    }

    @Test("rows for another endpoint are not given, those for both are")
    func routes() throws {
        try append(0, 1, route: 1)
        try append(0, 2, route: 2)
        try append(0, 3, route: 0)
        #expect(try refill([(0, 1)]).rows == [2, 3])
    }

    @Test("a room without a lane, an unknown room and no wish at all are answered at once")
    func nothing() throws {
        try fill(1)
        try append(0, 2, route: 1)
        #expect(try refill([]).rows.isEmpty)
        let unknown = try ledger.refill(
            setup.endpoints[1],
            [(RoomID(77), 1), (setup.rooms[2], 1), (setup.rooms[0], 1)]
        )
        #expect(unknown.deliveries.map(\.row.rawValue) == [4])
        #expect(unknown.next.map(\.from.rawValue) == [5, 5, 5])
        #expect(unknown.lastCommitted == RowID(4))
    }

    @Test(
        "payloads of any size come back untouched",
        arguments: [0, 1, 2_047, 2_048, 2_049, 8_100, 100_000, 1_500_000]
    )
    func payloads(size: Int) throws {
        let bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 7 ^ $0 >> 8) }
        var record = Sample.append(setup.rooms[0], 1, route: setup.routes[0])
        record.body = .event(Sample.binary(Payload(bytes), at: 1))
        _ = try ledger.append(record)
        let answer = try ledger.refill(setup.endpoints[0], [(setup.rooms[0], 1)])
        #expect(answer.deliveries.count == 1)
        #expect(answer.deliveries.first?.event?.payload.array == bytes)
        #expect(ledger.counts.damaged == 0)
    }

    @Test("a pass over several turns misses nothing that is committed in between")
    func betweenTurns() throws {
        try fill(20)
        let request = RefillRequest(
            endpoint: setup.endpoints[0],
            wishes: [.init(room: setup.rooms[0], from: RowID(1)), .init(room: setup.rooms[1], from: RowID(1))],
            maxRows: 1_000,
            maxBytes: 1 << 20,
            maxRowsPerLane: 1_000
        )
        let pass = RefillPass(request, ledger)
        var turns = 0
        var offset: UInt64 = 20
        while true {
            turns += 1
            if let result = try pass.advance(rows: 10, bytes: 1 << 20, ledger) {
                let expected = try ledger.storedRows().filter { ($0 - 1) % 3 != 2 || $0 > 60 }
                #expect(result.deliveries.map(\.row.rawValue) == expected)
                #expect(
                    result.next.map(\.from.rawValue) == [
                        result.lastCommitted.rawValue + 1, result.lastCommitted.rawValue + 1,
                    ]
                )
                break
            }
            if turns <= 5 {
                offset += 1
                try append(0, offset)
                try append(1, offset)
            }
        }
        #expect(turns > 6)
    }

    @Test("a pass that has something to give ends after 4,000 rows of others")
    func patience() throws {
        try append(0, 1)
        for start in stride(from: UInt64(1), to: 6_000, by: 1_000) {
            let records = (start..<start + 1_000).map { Sample.append(setup.rooms[1], $0, route: setup.routes[1]) }
            _ = try ledger.commit(records[...], [])
        }
        try append(0, 2)
        let first = try refill([(0, 1)])
        #expect(first.rows == [1])
        #expect(first.next[0] > 4_000)
        #expect(first.next[0] <= 4_501)
        #expect(try refill([(0, first.next[0])]).rows == [6_002])
    }

    /// How many turns of ten rows the pass takes.
    private func turns(_ wishes: [(Int, Int64)], perLane: Int) throws -> (turns: Int, rows: [Int64]) {
        let request = RefillRequest(
            endpoint: setup.endpoints[0],
            wishes: wishes.map { RefillRequest.Wish(room: setup.rooms[$0.0], from: RowID($0.1)) },
            maxRows: 1_000,
            maxBytes: 1 << 20,
            maxRowsPerLane: perLane
        )
        let pass = RefillPass(request, ledger)
        var turns = 1
        while true {
            if let result = try pass.advance(rows: 10, bytes: 1 << 20, ledger) {
                return (turns, result.deliveries.map(\.row.rawValue))
            }
            turns += 1
        }
    }

    @Test("once the lane that is far behind has its share, rows that nobody else wants are not looked at")
    func skips() throws {
        for start in stride(from: UInt64(1), to: 2_000, by: 500) {
            let records = (start..<start + 500).map { Sample.append(setup.rooms[0], $0, route: setup.routes[0]) }
            _ = try ledger.commit(records[...], [])
        }
        for offset in 1...20 as ClosedRange<UInt64> { try append(1, offset) }
        let answer = try turns([(0, 1), (1, 2_001)], perLane: 5)
        #expect(answer.rows == Array(1...5) + Array(2_001...2_005))
        #expect(answer.turns <= 3)
        // The other way round it is one pass over what lies between, as ever.
        #expect(try turns([(0, 1_981), (1, 1)], perLane: 5).rows == Array(1_981...1_985) + Array(2_001...2_005))
    }

    @Test("a lane that is held for ever keeps no rows of others and slows no refill")
    func heldForEver() throws {
        // Of room 0 nothing is ever settled; rooms 1 and 2 go on, a thousand rows each.
        try append(0, 1)
        for offset in 1...1_000 as ClosedRange<UInt64> {
            let sent = try ledger.append(
                Sample.append(setup.rooms[1], offset, route: setup.routes[0]),
                Sample.append(setup.rooms[2], offset, route: setup.routes[0])
            )
            if offset.isMultiple(of: 200) { try append(0, offset) }
            if offset <= 990 { for delivery in sent { try ledger.settle(delivery) } }
        }
        // Its own rows, and those that still wait.
        #expect(try ledger.storedRows().count == 6 + 20)
        #expect(ledger.catalog.tally.waitingRows == 26)
        let last = ledger.lastRow.rawValue
        let answer = try turns([(1, last - 20), (2, last - 20)], perLane: 100)
        #expect(answer.rows.count == 20)
        #expect(answer.turns <= 4)
        // When it is asked for after all, it is found without a look at what is gone.
        let held = try turns([(0, 1)], perLane: 100)
        #expect(held.rows.count == 6)
        #expect(held.turns <= 4)
    }

    // MARK: damage

    static let damages = [
        "payload = CAST('{\"n\":9}' AS BLOB)", "payload = x''", "crc = crc + 1", "seq = seq + 1", "prev = prev + 1",
        "head = x'00'", "head = substr(head, 1, 5)", "seq = 1000000000000",
    ]

    @Test("a row that is not what was written becomes a gap and stops nothing", arguments: damages)
    func damaged(change: String) throws {
        for offset in 1...3 as ClosedRange<UInt64> { try append(0, offset) }
        try ledger.database.execute("UPDATE events SET \(change) WHERE id = 2", doing: "damaging a row")
        for _ in 0..<2 {
            let answer = try ledger.refill(setup.endpoints[0], [(setup.rooms[0], 1)])
            #expect(answer.deliveries.map(\.row.rawValue) == [1, 2, 3])
            #expect(answer.deliveries[0].event != nil)
            #expect(answer.deliveries[1].gap?.reason == .damaged)
            #expect(answer.deliveries[1].gap?.epoch == "ab12")
            #expect((1...3).contains(answer.deliveries[1].seq))
            #expect(answer.deliveries[2].event != nil)
        }
        #expect(ledger.counts.damaged == 1)
        let lines = fixture.lines.filter { $0.contains("a stored event is damaged") }
        #expect(lines.count == 1)
        #expect(lines.allSatisfy { $0.hasPrefix("critical") && $0.contains("ROW=2") && $0.contains("ROOM=room:0") })
        let last = try ledger.refill(setup.endpoints[0], [(setup.rooms[0], 1)]).deliveries
        for delivery in last { try ledger.settle(delivery) }
        #expect(try ledger.storedRows().isEmpty)
        #expect(ledger.catalog.tally.waitingRows == 0)
        // As it was found, for people to look at.
        let kept = try ledger.database.integer("SELECT count(*) FROM quarantine WHERE id = 2", doing: "reading")
        #expect(kept == 1)
    }

    @Test("a row that has vanished is noticed at the end of its lane, and the endpoint gets a gap")
    func vanished() throws {
        for offset in 1...3 as ClosedRange<UInt64> { try append(0, offset) }
        try ledger.database.execute("DELETE FROM events WHERE id = 2", doing: "damaging the table")
        let answer = try ledger.refill(setup.endpoints[0], [(setup.rooms[0], 1)]).deliveries
        ledger.cache = RowCache()
        for delivery in answer { try ledger.settle(delivery) }
        #expect(ledger.counts.damaged == 1)
        #expect(ledger.catalog.lanes[0].state.waitingRows == 0)
        #expect(fixture.lines.contains { $0.contains("another number of events") })
        let gaps = ledger.takeShortLanes()
        #expect(gaps.map(\.gap) == [Gap(reason: .damaged, epoch: "ab12", from: 0, to: 3)])
        #expect(gaps.map(\.seq) == [4] && gaps.map(\.row.rawValue) == [4])
        #expect(ledger.takeShortLanes().isEmpty)
        // It is told until the endpoint has it, also over a restart.
        #expect(ledger.untoldLosses().map(\.gap) == gaps.map(\.gap))
        try append(0, 4)
        let next = try ledger.refill(setup.endpoints[0], [(setup.rooms[0], 1)]).deliveries
        #expect(next.map(\.seq) == [5])
        for gap in gaps { try ledger.settle(gap) }
        #expect(ledger.untoldLosses().isEmpty)
    }
}

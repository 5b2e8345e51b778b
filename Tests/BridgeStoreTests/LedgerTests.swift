import BridgeModel
import BridgeSQLite
import BridgeTestSupport
import RoomsRuntime
import Testing

@testable import BridgeStore

@Suite struct LedgerTests {
    @Test("what is appended comes out once per endpoint, with a seq per room")
    func fanOut() throws {
        let fixture = try StoreFixture()
        let ledger = try fixture.ledger()
        let setup = try ledger.configure(rooms: Sample.rooms(2), endpoints: ["a", "b"], routes: [[0], [0, 1], []])
        let (one, two) = (setup.rooms[0], setup.rooms[1])
        let deliveries = try ledger.append(
            Sample.append(one, 1, route: setup.routes[1]),
            Sample.append(two, 1, route: setup.routes[0]),
            Sample.append(one, 2, route: nil),
            Sample.append(one, 3, route: setup.routes[2]),
            Sample.append(one, 4, route: setup.routes[0])
        )
        let seen = deliveries.map { "\($0.row.rawValue) \($0.lane.endpoint.rawValue) \($0.room.room) \($0.seq)" }
        #expect(seen == ["1 1 room:0 1", "1 2 room:0 1", "2 1 room:1 1", "3 1 room:0 4"])
        #expect(try ledger.storedRows() == [1, 2, 3])
        #expect(ledger.catalog.tally.waitingRows == 3)
    }

    @Test("after a restart everything is as it was")
    func restart() throws {
        let fixture = try StoreFixture()
        let ledger = try fixture.ledger()
        let rooms = Sample.rooms(3)
        let first = try ledger.configure(rooms: rooms, endpoints: ["a"], routes: [[0]])
        #expect(first.positions == [nil, nil, nil])
        #expect(first.lanes.isEmpty)
        let sent = try ledger.append(
            Sample.append(first.rooms[0], 7, route: first.routes[0]),
            Sample.append(first.rooms[0], 8, route: first.routes[0]),
            Sample.append(first.rooms[1], .max, route: first.routes[0], epoch: "", incarnation: 3)
        )
        try ledger.settle(sent[0])
        ledger.close()

        let again = try fixture.ledger()
        let second = try again.configure(rooms: rooms, endpoints: ["a"], routes: [[0]])
        #expect(second.storeID == first.storeID)
        #expect(second.storeID.count == 32)
        #expect(second.rooms == first.rooms)
        #expect(second.endpoints == first.endpoints)
        #expect(second.routes == first.routes)
        #expect(
            second.positions == [
                Position(epoch: "ab12", offset: 8), Position(epoch: "", offset: .max, incarnation: 3), nil,
            ]
        )
        #expect(second.lastCommitted == RowID(3))
        #expect(second.lanes.map(\.acknowledged) == [1, 0])
        #expect(second.lanes.map(\.next) == [RowID(2), RowID(3)])
        #expect(second.lanes.map(\.tail) == [RowID(2), RowID(3)])
        #expect(second.lanes.map(\.waitingRows) == [1, 1])
        let next = try again.append(Sample.append(first.rooms[0], 9, route: first.routes[0]))
        #expect(next.map(\.row) == [RowID(4)])
        #expect(next.map(\.seq) == [3])
    }

    @Test("an event that was committed before is dropped and counted")
    func duplicates() throws {
        let fixture = try StoreFixture()
        let ledger = try fixture.ledger()
        let setup = try ledger.configure(rooms: Sample.rooms(1), endpoints: ["a"], routes: [[0]])
        let (room, route) = (setup.rooms[0], setup.routes[0])
        _ = try ledger.append(Sample.append(room, 5, route: route), Sample.append(room, 6, route: route))
        #expect(try ledger.append(Sample.append(room, 6, route: route)).isEmpty)
        #expect(try ledger.append(Sample.append(room, 1, route: route)).isEmpty)
        #expect(ledger.counts.duplicates == 2)
        #expect(ledger.counts.records == 2)
        #expect(try ledger.append(Sample.append(room, 1, route: route, epoch: "cd")).map(\.seq) == [3])
        #expect(try ledger.append(Sample.append(room, 1, route: route, epoch: "cd", incarnation: 1)).map(\.seq) == [4])
        #expect(try ledger.append(Sample.append(room, 9, route: route, epoch: "cd", incarnation: 0)).isEmpty)
        #expect(ledger.catalog.rooms[0].state.position == Position(epoch: "cd", offset: 1, incarnation: 1))
    }

    @Test("a commit that fails changes nothing, and succeeds when it is tried again")
    func failedCommit() throws {
        let fixture = try StoreFixture()
        let ledger = try fixture.ledger()
        let setup = try ledger.configure(rooms: Sample.rooms(3), endpoints: ["a", "b"], routes: [[0], [0, 1]])
        let names = Dictionary(uniqueKeysWithValues: zip(setup.endpoints, ["a", "b"] as [ByteString]))
        let sent = try ledger.append(
            Sample.append(setup.rooms[0], 1, route: setup.routes[0]),
            Sample.append(setup.rooms[1], 1, route: setup.routes[0])
        )
        let (stored, held, counts) = (try ledger.storedImage(), ledger.heldImage(names), ledger.counts)
        let pages = try ledger.database.integer("PRAGMA page_count", doing: "counting pages")
        try ledger.database.execute("PRAGMA max_page_count=\(pages + 1)", doing: "making the disk small")
        // Two endpoints, so that a lane has to be made too; the last one does not fit.
        let records = [
            Sample.append(setup.rooms[0], 2, route: setup.routes[1]), Sample.append(setup.rooms[2], 1, route: nil),
            Sample.append(setup.rooms[2], 2, route: setup.routes[1], payload: String(repeating: "x", count: 50_000)),
        ]
        let settlements = sent.map { Settlement(lane: $0.lane, row: $0.row, seq: $0.seq) }
        for _ in 0..<2 {
            let error = #expect(throws: SQLiteError.self) { try ledger.commit(records[...], settlements) }
            #expect(error?.code.primary == .full)
            #expect(!ledger.database.isInTransaction)
            #expect(try ledger.storedImage() == stored)
            #expect(ledger.heldImage(names) == held)
            #expect(ledger.counts == counts)
        }
        try ledger.database.execute("PRAGMA max_page_count=1000", doing: "making space")
        let deliveries = try ledger.commit(records[...], settlements)
        #expect(deliveries.map(\.row.rawValue) == [3, 3, 4, 4])
        #expect(deliveries.map(\.seq) == [2, 2, 2, 2])
        #expect(try ledger.storedRows() == [3, 4])
        var image = try ledger.storedImage()
        image.rows = []
        #expect(ledger.heldImage(names) == image)
    }

    @Test("a gap takes a seq and a row, moves the position, and is stored again only when something came after it")
    func gaps() throws {
        let fixture = try StoreFixture()
        let ledger = try fixture.ledger()
        let setup = try ledger.configure(rooms: Sample.rooms(1), endpoints: ["a"], routes: [[0]])
        func gap(_ from: UInt64, _ to: UInt64) -> AppendRecord {
            AppendRecord(
                room: setup.rooms[0],
                body: .gap(Gap(reason: .trimmed, epoch: "ab12", from: from, to: to), at: 77),
                position: Position(epoch: "ab12", offset: to),
                route: setup.routes[0]
            )
        }
        let sent = try ledger.append(
            Sample.append(setup.rooms[0], 1, route: setup.routes[0]),
            gap(2, 5),
            Sample.append(setup.rooms[0], 6, route: setup.routes[0])
        )
        #expect(sent.map(\.seq) == [1, 2, 3])
        #expect(sent[1].gap == Gap(reason: .trimmed, epoch: "ab12", from: 2, to: 5))
        #expect(try ledger.append(gap(2, 5)).isEmpty)
        #expect(try ledger.append(gap(3, 6)).count == 1)
        #expect(ledger.catalog.rooms[0].state.position?.offset == 6)
    }

    @Test("a baseline fixes where a room begins, without a seq, and never moves it back")
    func baseline() throws {
        let fixture = try StoreFixture()
        let ledger = try fixture.ledger()
        let setup = try ledger.configure(rooms: Sample.rooms(1), endpoints: ["a"], routes: [[0]])
        func baseline(_ offset: UInt64) -> AppendRecord {
            let position = Position(epoch: "ab12", offset: offset)
            return AppendRecord(room: setup.rooms[0], body: .baseline, position: position, route: nil)
        }
        #expect(try ledger.append(baseline(40)).isEmpty)
        #expect(ledger.catalog.rooms[0].state.position?.offset == 40)
        #expect(try ledger.append(Sample.append(setup.rooms[0], 40, route: setup.routes[0])).isEmpty)
        #expect(try ledger.append(Sample.append(setup.rooms[0], 41, route: setup.routes[0])).map(\.seq) == [1])
        #expect(try ledger.append(baseline(40)).isEmpty)
        #expect(ledger.catalog.rooms[0].state.position?.offset == 41)
    }

    @Test("live-only events take seqs and rows and leave the position alone")
    func liveOnly() throws {
        let fixture = try StoreFixture()
        let ledger = try fixture.ledger()
        let setup = try ledger.configure(rooms: Sample.rooms(1), endpoints: ["a"], routes: [[0]])
        let live = AppendRecord(
            room: setup.rooms[0],
            body: .event(Sample.event(0, epoch: "")),
            position: nil,
            route: setup.routes[0]
        )
        #expect(try ledger.append(live, live).map(\.row) == [RowID(1), RowID(2)])
        #expect(ledger.catalog.rooms[0].state.position == nil)
        ledger.close()
        let again = try fixture.ledger().configure(rooms: Sample.rooms(1), endpoints: ["a"], routes: [[0]])
        #expect(again.positions == [nil])
        #expect(again.lanes.map(\.waitingRows) == [2])
    }

    @Test("a room, an endpoint and a route keep their numbers in whatever order they are named")
    func numbers() throws {
        let fixture = try StoreFixture()
        let ledger = try fixture.ledger()
        let rooms = Sample.rooms(3)
        let first = try ledger.configure(rooms: rooms, endpoints: ["a", "b"], routes: [[0], [1, 0], [0, 1, 1]])
        #expect(first.routes[1] == first.routes[2])
        let names = rooms.reversed() + [RoomKey(server: "other", room: rooms[0].room), rooms[0]]
        let second = try ledger.configure(rooms: Array(names), endpoints: ["b", "a"], routes: [[1, 0], [1]])
        #expect(Array(second.rooms[0..<3]) == first.rooms.reversed())
        #expect(!first.rooms.contains(second.rooms[3]))
        #expect(second.rooms[4] == first.rooms[0])
        #expect(second.endpoints == first.endpoints.reversed())
        #expect(second.routes == [first.routes[1], first.routes[0]])
    }

    @Test("names that only look alike are two rooms")
    func names() throws {
        let fixture = try StoreFixture()
        let ledger = try fixture.ledger()
        let keys =
            ["é", "e\u{301}", "a\r\n", "a\n"].map { RoomKey(server: "main", room: ByteString($0)) }
            + [RoomKey(server: "main", room: ByteString([0xff, 0x00])), RoomKey(server: "", room: "")]
        let first = try ledger.configure(rooms: keys, endpoints: ["a"], routes: [[0]])
        #expect(Set(first.rooms).count == keys.count)
        ledger.close()
        let again = try fixture.ledger()
        #expect(try again.configure(rooms: keys, endpoints: ["a"], routes: [[0]]).rooms == first.rooms)
        #expect(again.catalog.rooms.map(\.key) == keys)
    }
}

import BridgeModel
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
}

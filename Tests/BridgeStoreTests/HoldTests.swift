import BridgeModel
import BridgeSQLite
import BridgeTestSupport
import RoomsRuntime
import Testing

@testable import BridgeStore

@Suite struct HoldTests {
    @Test("what an endpoint waits for is there after a restart, until it waits no more or is gone")
    func keeps() throws {
        let fixture = try StoreFixture()
        let rooms = Sample.rooms(1)
        func open(_ endpoints: [ByteString]) throws -> (Ledger, StoreSnapshot) {
            let ledger = try fixture.ledger()
            return (ledger, try ledger.configure(rooms: rooms, endpoints: endpoints, routes: [[0]]))
        }
        var (ledger, setup) = try open(["a", "b"])
        #expect(setup.holds == [nil, nil])
        let (one, two) = (
            StoredHold(failures: 3, end: 1_796_004_000_123, length: 30_000),
            StoredHold(failures: 1, end: 5, length: 6)
        )
        let ends = setup.endpoints.map { HoldScope(endpoint: $0) }
        _ = try ledger.commit([], [], [ends[0]: one, ends[1]: two])
        ledger.close()
        (ledger, setup) = try open(["a", "b"])
        #expect(setup.holds == [one, two])
        _ = try ledger.commit([], [], [ends[0]: nil])
        ledger.close()
        (ledger, setup) = try open(["a", "b"])
        #expect(setup.holds == [nil, two])
        ledger.close()
        (ledger, setup) = try open(["a"])
        ledger.close()
        (ledger, setup) = try open(["a", "b"])
        #expect(setup.holds == [nil, nil])
        ledger.close()
    }

    @Test("what a room waits for is kept apart from what its endpoint and other rooms wait for")
    func keepsLanes() throws {
        let fixture = try StoreFixture()
        func open(_ endpoints: [ByteString] = ["a", "b"]) throws -> (Ledger, StoreSnapshot) {
            let ledger = try fixture.ledger()
            let routes = [Array(endpoints.indices)]
            return (ledger, try ledger.configure(rooms: Sample.rooms(2), endpoints: endpoints, routes: routes))
        }
        var (ledger, setup) = try open()
        for room in setup.rooms { _ = try ledger.append(Sample.append(room, 1, route: setup.routes[0])) }
        let hold = StoredHold(failures: 7, attempts: 4, end: 1_796_004_000_123, length: 300_000)
        let (endpoint, room) = (setup.endpoints[1], setup.rooms[1])
        _ = try ledger.commit([], [], [HoldScope(endpoint: endpoint, room: room): hold])
        ledger.close()
        (ledger, setup) = try open()
        #expect(setup.holds == [nil, nil] && setup.lanes.count == 4)
        for lane in setup.lanes {
            #expect(lane.hold == (lane.lane.endpoint == endpoint && lane.lane.room == room ? hold : nil))
        }
        _ = try ledger.commit([], [], [HoldScope(endpoint: endpoint, room: room): nil])
        ledger.close()
        (ledger, setup) = try open()
        #expect(setup.lanes.allSatisfy { $0.hold == nil })
        _ = try ledger.commit([], [], [HoldScope(endpoint: endpoint, room: room): hold])
        ledger.close()
        // With the endpoint goes what its rooms wait for.
        (ledger, setup) = try open(["a"])
        #expect(try ledger.database.integer("SELECT count(*) FROM holds", doing: "counting") == 0)
        ledger.close()
    }

    @Test("of many words on an endpoint the last one is committed, with company or after its patience")
    func batch() {
        let start = Instant(nanoseconds: 1_000_000_000)
        var batch = WriteBatch()
        let endpoint = HoldScope(endpoint: EndpointID(1))
        #expect(batch.isEmpty && batch.due() == nil)
        for failures in 1...5 {
            batch.add(StoredHold(failures: failures, end: 1, length: 1), of: endpoint, now: start)
        }
        #expect(!batch.isEmpty && batch.due() == start + WriteBatch.patience)
        let group = batch.next(now: start)
        #expect(group.holds[endpoint]??.failures == 5 && group.records.isEmpty && group.settlements.isEmpty)
        // What comes while the group is written is not forgotten with it.
        batch.add(nil, of: endpoint, now: start)
        _ = batch.committed()
        #expect(!batch.isEmpty)
        #expect(batch.next(now: start).holds == [endpoint: nil])
        _ = batch.committed()
        #expect(batch.isEmpty && batch.due() == nil)
    }
}

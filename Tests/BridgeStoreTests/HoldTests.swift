import BridgeModel
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
            EndpointHold(failures: 3, end: 1_796_004_000_123, length: 30_000),
            EndpointHold(failures: 1, end: 5, length: 6)
        )
        _ = try ledger.commit([], [], [setup.endpoints[0]: one, setup.endpoints[1]: two])
        ledger.close()
        (ledger, setup) = try open(["a", "b"])
        #expect(setup.holds == [one, two])
        _ = try ledger.commit([], [], [setup.endpoints[0]: nil])
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

    @Test("of many words on an endpoint the last one is committed, with company or after its patience")
    func batch() {
        let start = Instant(nanoseconds: 1_000_000_000)
        var batch = WriteBatch()
        let endpoint = EndpointID(1)
        #expect(batch.isEmpty && batch.due() == nil)
        for failures in 1...5 {
            batch.add(EndpointHold(failures: failures, end: 1, length: 1), of: endpoint, now: start)
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

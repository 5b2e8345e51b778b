import BridgeModel
import BridgeTestSupport
import RoomsRuntime
import Testing

@testable import BridgeStore

/// Collects what the store calls out.
final class PortRecorder: Sendable {
    struct State: Sendable {
        var deliveries: [PendingDelivery] = []
        var admissions: [Bool] = []
        var failures: [StoreError] = []
    }

    private let state = Lock(State())

    var ports: StorePorts {
        StorePorts(
            committed: { deliveries in self.state.withLock { $0.deliveries += deliveries } },
            admission: { isOpen in self.state.withLock { $0.admissions.append(isOpen) } },
            failed: { error in self.state.withLock { $0.failures.append(error) } }
        )
    }

    var now: State { state.withLock { $0 } }
}

@Suite struct StoreTests {
    @Test("appended events are committed, settled ones go, and a stop keeps the rest")
    func lifeCycle() async throws {
        let fixture = try StoreFixture()
        let store = try fixture.store()
        let setup = try store.configure(rooms: Sample.rooms(2), endpoints: ["a"], routes: [[0]])
        let recorder = PortRecorder()
        store.start(recorder.ports)
        for offset in 1...100 as ClosedRange<UInt64> {
            #expect(store.append(setup.rooms.map { Sample.append($0, offset, route: setup.routes[0]) }))
        }
        try await eventually("all are committed") { recorder.now.deliveries.count == 200 }
        store.settle(
            recorder.now.deliveries.prefix(150).map { Settlement(lane: $0.lane, row: $0.row, seq: $0.seq) }
        )
        store.stop()
        #expect(store.counts.waitingRows == 50)

        let again = try fixture.ledger()
        #expect(try again.storedRows() == Array(151...200))
        let lanes = try again.configure(rooms: Sample.rooms(2), endpoints: ["a"], routes: [[0]]).lanes
        #expect(lanes.map(\.acknowledged) == [75, 75])
        #expect(lanes.map(\.waitingRows) == [25, 25])
        #expect(recorder.now.failures.isEmpty)
    }

    @Test("a refill is answered behind the commits that came before it")
    func refillOrder() async throws {
        let fixture = try StoreFixture()
        let store = try fixture.store()
        let setup = try store.configure(rooms: Sample.rooms(1), endpoints: ["a"], routes: [[0]])
        let recorder = PortRecorder()
        store.start(recorder.ports)
        _ = store.append((1...10).map { Sample.append(setup.rooms[0], $0, route: setup.routes[0]) })
        try await eventually("all are committed") { recorder.now.deliveries.count == 10 }
        let answers = Lock<[RefillResult]>([])
        let request = RefillRequest(
            endpoint: setup.endpoints[0],
            wishes: [.init(room: setup.rooms[0], from: RowID(4))],
            maxRows: 100,
            maxBytes: 1 << 20,
            maxRowsPerLane: 100
        )
        store.refill(request) { result in answers.withLock { $0.append(result) } }
        let answer = try await eventually("an answer") { answers.withLock { $0.first } }
        #expect(answer.deliveries.map(\.row.rawValue) == Array(4...10))
        #expect(answer.next.map(\.from) == [RowID(11)])
        #expect(answer.lastCommitted == RowID(10))
        store.stop()
    }
}

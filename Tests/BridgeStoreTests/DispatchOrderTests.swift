import BridgeModel
import BridgeTestSupport
import RoomsRuntime
import Testing

@testable import BridgeStore

/// The least dispatcher that keeps the contract: a few rows in memory, the rest read back from the store.
final class SmallDispatcher {
    enum Item: Sendable {
        case fresh([PendingDelivery])
        case answer(RefillResult)
    }

    private struct LaneWork {
        var queue: [PendingDelivery] = []
        /// The first row that was not seen; nil: all were.
        var unseen: RowID?
    }

    private let store: Store
    private let inbox: Inbox<Item>
    private let received: Lock<[Lane: [Int64]]>
    private var lanes: [Lane: LaneWork] = [:]
    private var held = 0
    private var asking: Set<EndpointID> = []
    private var batch: [Item] = []
    private var random: SeededRandom
    private let budget = 40

    init(_ store: Store, _ states: [LaneState], inbox: Inbox<Item>, received: Lock<[Lane: [Int64]]>, seed: UInt64) {
        self.store = store
        self.inbox = inbox
        self.received = received
        random = SeededRandom(seed: seed)
        for state in states where state.next <= state.tail {
            lanes[state.lane, default: LaneWork()].unseen = state.next
        }
    }

    func turn() {
        inbox.drain(into: &batch)
        for item in batch {
            switch item {
            case .fresh(let deliveries): for delivery in deliveries { take(delivery) }
            case .answer(let result): take(result)
            }
        }
        deliver()
        for endpoint in Set(lanes.filter { $0.value.unseen != nil }.map(\.key.endpoint)) { ask(endpoint) }
    }

    private func take(_ delivery: PendingDelivery) {
        var lane = lanes[delivery.lane] ?? LaneWork()
        if lane.unseen == nil {
            if held < budget {
                lane.queue.append(delivery)
                held += 1
            } else {
                lane.unseen = delivery.row
            }
        }
        lanes[delivery.lane] = lane
    }

    private func take(_ result: RefillResult) {
        asking.remove(result.endpoint)
        for delivery in result.deliveries {
            lanes[delivery.lane]?.queue.append(delivery)
            held += 1
        }
        for wish in result.next {
            let lane = Lane(endpoint: result.endpoint, room: wish.room)
            lanes[lane]?.unseen = wish.from > result.lastCommitted ? nil : wish.from
        }
    }

    /// Settles a random prefix of some lanes.
    private func deliver() {
        var settlements: [Settlement] = []
        for (lane, work) in lanes where !work.queue.isEmpty {
            let count = Int.random(in: 0...work.queue.count, using: &random)
            guard count > 0 else { continue }
            let done = work.queue.prefix(count)
            received.withLock { $0[lane, default: []] += done.map(\.seq) }
            settlements += done.suffix(Bool.random(using: &random) ? 1 : count).map {
                Settlement(lane: lane, row: $0.row, seq: $0.seq)
            }
            lanes[lane]?.queue.removeFirst(count)
            held -= count
        }
        store.settle(settlements)
    }

    private func ask(_ endpoint: EndpointID) {
        guard !asking.contains(endpoint), held < budget else { return }
        let wishes = lanes.compactMap { lane, work -> RefillRequest.Wish? in
            guard lane.endpoint == endpoint, work.queue.isEmpty, let unseen = work.unseen else { return nil }
            return RefillRequest.Wish(room: lane.room, from: unseen)
        }
        guard !wishes.isEmpty else { return }
        asking.insert(endpoint)
        let request = RefillRequest(
            endpoint: endpoint,
            wishes: wishes,
            maxRows: 30,
            maxBytes: 1 << 16,
            maxRowsPerLane: 8
        )
        store.refill(request) { [inbox] result in inbox.put(.answer(result)) }
    }
}

@Suite struct DispatchOrderTests {
    /// One life of store and dispatcher: hands in what is given, and ends when `isDone` says so.
    private func live(
        _ fixture: StoreFixture,
        seed: UInt64,
        hand: (Store, StoreSnapshot) async -> Void,
        received: Lock<[Lane: [Int64]]>,
        until isDone: (StoreSnapshot) -> Bool
    ) async throws {
        let store = try fixture.store()
        let setup = try store.configure(rooms: Sample.rooms(7), endpoints: ["a", "b"], routes: [[0, 1]])
        let loop = EventLoop(name: "dispatcher")
        let inbox = Inbox<SmallDispatcher.Item> { [loop] in loop.wake() }
        let dispatcher = SmallDispatcher(store, setup.lanes, inbox: inbox, received: received, seed: seed)
        loop.onWake { dispatcher.turn() }
        loop.start()
        store.start(
            StorePorts(
                committed: { inbox.put(.fresh($0)) },
                admission: { _ in },
                failed: { Issue.record($0) }
            )
        )
        await hand(store, setup)
        try await eventually("it is done") {
            loop.wake()
            return isDone(setup)
        }
        loop.stop()
        loop.join()
        store.stop()
    }

    @Test(
        "each endpoint gets each room's events in order, from memory and from the store",
        arguments: [1, 2, 3] as [UInt64]
    )
    func order(seed: UInt64) async throws {
        let fixture = try StoreFixture()
        var random = SeededRandom(seed: seed)
        var offsets = [UInt64](repeating: 0, count: 7)
        let received = Lock<[Lane: [Int64]]>([:])
        func count() -> Int { received.withLock { $0.values.reduce(0) { $0 + $1.count } } }
        func burst(_ store: Store, _ setup: StoreSnapshot) async {
            for _ in 0..<60 {
                let records = (0..<Int.random(in: 1...40, using: &random)).map { _ in
                    let room = Int.random(in: 0..<7, using: &random)
                    offsets[room] += 1
                    return Sample.append(setup.rooms[room], offsets[room], route: setup.routes[0])
                }
                _ = store.append(records)
                if Bool.random(using: &random) { await Task.yield() }
            }
        }
        try await live(fixture, seed: seed, hand: burst, received: received) { _ in count() > 500 }
        try await live(fixture, seed: seed &+ 1, hand: burst, received: received) { setup in
            received.withLock { received in
                setup.endpoints.allSatisfy { endpoint in
                    setup.rooms.indices.allSatisfy { index in
                        let lane = Lane(endpoint: endpoint, room: setup.rooms[index])
                        return received[lane]?.last == Int64(offsets[index])
                    }
                }
            }
        }
        for seqs in received.withLock({ $0 }).values {
            // The stop commits every settlement, so nothing is repeated.
            #expect(seqs == Array(1...Int64(seqs.count)))
        }
        #expect(try fixture.ledger().storedRows().isEmpty)
    }
}

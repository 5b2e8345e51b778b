import BridgeModel
import BridgeTestSupport
import RoomsRuntime
import RoomsTransport

@testable import BridgeDelivery

/// A dispatcher on a loop of its own, in front of a store in memory.
final class DeliveryRig: Sendable {
    let store: MemoryStore
    let lines = LineSink()
    private let transport = TransportLoop(name: "deliver-loop")
    private let dispatcher: Dispatcher
    private let queue: LogQueue

    /// Goes on from what `store` holds.
    init(
        _ target: StreamTarget,
        store: MemoryStore = MemoryStore(),
        _ change: (inout EndpointSettings) -> Void = { _ in }
    ) {
        self.store = store
        var settings = EndpointSettings(
            id: Sample.endpoint,
            name: "orders",
            target: target,
            path: "/hook",
            host: "localhost"
        )
        settings.retry = RetrySchedule(base: .milliseconds(2), cap: .milliseconds(20))
        change(&settings)
        queue = LogQueue(sink: lines)
        dispatcher = Dispatcher(
            transport: transport,
            storeID: "k9",
            endpoints: [settings],
            holds: [store.state.withLock { $0.holds[HoldScope(endpoint: Sample.endpoint)] }],
            lanes: store.lanes(),
            ports: store.ports,
            logger: Logger(queue: queue, level: .info)
        )
        transport.loop.start()
        dispatcher.start()
    }

    convenience init(
        port: UInt16,
        store: MemoryStore = MemoryStore(),
        _ change: (inout EndpointSettings) -> Void = { _ in }
    ) {
        self.init(StreamTarget(host: "127.0.0.1", port: port), store: store, change)
    }

    func publish(room: Int64 = 1, count: Int = 1, _ event: EventRecord = Sample.event()) {
        for _ in 0..<count { store.commit(room: room, event) { dispatcher.submit($0) } }
    }

    /// Waits until everything that was committed is settled.
    func settleAll(within limit: Duration = .seconds(20)) async throws {
        try await eventually(within: limit, "the settlement of all rows") {
            store.state.withLock { state in
                var last: [Lane: RowID] = [:]
                for row in state.rows { last[row.lane] = row.row }
                return last.allSatisfy { state.settled[$0] == $1 }
            }
        }
    }

    /// Keeps the loop in one turn while `body` runs: what that brings about is found together afterwards.
    func whileLoopStands(_ body: () async throws -> Void) async throws {
        let (stands, mayGoOn) = (Gate(), Gate())
        defer { mayGoOn.open() }
        transport.loop.post {
            stands.open()
            mayGoOn.wait()
        }
        try await eventually("the loop's turn") { stands.isOpen }
        try await body()
    }

    /// Returns when what begins is sent with `credentials`.
    func renew(_ credentials: EndpointCredentials) async {
        dispatcher.renew(credentials, of: Sample.endpoint)
        await withCheckedContinuation { continuation in
            transport.loop.post { continuation.resume() }
        }
    }

    /// Begins to drain; what happens after this returns happens while it drains.
    func beginDrain(_ done: @escaping @Sendable () -> Void) async {
        dispatcher.drain(within: .seconds(30), done)
        await withCheckedContinuation { continuation in
            transport.loop.post { continuation.resume() }
        }
    }

    /// Returns once all that was published before is with the dispatcher.
    func turn() async {
        await withCheckedContinuation { continuation in
            transport.loop.post { [transport] in transport.loop.post { continuation.resume() } }
        }
    }

    func drain(within limit: Duration) async {
        await withCheckedContinuation { continuation in
            dispatcher.drain(within: limit) { continuation.resume() }
        }
    }

    func stop() async {
        await drain(within: .zero)
        transport.loop.stop()
        transport.loop.join()
        queue.close()
    }
}

/// Keeps log lines for tests.
final class LineSink: LogSink {
    private let state = Lock<[String]>([])

    func write(_ records: [LogRecord]) {
        state.withLock { lines in
            for record in records {
                lines.append("\(record.message)" + record.fields.map { " \($0.key)=\($0.value)" }.joined())
            }
        }
    }

    var lines: [String] { state.withLock { $0 } }
}

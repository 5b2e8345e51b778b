internal import BridgeDelivery
internal import BridgeModel
internal import BridgeStore
internal import Glibc
internal import RoomsRuntime
internal import RoomsTransport

/// A store with waiting events, in this process: the bridge without its intake.
final class Backlog {
    private let store: Store
    private let snapshot: StoreSnapshot
    private let queue = LogQueue(sink: StandardErrorSink(style: .plain))
    private let transport = TransportLoop(name: "deliver-loop")
    private var dispatcher: Dispatcher?
    private var offsets: [UInt64]
    private var appended = 0

    /// Opens what is in the folder, or makes it; every room goes to every endpoint.
    init(folder: String, rooms: Int, endpoints: [ByteString]) {
        let logger = Logger(queue: queue, level: .error)
        do {
            store = try Store.open(StoreOptions(directory: folder, maxSize: 16 << 30), logger: logger)
            snapshot = try store.configure(
                rooms: (0..<rooms).map { RoomKey(server: "main", room: ByteString("order:\($0)")) },
                endpoints: endpoints,
                routes: [Array(endpoints.indices)]
            )
        } catch {
            fail("the store: \(error)")
        }
        offsets = snapshot.positions.map { $0?.offset ?? 0 }
    }

    /// Starts the store, and deliveries to these targets if there are any, in the order of the endpoints.
    ///
    /// `lines`: not over HTTP, but as lines acknowledged so.
    func start(_ targets: [StreamTarget] = [], lines: StreamAcknowledgement? = nil) {
        let store = store
        let settings = zip(targets, snapshot.endpoints).map { target, id in
            var settings = EndpointSettings(id: id, name: "sink", target: target, path: "/hooks", host: "localhost")
            if let lines {
                settings.stream = StreamSettings(lines)
                settings.concurrency = StreamSettings.window
            }
            return settings
        }
        let dispatcher = Dispatcher(
            transport: transport,
            storeID: snapshot.storeID,
            endpoints: settings,
            lanes: targets.isEmpty ? [] : snapshot.lanes,
            ports: DeliveryPorts(
                settle: { store.settle($0) },
                refill: { store.refill($0, $1) },
                hold: { store.hold($0, $1) },
                hasPlaceForDeadLetter: { store.hasPlaceForDeadLetter(of: $0) }
            ),
            logger: Logger(queue: queue, level: .error)
        )
        self.dispatcher = dispatcher
        let isDelivering = !targets.isEmpty
        store.start(
            StorePorts(
                committed: { if isDelivering { dispatcher.submit($0) } },
                admission: { _ in },
                failed: { fail("the store: \($0)") }
            )
        )
        transport.loop.start()
        if isDelivering { dispatcher.start() }
    }

    /// Commits so many more events, and waits until they are.
    func append(_ count: Int, room: (Int) -> Int) {
        let end = appended + count
        while appended < end {
            let records = (appended..<min(end, appended + 500)).map { record(room($0)) }
            appended += records.count
            _ = store.append(records)
            waitForCommits(atMost: 8_000)
        }
        waitForCommits(atMost: 0)
    }

    private func waitForCommits(atMost waiting: Int) {
        let patience = Stopwatch()
        while appended - store.counts.records > waiting {
            guard patience.seconds < 60 else { fail("the store does not go on") }
            pause(milliseconds: 1)
        }
    }

    private func record(_ room: Int) -> AppendRecord {
        offsets[room] += 1
        let payload = Payload(SamplePush.payload)
        let event = EventRecord(
            payload: payload,
            epoch: "bench",
            offset: offsets[room],
            incarnation: 0,
            shape: .json(0..<payload.count),
            name: "updated",
            from: nil,
            at: 1_700_000_000_000,
            isReplayed: false,
            tags: nil
        )
        return AppendRecord(
            room: snapshot.rooms[room],
            body: .event(event),
            position: Position(epoch: "bench", offset: offsets[room], incarnation: 0),
            route: snapshot.routes[0]
        )
    }

    func stop() {
        let loop = transport.loop
        dispatcher?.drain(within: .seconds(5)) { loop.stop() }
        loop.join()
        store.stop()
        queue.close()
    }

    /// What this process has used of the processor, in microseconds.
    static var cpuMicroseconds: Double {
        var use = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &use)
        let seconds = Double(use.ru_utime.tv_sec + use.ru_stime.tv_sec)
        return seconds * 1e6 + Double(use.ru_utime.tv_usec + use.ru_stime.tv_usec)
    }
}

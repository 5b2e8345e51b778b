internal import BridgeDelivery
internal import BridgeStore
internal import LocalHTTP
internal import RoomsRuntime

/// Asks the threads how they are doing, for the service manager and for operators.
///
/// Lives on the main loop. A thread that does not answer in time holds nothing up: what it said last counts.
final class StatusBoard {
    private let main: EventLoop
    private let servers: [(name: ByteString, url: String, intake: EventIntake)]
    private let store: Store
    private let dispatcher: Dispatcher
    private let startedAt = SystemClock.wallMilliseconds
    private var storeStatus: StoreStatus
    private var endpoints: [EndpointStatus] = []
    private var isStopping = false
    private var round = 0
    private var waiting: [(ServiceStatus) -> Void] = []
    private var missing: Set<String> = []

    private static let patience = Duration.seconds(2)

    init(
        main: EventLoop,
        servers: [(name: ByteString, url: String, intake: EventIntake)],
        store: Store,
        dispatcher: Dispatcher,
        maxSize: Int
    ) {
        self.main = main
        self.servers = servers
        self.store = store
        self.dispatcher = dispatcher
        storeStatus = StoreStatus(maxSize: maxSize)
    }

    func stop() {
        isStopping = true
    }

    var route: ControlServer.Route {
        ControlServer.Route(method: "GET", path: "/v1/status") { [unowned self] _ in
            HTTPResponse { [unowned self] done in collect { done(.json($0.json)) } }
        }
    }

    /// What is known without asking.
    var known: ServiceStatus {
        var store = storeStatus
        (store.waitingRows, store.waitingBytes) = (self.store.counts.waitingRows, self.store.counts.waitingBytes)
        return ServiceStatus(
            isStopping: isStopping,
            startedAt: startedAt,
            now: SystemClock.wallMilliseconds,
            servers: servers.map { ServiceStatus.Server(name: $0.name, url: $0.url, intake: $0.intake.report) },
            store: store,
            endpoints: endpoints,
            silent: missing.sorted()
        )
    }

    /// `done` is called on the main loop, within `patience`.
    func collect(_ done: @escaping (ServiceStatus) -> Void) {
        waiting.append(done)
        guard waiting.count == 1 else { return }
        round += 1
        missing = ["store-writer", "deliver-loop"]
        let (own, number, main) = (LoopBound(self, on: main), round, main)
        store.status { status in
            main.post { own.value.took(number, from: "store-writer") { $0.storeStatus = status } }
        }
        dispatcher.status { status in
            main.post { own.value.took(number, from: "deliver-loop") { $0.endpoints = status } }
        }
        main.schedule(after: Self.patience) { [weak self] in
            if let self, round == number { finish() }
        }
    }

    private func took(_ number: Int, from thread: String, _ change: (StatusBoard) -> Void) {
        change(self)
        guard number == round else { return }
        missing.remove(thread)
        if missing.isEmpty { finish() }
    }

    private func finish() {
        let (status, answers) = (known, waiting)
        waiting = []
        for answer in answers { answer(status) }
    }
}

internal import BridgeDelivery
internal import BridgeModel
internal import BridgeStore
internal import BridgeSystemd
internal import Glibc
internal import LocalHTTP
internal import Rooms
internal import RoomsRuntime
internal import RoomsTransport

/// The map of the system: what is there, how it is connected, and in which order it starts and ends.
///
///     server ── RoomsConnection ──▶ EventIntake ──▶ Store ──▶ Dispatcher ──▶ endpoint
///               (rooms-loop)                 (store-writer)  (deliver-loop)
///                                              ▲                  │
///                                              └── settlements ───┘
///
/// An event moves to the right only: the store commits it together with the room's position, then hands it to the
/// dispatcher, whose settlements let the store forget it. The daemon itself lives on the main thread, which is a loop
/// like the others.
final class Daemon {
    private let configuration: BridgeConfiguration
    private let reload: Reload
    private let stateDirectory: String
    private let controlSocket: ControlSocket
    private let secrets: SecretSource
    private let signals: SignalSource
    private let notifier: ServiceNotifier
    private let logger: Logger

    private let main = EventLoop(name: "main")
    private let roomsLoop = TransportLoop(name: "rooms-loop")
    private let deliverLoop = TransportLoop(name: "deliver-loop")
    private var intakes: [EventIntake] = []
    private var connections: [RoomsConnection] = []
    private var reports: [(name: ByteString, url: String, intake: EventIntake)] = []
    private var control: ControlServer?
    private var credentialWatch: CredentialWatch?
    /// Set by the store's thread, at the latest while it stops.
    private let storeFailure = Lock<StoreError?>(nil)
    private var isStopping = false
    /// Parts that have not said yet that they are done.
    private var awaited = 0
    private var reporter: ServiceReporter?

    /// For what is in flight at SIGTERM; with the last commit the end comes within 6 s.
    private static let drainLimit = Duration.seconds(5)

    init(
        configuration: BridgeConfiguration,
        reload: Reload,
        stateDirectory: String,
        control: ControlSocket,
        secrets: SecretSource,
        signals: SignalSource,
        notifier: ServiceNotifier,
        logger: Logger
    ) {
        self.configuration = configuration
        self.reload = reload
        self.stateDirectory = stateDirectory
        controlSocket = control
        self.secrets = secrets
        self.signals = signals
        self.notifier = notifier
        self.logger = logger
    }

    /// Starts everything, waits for the end, and stops everything.
    func run() -> ExitCode {
        do {
            let options = StoreOptions(directory: stateDirectory, maxSize: configuration.buffer.maxSize)
            let store = try Store.open(options, logger: logger) { [notifier] in notifier.extend() }
            try serve(store)
        } catch let error as StoreError {
            logger.error("the state cannot be used", LogField(.error, error.message))
            tellFailure(error)
            return Self.exitCode(error)
        } catch {
            logger.error("cannot start", LogField(.error, "\(error)"))
            return .configuration
        }
        guard let failure = storeFailure.withLock({ $0 }) else { return .success }
        tellFailure(failure)
        return Self.exitCode(failure)
    }

    /// The manager shows it beside the exit code.
    private func tellFailure(_ error: StoreError) {
        let number = error.systemError != 0 ? error.systemError : error.code == .locked ? EBUSY : EIO
        notifier.failed(error: number, status: error.message)
        notifier.flush(within: .milliseconds(300), barrier: true)
    }

    private static func exitCode(_ error: StoreError) -> ExitCode {
        ExitCode(rawValue: error.exitCode) ?? .inputOutput
    }

    private func serve(_ store: Store) throws {
        let plan = RoutePlan(configuration.rooms)
        let snapshot = try store.configure(
            rooms: configuration.rooms.map { RoomKey(server: configuration.servers[$0.server].key, room: $0.name) },
            endpoints: configuration.endpoints.map(\.name),
            losing: configuration.endpoints.map(\.lossRule),
            routes: plan.routes
        )
        let endpoints = try zip(configuration.endpoints, snapshot.endpoints).map {
            (id: $1, configuration: $0, credentials: try $0.credentials(secrets))
        }
        let dispatcher = Dispatcher(
            transport: deliverLoop,
            storeID: snapshot.storeID,
            endpoints: endpoints.map {
                var settings = $0.configuration.settings(id: $0.id, $0.credentials)
                settings.stream?.hasOneServer = configuration.servers.count == 1
                return settings
            },
            holds: snapshot.holds,
            lanes: snapshot.lanes,
            ports: DeliveryPorts(
                settle: { store.settle($0) },
                refill: { store.refill($0, $1) },
                hold: { store.hold($0, $1) },
                hasPlaceForDeadLetter: { store.hasPlaceForDeadLetter(of: $0) }
            ),
            logger: logger
        )
        dispatcher.lose(snapshot.losses)
        let listener = try listenForControl()
        for server in configuration.servers.indices { connect(server, plan, snapshot, store) }
        let board = StatusBoard(
            main: main,
            servers: reports,
            store: store,
            dispatcher: dispatcher,
            maxSize: configuration.buffer.maxSize
        )
        reporter = ServiceReporter(main: main, board: board, notifier: notifier, logger: logger)
        start(store, dispatcher)
        let daemon = LoopBound(self, on: main)
        main.post { daemon.value.serveControl(listener, store, snapshot.storeID) }
        main.post { daemon.value.watchCredentials(endpoints, dispatcher) }
        if store.isNew {
            logger.notice(
                "a new state directory: rooms begin where the configuration says",
                LogField(.path, stateDirectory)
            )
        }
        main.run()
        stop(store)
    }

    // MARK: start

    /// Makes the connection to one server and what it feeds.
    private func connect(_ server: Int, _ plan: RoutePlan, _ snapshot: StoreSnapshot, _ store: Store) {
        let own = configuration.rooms.indices.filter { configuration.rooms[$0].server == server }
        guard !own.isEmpty else { return }
        let key = configuration.servers[server].key
        let logger = logger.with(LogField(.server, key))
        let intake = EventIntake(
            rooms: own.map { index in
                EventIntake.Room(
                    id: snapshot.rooms[index],
                    name: configuration.rooms[index].name,
                    routes: plan.rooms[index],
                    endpoints: plan.endpoints(of: index).map { snapshot.endpoints[$0] },
                    isFresh: snapshot.positions[index] == nil
                )
            },
            routes: snapshot.routes,
            logger: logger,
            append: { store.append($0) }
        )
        let connection = RoomsConnection(
            transport: roomsLoop,
            options: configuration.servers[server].connectionOptions(
                secrets: secrets,
                hearing: Set(own.filter { plan.rooms[$0].hearsMembers }.map { configuration.rooms[$0].name }),
                logger: logger
            ),
            rooms: own.map { index in
                let room = configuration.rooms[index]
                let start: RoomStart =
                    snapshot.positions[index].map { .resume(RoomPosition($0)) }
                    ?? (room.start == .now ? .now : .earliest)
                let notices = plan.rooms[index].notices
                return RoomSpecification(
                    name: room.name,
                    start: start,
                    hearsMembers: notices[.member] != nil,
                    countsMembers: notices[.count] != nil
                )
            },
            sink: intake,
            logger: logger
        )
        intakes.append(intake)
        reports.append((key, configuration.servers[server].url.address, intake))
        connections.append(connection)
    }

    private func start(_ store: Store, _ dispatcher: Dispatcher) {
        let (intakes, connections, storeFailure) = (intakes, connections, storeFailure)
        let daemon = LoopBound(self, on: main)
        store.start(
            StorePorts(
                committed: { dispatcher.submit($0) },
                lost: { dispatcher.lose($0) },
                retried: { dispatcher.retry($0) },
                freed: { dispatcher.placeCame($0) },
                admission: { isAdmitted in
                    for intake in intakes { intake.admit(isAdmitted) }
                    if isAdmitted { for connection in connections { connection.resumeIntake() } }
                },
                crowded: { endpoint, isCrowded in
                    for (intake, connection) in zip(intakes, connections) {
                        for change in intake.endpoint(endpoint, isCrowded: isCrowded) {
                            connection.rest(change.room, change.isResting)
                        }
                    }
                },
                failed: { [main] error in
                    // It logged why; whoever starts us next finds what was committed.
                    storeFailure.withLock { $0 = error }
                    main.post { daemon.value.leave() }
                }
            )
        )
        deliverLoop.loop.start()
        dispatcher.start()
        roomsLoop.loop.start()
        for connection in connections { connection.start() }
        main.post {
            daemon.value.watchSignals(dispatcher)
            daemon.value.reporter?.start(daemon.value.watchedParts(store))
        }
        logger.notice(
            "started",
            LogField(.version, Version.number),
            LogField(.path, stateDirectory),
            LogField(.rooms, configuration.rooms.count)
        )
        reporter?.ready()
    }

    // MARK: while it runs, on the main loop

    private func watchSignals(_ dispatcher: Dispatcher) {
        main.watch(signals.descriptor, for: .readable) { [unowned self] _ in
            while let number = signals.next() {
                if number == SIGHUP, !reload.endsWithTerminal {
                    reloadConfiguration()
                } else {
                    terminate(number, dispatcher)
                }
            }
        }
    }

    /// An operator who asks for a socket gets it, or a service that does not start; without one that goes on.
    private func listenForControl() throws(StoreError) -> UnixListener? {
        do throws(ListenError) {
            return try controlSocket.listen()
        } catch {
            if case .path = controlSocket { throw StoreError(code: .cannotCreate, message: error.message) }
            logger.error("commands cannot reach this service", LogField(.error, error.message))
            return nil
        }
    }

    private func serveControl(_ listener: UnixListener?, _ store: Store, _ storeID: ByteString) {
        guard let listener, !isStopping else { return }
        let letters = DeadLetterRoutes(store: store, text: DeliveryText(storeID: storeID), loop: main)
        let routes = letters.routes + (reporter.map { [$0.route] } ?? [])
        let server = ControlServer(loop: main, path: controlSocket.file, routes: routes)
        do throws(ListenError) {
            try server.start(listener)
            control = server
        } catch {
            logger.error("commands cannot reach this service", LogField(.error, error.message))
        }
    }

    private func watchCredentials(
        _ endpoints: [(id: EndpointID, configuration: EndpointConfiguration, credentials: EndpointCredentials)],
        _ dispatcher: Dispatcher
    ) {
        guard !isStopping else { return }
        let watch = CredentialWatch(endpoints, secrets: secrets, loop: main, logger: logger) {
            dispatcher.renew($0, of: $1)
        }
        watch.start()
        credentialWatch = watch
    }

    /// The threads that the watchdog looks after, and how long each may be busy with one thing.
    private func watchedParts(_ store: Store) -> [Watchdog.Part] {
        [
            Watchdog.Part(loop: main, budget: .seconds(5)),
            Watchdog.Part(loop: roomsLoop.loop, budget: .seconds(2)),
            Watchdog.Part(loop: deliverLoop.loop, budget: .seconds(2)),
            Watchdog.Part(loop: store.loop, budget: .seconds(10)),
        ]
    }

    private func reloadConfiguration() {
        guard !isStopping else { return }
        notifier.reloading(status: "looks at the configuration")
        reload.run(logger)
        reporter?.ready()
    }

    // MARK: the end, on the main loop

    /// Stops taking in, lets deliveries finish for a while; `stop` commits what came of it.
    private func terminate(_ signal: CInt, _ dispatcher: Dispatcher) {
        guard !isStopping else {
            logger.warning("a second signal: ends without waiting", LogField(.signal, SignalSource.name(of: signal)))
            return leave()
        }
        isStopping = true
        reporter?.stop()
        logger.notice("stopping", LogField(.signal, SignalSource.name(of: signal)))
        awaited = connections.count + 1
        let daemon = LoopBound(self, on: main)
        let isDone: @Sendable () -> Void = { daemon.loop.post { daemon.value.partIsDone() } }
        for connection in connections { connection.stop(isDone) }
        dispatcher.drain(within: Self.drainLimit, isDone)
        notifier.stopping(status: "finishing deliveries that are in flight")
        main.schedule(after: Self.drainLimit + .milliseconds(200)) { [unowned self] in leave() }
    }

    private func partIsDone() {
        awaited -= 1
        if awaited == 0 { leave() }
    }

    /// Ends the main loop.
    private func leave() {
        control?.stop()
        credentialWatch?.stop()
        main.stop()
    }

    /// Reverse order of the start.
    private func stop(_ store: Store) {
        // From here on a signal ends the process at once: what is committed is safe.
        signals.release()
        roomsLoop.loop.stop()
        roomsLoop.loop.join()
        store.stop()
        deliverLoop.loop.stop()
        deliverLoop.loop.join()
        logger.notice("stopped")
        notifier.flush(within: .milliseconds(200))
    }
}

internal import BridgeDelivery
internal import BridgeSystemd
internal import RoomsRuntime

/// What the service manager and the journal hear of the service while it runs: its line in `systemctl status`, the threads'
/// signs of life, and what lasts too long.
///
/// Belongs to the main loop.
final class ServiceReporter {
    private static let interval = Duration.seconds(2)
    /// Where nobody reads the line.
    private static let quietInterval = Duration.seconds(60)

    private let main: EventLoop
    private let board: StatusBoard
    private let notifier: ServiceNotifier
    private let logger: Logger
    private var watchdog: Watchdog?
    private var longHolds = LongHolds()
    /// What the service manager was told last.
    private var told = ""
    private var isOver = false

    init(main: EventLoop, board: StatusBoard, notifier: ServiceNotifier, logger: Logger) {
        self.main = main
        self.board = board
        self.notifier = notifier
        self.logger = logger
    }

    /// Of the status, for the control socket.
    var route: ControlServer.Route { board.route }

    func start(_ parts: [Watchdog.Part]) {
        if let interval = notifier.watchdogInterval {
            let watchdog = Watchdog(
                main: main,
                parts: parts,
                interval: interval,
                logger: logger,
                alive: { [notifier] in notifier.alive() }
            )
            self.watchdog = watchdog
            watchdog.start()
        }
        report()
    }

    /// The start or a reload is over.
    func ready() {
        tell { notifier.ready(status: $0) }
    }

    /// The end has begun: there is nothing more to say.
    func stop() {
        isOver = true
        board.stop()
    }

    /// Comes again and again.
    private func report() {
        main.schedule(after: notifier.isSupervised ? Self.interval : Self.quietInterval) { [unowned self] in
            guard !isOver else { return }
            board.collect { [unowned self] status in
                if !isOver {
                    if status.line != told { tell { notifier.status($0) } }
                    tellLongHolds(status)
                }
                report()
            }
        }
    }

    private func tell(_ say: (String) -> Void) {
        told = board.known.line
        say(told)
    }

    private func tellLongHolds(_ status: ServiceStatus) {
        for endpoint in longHolds.update(status.endpoints, now: status.now) {
            logger.error(
                "an endpoint has not been well for a long time: somebody should look after it",
                LogField(.endpoint, endpoint.name),
                LogField(.error, endpoint.refusal?.reason ?? ""),
                LogField(.lasted, .milliseconds(status.now - (endpoint.hold?.since ?? status.now)))
            )
        }
    }
}

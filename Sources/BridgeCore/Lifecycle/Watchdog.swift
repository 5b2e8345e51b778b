internal import BridgeSystemd
internal import RoomsRuntime

/// Feeds the service manager's watchdog for as long as every thread makes progress.
///
/// It asks each loop for an answer, which comes behind the timers and jobs that are due there. A round in which all of them
/// answered within their budgets is a sign of life; one with a late answer is not, and the next begins at once. A server
/// that is away or an endpoint that hangs is no lack of progress: nobody waits for them on a loop.
///
/// Lives on the main loop, which is one of those that are asked.
final class Watchdog {
    struct Part {
        let loop: EventLoop
        /// The longest time that an answer may take.
        let budget: Duration
    }

    private let main: EventLoop
    private let parts: [Part]
    private let interval: Duration
    private let alive: () -> Void
    private let logger: Logger
    private var round = 0
    private var began = Instant.distantFuture
    private var missing: Set<Int> = []
    private var isLate = false
    private var isReported = false

    /// `interval`: from one round to the next; a third of what the manager waits, and at most 10 s.
    init(
        main: EventLoop,
        parts: [Part],
        interval: Duration,
        logger: Logger,
        alive: @escaping () -> Void
    ) {
        self.main = main
        self.parts = parts
        self.interval = min(.seconds(10), interval / 3)
        self.alive = alive
        self.logger = logger
    }

    func start() {
        begin()
        tick()
    }

    private func tick() {
        main.schedule(after: interval) { [weak self] in
            guard let self else { return }
            if missing.isEmpty { begin() } else { report() }
            tick()
        }
    }

    private func begin() {
        round += 1
        began = SystemClock.now
        missing = Set(parts.indices)
        (isLate, isReported) = (false, false)
        let (own, number, main) = (LoopBound(self, on: main), round, main)
        for (index, part) in parts.enumerated() {
            part.loop.post {
                let time = SystemClock.now
                main.post { own.value.answered(index, number, at: time) }
            }
        }
    }

    private func answered(_ index: Int, _ number: Int, at time: Instant) {
        guard number == round, missing.remove(index) != nil else { return }
        let length = time - began
        if length > parts[index].budget {
            isLate = true
            logger.warning(
                "a thread was slow",
                LogField(.thread, parts[index].loop.name),
                LogField(.wait, length)
            )
        }
        guard missing.isEmpty else { return }
        if isLate { begin() } else { alive() }
    }

    /// Once for each round that does not end.
    private func report() {
        guard !isReported else { return }
        isReported = true
        for index in missing.sorted() {
            logger.error(
                "a thread makes no progress: the service manager will start the service anew",
                LogField(.thread, parts[index].loop.name),
                LogField(.wait, SystemClock.now - began)
            )
        }
    }
}

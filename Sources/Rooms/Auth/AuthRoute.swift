package import RoomsRuntime
package import RoomsTransport

/// Asks the auth route for tokens and keeps them, for all connections of one user.
///
/// On the loop of `transport`. Errors are those of design section 5: a room's own ones as the route tells them,
/// `unauthorized` when it does not know the user, `unavailable` for everything that may pass.
package final class AuthRoute {
    /// A request on its way: first its headers are asked for, then it is sent.
    private struct Flight {
        var task: Task<Void, Never>?
        var timer: TimerID?
        var work: PendingWork?
    }

    /// What the task of a header supply may hold on to.
    private final class WeakRoute {
        weak var route: AuthRoute?
    }

    private let transport: TransportLoop
    private let options: AuthOptions
    private let logger: Logger
    private var machine: AuthStateMachine
    private var clock = ClockComparison()
    private var answered: [TokenRequestID: (TokenAnswer) -> Void] = [:]
    private var flights: [UInt64: Flight] = [:]
    private var timer: TimerID?
    private var timerAt = Instant.distantFuture

    package init(transport: TransportLoop, options: AuthOptions, logger: Logger) {
        self.transport = transport
        self.options = options
        self.logger = logger
        machine = AuthStateMachine(options)
    }

    deinit {
        for flight in flights.values {
            flight.task?.cancel()
            if transport.loop.isOnLoop { letGo(flight) }
        }
    }

    // MARK: tokens

    /// Asks for what a connection needs.
    ///
    /// `answered` is called on the loop, never before this returns, and as often as something has come, until each room
    /// and the connection were answered once. The connection needs no token where all `rooms` have grants and none was
    /// given or fetched before: so ask for it again when a room without a grant is joined on an anonymous connection.
    package func request(
        connection: Bool,
        rooms: [ByteString],
        _ answered: @escaping (TokenAnswer) -> Void
    ) -> TokenRequestID {
        var turn = beginTurn()
        let id = machine.request(connection: connection, rooms: rooms, &turn)
        self.answered[id] = answered
        finish(turn)
        return id
    }

    /// Nothing more of that request is wanted; an answer that is on its way counts for nothing.
    package func cancel(_ request: TokenRequestID) {
        guard answered.removeValue(forKey: request) != nil else { return }
        run { $0.cancel(request, &$1) }
    }

    /// What is at hand, without asking; nil: `request` brings it.
    package func grant(for subject: TokenSubject) -> Grant? {
        machine.grant(for: subject, beginTurn())
    }

    /// The server told that what it was given is renewed after `time`: 10 minutes before it ends, or at half its life.
    package func learned(renewalAfter time: Duration, of subject: TokenSubject) {
        run { $0.learned(renewalAfter: time, of: subject, $1) }
    }

    /// The server does not take the token any more: the next request brings another one.
    package func forget(_ subject: TokenSubject) {
        machine.forget(subject)
    }

    // MARK: turns

    private func beginTurn() -> AuthTurn {
        transport.loop.preconditionOnLoop()
        return AuthTurn(now: SystemClock.now, wall: SystemClock.wallMilliseconds) {
            var generator = SystemRandomNumberGenerator()
            return generator.next()
        }
    }

    private func run(_ event: (inout AuthStateMachine, inout AuthTurn) -> Void) {
        var turn = beginTurn()
        event(&machine, &turn)
        finish(turn)
    }

    private func finish(_ turn: AuthTurn) {
        for line in turn.lines { logger.log(line.level, line.message, line.fields) }
        for action in turn.actions {
            switch action {
            case .send(let number, let request): send(request, number)
            case .abort(let number): if let flight = flights.removeValue(forKey: number) { letGo(flight) }
            case .answer(let id, let answer, let isLast): hand(answer, to: id, isLast: isLast)
            }
        }
        schedule()
    }

    /// In a turn of its own, so that who asks has finished asking.
    private func hand(_ answer: TokenAnswer, to id: TokenRequestID, isLast: Bool) {
        transport.loop.schedule(after: .zero) { [weak self] in
            guard let self, let answered = isLast ? answered.removeValue(forKey: id) : answered[id] else { return }
            answered(answer)
        }
    }

    private func schedule() {
        let wanted = machine.wakeAt
        guard wanted != timerAt else { return }
        if let timer { transport.loop.cancel(timer) }
        (timer, timerAt) = (nil, wanted)
        guard wanted != .distantFuture else { return }
        timer = transport.loop.schedule(at: wanted) { [weak self] in
            guard let self else { return }
            (timer, timerAt) = (nil, .distantFuture)
            run { $0.tick(&$1) }
        }
    }

    // MARK: flights

    private func send(_ request: AuthRequest, _ number: UInt64) {
        switch options.headers {
        case .fixed(let headers):
            flights[number] = Flight()
            transfer(request, headers, number)
        case .asked(let supply):
            let route = WeakRoute()
            route.route = self
            let (loop, bound) = (transport.loop, LoopBound(route, on: transport.loop))
            let task = Self.ask(supply) { headers in
                loop.post { bound.value.route?.supplied(headers, request, number) }
            }
            let timer = loop.schedule(after: options.policy.timeout) { [weak self] in
                let error = RoomError(.unavailable, "the headers for the auth route were not supplied in time")
                self?.supplied(.failure(error), request, number)
            }
            flights[number] = Flight(task: task, timer: timer)
        }
    }

    /// The one task of the library: an app's async closure runs nowhere else; the flight owns it.
    private static func ask(
        _ supply: @escaping @Sendable () async throws -> [HTTPHeader],
        _ done: @escaping @Sendable (Result<[HTTPHeader], RoomError>) -> Void
    ) -> Task<Void, Never> {
        let run: @concurrent @Sendable () async -> Void = {
            do {
                done(.success(try await supply()))
            } catch {
                // An app's own error may say anything, also what must not be told.
                let message = "the headers for the auth route could not be supplied (\(type(of: error)))"
                done(.failure(RoomError(.unavailable, message)))
            }
        }
        return Task(operation: run)
    }

    private func supplied(_ headers: Result<[HTTPHeader], RoomError>, _ request: AuthRequest, _ number: UInt64) {
        guard let flight = flights[number], flight.task != nil else { return }
        letGo(flight)
        flights[number] = Flight()
        switch headers {
        case .success(let headers): transfer(request, headers, number)
        case .failure(let error): finished(.failed(error, pause: nil), number)
        }
    }

    private func transfer(_ request: AuthRequest, _ headers: [HTTPHeader], _ number: UInt64) {
        guard let url = options.url else { return }
        let json = Secret("application/json")
        let own = [HTTPHeader(name: "content-type", value: json), HTTPHeader(name: "accept", value: json)]
        var transfer = TransferRequest(.post, url, headers: own + headers.filter { !Self.isOwn($0.name) })
        transfer.body = request.body
        transfer.tls = options.tls
        transfer.proxy = options.proxy
        transfer.timeout = options.policy.timeout
        transfer.connectTimeout = options.policy.connectTimeout
        transfer.maxBody = options.policy.maxAnswer
        let maxToken = options.policy.maxToken
        flights[number]?.work = transport.transfer(transfer) { [weak self] result in
            if case .success(let answer) = result, let date = answer.date { self?.compareClocks(date) }
            self?.finished(AuthOutcome(result, to: request, maxToken: maxToken), number)
        }
    }

    /// `date`: the route's, in seconds since 1970.
    private func compareClocks(_ date: Int64) {
        let time = date.multipliedReportingOverflow(by: 1_000).partialValue
        guard let fields = clock.compare(own: SystemClock.wallMilliseconds, other: time) else { return }
        logger.log(.warning, ClockComparison.message, fields)
    }

    /// An app need not say what is always so, and cannot say otherwise.
    private static func isOwn(_ name: ByteString) -> Bool {
        ["content-type", "accept"].contains { own in
            own.utf8.elementsEqual(name.bytes.map { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 ? $0 | 0x20 : $0 })
        }
    }

    private func finished(_ outcome: AuthOutcome, _ number: UInt64) {
        guard flights.removeValue(forKey: number) != nil else { return }
        run { $0.finished(flight: number, outcome, &$1) }
    }

    private func letGo(_ flight: Flight) {
        flight.task?.cancel()
        if let timer = flight.timer { transport.loop.cancel(timer) }
        flight.work?.cancel()
    }
}

internal import RoomsRuntime
internal import RoomsTransport
internal import RoomsWire

/// Performs what the connection machine decides: sockets, timers, the sink, the log.
///
/// On its loop's thread.
final class ConnectionDriver {
    /// Servers refuse frames above 64 KiB.
    private static let frameSize = 64 * 1024
    /// Wall time is looked at this often, to notice that the machine slept.
    private static let longestWait = Duration.seconds(30)

    private let transport: TransportLoop
    private let options: ConnectionOptions
    private let take: ([SinkItem]) -> Intake
    private let logger: Logger
    private var machine: ConnectionStateMachine
    private let history: HistoryDesk?

    private var stream: WebSocketStream?
    private var streamGeneration: UInt64 = 0
    /// What the socket had brought when last looked at.
    private var receivedBytes = 0
    /// Sockets whose close is under way, by generation.
    private var closing: [UInt64: WebSocketStream] = [:]
    /// The turn of the frames that were read so far.
    private var receiving: Turn?
    private var timer: TimerID?
    private var timerAt = Instant.distantFuture
    private var whenClosed: [() -> Void] = []

    /// `take` gets the items on the loop, once for all that one read or event brought, and says whether more may be read.
    init(
        transport: TransportLoop,
        options: ConnectionOptions,
        rooms: [RoomSpecification],
        logger: Logger,
        take: @escaping ([SinkItem]) -> Intake
    ) {
        self.transport = transport
        self.options = options
        self.take = take
        self.logger = logger
        history = options.history.map { HistoryDesk($0, transport: transport) }
        var policy = options.policy
        policy.hasHistoryAPI = history != nil
        machine = ConnectionStateMachine(policy: policy, rooms: rooms)
    }

    var tally: Tally { machine.tally }
    /// Our id on the present connection; empty while there is none.
    var client: ByteString { machine.client }

    func start() {
        run { $0.start(&$1) }
    }

    func resumeIntake() {
        run { $0.intakeResumed(&$1) }
    }

    /// Between two attempts.
    var isWaiting: Bool { machine.isWaiting }

    func add(_ specification: RoomSpecification) -> Int {
        run { $0.add(specification, &$1) }
    }

    func remove(_ room: Int) {
        run { $0.remove(room, &$1) }
    }

    func rest(_ room: Int, _ isResting: Bool) {
        run { $0.rest(room, isResting, &$1) }
    }

    func tokensArrived() {
        run { $0.tokensArrived(&$1) }
    }

    func reconnect() {
        run { $0.reconnect(&$1) }
    }

    func ask(_ request: AppRequest) {
        run { $0.ask(request, &$1) }
    }

    func stop(_ done: @escaping () -> Void) {
        run { $0.stop(&$1) }
        whenClosed.append(done)
        guard !closing.isEmpty else { return allClosed() }
        transport.loop.schedule(after: .seconds(1)) { [self] in
            for stream in closing.values { stream.cancel() }
            closing = [:]
            allClosed()
        }
    }

    private func allClosed() {
        let waiting = whenClosed
        whenClosed = []
        for done in waiting { done() }
    }

    // MARK: turns

    private func beginTurn() -> Turn {
        Turn(now: SystemClock.now, wall: SystemClock.wallMilliseconds) {
            var generator = SystemRandomNumberGenerator()
            return generator.next()
        }
    }

    private func run<Result>(_ event: (inout ConnectionStateMachine, inout Turn) -> Result) -> Result {
        var turn = beginTurn()
        let result = event(&machine, &turn)
        finish(turn)
        return result
    }

    /// Events first, so that nothing is acknowledged or asked for before the sink has them.
    private func finish(_ turn: consuming Turn) {
        while !turn.items.isEmpty {
            let items = turn.items
            turn.items = []
            if take(items) == .paused { machine.intakePaused(&turn) }
        }
        for line in turn.lines { logger.log(line.level, line.message, line.fields) }
        for action in turn.actions { perform(action) }
        send(turn.commands)
        schedule(turn.now)
    }

    private func perform(_ action: ConnectionAction) {
        switch action {
        case .dial(let generation): dial(generation)
        case .close(let code, let reason):
            history?.cancel()
            guard let stream else { return }
            self.stream = nil
            closing[streamGeneration] = stream
            stream.close(code: code, reason: ByteString(reason.rawValue))
        case .ask(let question):
            history?.ask(question) { [weak self] outcome in
                self?.run { $0.apiAnswered(question, outcome, &$1) }
            }
        case .pauseReading: stream?.pauseReading()
        case .resumeReading: stream?.resumeReading()
        }
    }

    private func send(_ commands: [Command]) {
        guard let stream, !commands.isEmpty else { return }
        var frame: [UInt8] = []
        var isWhole = 0
        for command in commands {
            ProtobufCodec.encode(command, into: &frame)
            if frame.count > Self.frameSize, isWhole > 0 {
                stream.send(Array(frame[..<isWhole]))
                frame.removeFirst(isWhole)
            }
            isWhole = frame.count
        }
        if !frame.isEmpty { stream.send(frame) }
    }

    private func schedule(_ now: Instant) {
        let wanted = machine.state == .stopped ? .distantFuture : min(machine.wakeAt, now + Self.longestWait)
        guard wanted < timerAt else { return }
        if let timer { transport.loop.cancel(timer) }
        timerAt = wanted
        timer = transport.loop.schedule(at: wanted) { [weak self] in
            guard let self else { return }
            timer = nil
            timerAt = .distantFuture
            tick()
        }
    }

    private func tick() {
        let received = stream?.receivedBytes ?? 0
        if received != receivedBytes { machine.bytesArrived(at: SystemClock.now) }
        receivedBytes = received
        run { $0.tick(&$1) }
    }

    // MARK: the socket

    private func dial(_ generation: UInt64) {
        var webSocket = options.webSocket
        webSocket.subprotocol = "centrifuge-protobuf"
        if let currentTLS = options.currentTLS { webSocket.tls = currentTLS() }
        streamGeneration = generation
        stream = WebSocketStream(
            loop: transport,
            url: options.url,
            options: webSocket,
            handlers: WebSocketStream.Handlers(
                onOpen: { [weak self] in
                    let date = self?.stream?.serverDate
                    self?.run { $0.opened(generation: generation, date: date, &$1) }
                },
                onMessage: { [weak self] in self?.received($0, generation) },
                onMessagesRead: { [weak self] in self?.endReceiving() },
                onEnd: { [weak self] in self?.ended($0, generation) }
            )
        )
    }

    private func received(_ frame: UnsafeRawBufferPointer, _ generation: UInt64) {
        var turn = receiving.take() ?? beginTurn()
        Self.decode(frame, generation, into: &machine, &turn)
        receiving = turn
    }

    private static func decode(
        _ frame: UnsafeRawBufferPointer,
        _ generation: UInt64,
        into machine: inout ConnectionStateMachine,
        _ turn: inout Turn
    ) {
        guard machine.frameBegan(generation: generation, &turn) else { return }
        do throws(WireError) {
            try ProtobufCodec.decodeIncoming(frame) { incoming in
                switch incoming {
                case .publication(let publication, let channel): machine.receive(publication, in: channel, &turn)
                case .reply(let reply): machine.receive(reply, &turn)
                }
            }
        } catch {
            machine.undecodable(ByteString("\(error)"), generation: generation, &turn)
        }
    }

    /// All frames of one read are one turn.
    private func endReceiving() {
        guard var turn = receiving.take() else { return }
        machine.settle(&turn)
        finish(turn)
    }

    private func ended(_ end: WebSocketEnd, _ generation: UInt64) {
        if closing.removeValue(forKey: generation) != nil {
            if closing.isEmpty { allClosed() }
            return
        }
        guard generation == streamGeneration else { return }
        stream = nil
        history?.cancel()
        run { $0.ended(ConnectionEnd(end), generation: generation, &$1) }
    }
}

extension ConnectionEnd {
    init(_ end: WebSocketEnd) {
        switch end {
        case .closed(let code, let reason): self = .closed(code: code, reason: reason)
        case .refused(let status): self = .refused(status: status)
        case .failed(let error):
            let reason = ByteString(error.message)
            switch error.code {
            case .wrongSubprotocol: self = .foreignProtocol(reason: reason)
            case .messageTooLarge: self = .tooLarge(reason: reason)
            case .protocolViolation: self = .undecodable(reason: reason)
            case .invalidTarget: self = .impossible(reason: reason)
            default: self = .lost(reason: reason)
            }
        }
    }
}

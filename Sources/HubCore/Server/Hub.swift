internal import LocalHTTP
internal import RoomsRuntime
internal import RoomsWebSocket
internal import RoomsWire

/// Everything that lives on the hub's loop: rooms, listening servers, connections.
final class Hub {
    static let webSocketPath = ByteString("/connection/websocket")
    private static let sweepInterval = Duration.seconds(1)
    /// The whole of a stop is to take less than a second.
    private static let stopDelay = Duration.milliseconds(700)
    /// So many things gone at once leave memory that the kernel may have back.
    private static let worthReturning = 100

    private let loop: EventLoop
    let state: HubState
    private let key: Secret
    private let auth: DemoAuth?
    private let origins: OriginRule
    private let logger: Logger
    private let startedAt = SystemClock.now
    private let nodeID = UniqueID.make()

    private(set) var listeners: [HubListener] = []
    private(set) var connections: [ObjectIdentifier: HubConnection] = [:]
    /// What is wrong with the links of connections that are yet to come.
    var standingFaults: [(target: Fault.Target, change: LinkChange)] = []
    private var faultServer: HTTPServer?
    private var dirty: [HubConnection] = []
    /// Kept until the turn is over, because their own handlers may be running.
    private var ended: [HubConnection] = []
    /// Publications that are gone since memory was last given back, and as many for a connection as are worth it.
    private var goneSinceTrim = 0
    private var readBuffer = [UInt8](repeating: 0, count: 64 << 10)
    private var isStopping = false
    private var whenStopped: (() -> Void)?

    init(_ configuration: HubConfiguration, loop: EventLoop, logger: Logger) {
        self.loop = loop
        self.logger = logger
        state = HubState(
            registry: RoomRegistry(rules: configuration.rooms),
            verifier: TokenVerifier(secret: configuration.tokenSecret),
            settings: configuration.session
        )
        key = configuration.apiKey
        let tokenKey = TokenKey(configuration.tokenSecret)
        auth = configuration.auth.map { [state] in DemoAuth($0, key: tokenKey, registry: state.registry) }
        origins = OriginRule(configuration.origins)
    }

    // MARK: life

    /// `faults` is where faults are asked for.
    func start(_ listeners: [Listener], faults: Listener?) {
        loop.onTurnEnd { [unowned self] in turnEnded() }
        let api = ServerAPI(state, key: key) { [unowned self] in facts }
        for listener in listeners {
            attempt(listener) { () throws(ListenError) in
                self.listeners.append(
                    try HubListener(listener, loop: loop) { [unowned self] in answer($0, api, on: $1) }
                )
            }
        }
        if let faults {
            let control = FaultControl(self)
            let server = HTTPServer(loop: loop, settings: FaultControl.settings) { control.answer($0) }
            faultServer = server
            attempt(faults) { () throws(ListenError) in try server.start(faults) }
        }
        sweep()
    }

    private func attempt(_ listener: Listener, _ start: () throws(ListenError) -> Void) {
        do throws(ListenError) {
            try start()
        } catch {
            logger.error("cannot listen", LogField(.address, listener.description), LogField(.error, error.message))
        }
    }

    /// Closes all connections with 3001 and calls `done` when their peers have answered, at the latest after `stopDelay`.
    func stop(_ done: @escaping () -> Void) {
        guard !isStopping else { return }
        isStopping = true
        whenStopped = done
        for connection in connections.values {
            connection.resume()
            connection.session.end(.shutdown)
        }
        loop.schedule(after: Self.stopDelay) { [unowned self] in finishStop() }
    }

    private func finishStop() {
        guard let done = whenStopped else { return }
        whenStopped = nil
        for connection in Array(connections.values) { connection.cut() }
        for listener in listeners { listener.stop() }
        listeners = []
        faultServer?.stop()
        faultServer = nil
        done()
    }

    private func sweep() {
        for listener in listeners { listener.sweep() }
        goneSinceTrim += state.registry.sweep(at: SystemClock.now)
        if goneSinceTrim >= Self.worthReturning {
            goneSinceTrim = 0
            ProcessSettings.returnFreeMemory()
        }
        loop.schedule(after: Self.sweepInterval) { [unowned self] in sweep() }
    }

    // MARK: HTTP

    private func answer(_ request: HTTPRequest, _ api: ServerAPI, on listener: HubListener) -> HTTPResponse {
        if request.path == Self.webSocketPath { return upgrade(request, on: listener) }
        if let answer = auth?.answer(request, at: .now) { return answer }
        if request.path.hasPrefix(ServerAPI.prefix) { return api.answer(request, at: .now) }
        return .text("404 page not found\n", status: 404)
    }

    private func upgrade(_ request: HTTPRequest, on listener: HubListener) -> HTTPResponse {
        let wanted = { (name: ByteString, token: ByteString) in
            request.list(name).contains { HTTPRequest.lowercased($0) == token }
        }
        guard request.method == "GET", wanted("upgrade", "websocket"), wanted("connection", "upgrade"),
            request.header("sec-websocket-version") == "13", let key = request.header("sec-websocket-key")
        else { return .text("Bad Request\n", status: 400) }
        if let origin = request.header("origin"), !origins.admits(origin) {
            return .text("Forbidden\n", status: 403)
        }
        if state.answerFaults != nil, let status = state.takeUpgradeFault(on: listener) {
            return .text("\(status), as was asked for\n", status: status)
        }
        let (format, isOffered) = Self.format(of: request)
        var headers = [(name: ByteString("Sec-WebSocket-Accept"), value: WebSocketHandshake.acceptValue(for: key))]
        if isOffered { headers.append(("Sec-WebSocket-Protocol", format.subprotocol)) }
        return HTTPResponse(upgradeTo: "websocket", headers: headers) { [unowned self] socket in
            accept(socket, format, on: listener)
        }
    }

    /// The first format that the client offers and we know, or what the URL says; without either it is JSON.
    private static func format(of request: HTTPRequest) -> (WireFormat, isOffered: Bool) {
        for offer in request.list("sec-websocket-protocol") {
            if offer == WireFormat.json.subprotocol { return (.json, true) }
            if offer == WireFormat.protobuf.subprotocol { return (.protobuf, true) }
        }
        let isNamed = request.parameter("format") == "protobuf" || request.parameter("cf_protocol") == "protobuf"
        return (isNamed ? .protobuf : .json, false)
    }

    private func accept(_ socket: UpgradedSocket, _ format: WireFormat, on listener: HubListener) {
        guard !isStopping else { return socket.close() }
        let session = HubSession(state, format: format, at: .now)
        let connection = HubConnection(socket: socket, session: session, listener: listener, loop: loop, hub: self)
        connections[ObjectIdentifier(connection)] = connection
        if !standingFaults.isEmpty { applyStandingFaults(to: connection) }
        connection.start()
    }

    private var facts: NodeFacts {
        NodeFacts(
            id: nodeID,
            clients: state.directory.count,
            users: state.directory.userCount,
            subscriptions: state.directory.sessions.reduce(0) { $0 + $1.subscriptions.count },
            rooms: state.registry.rooms.values.count { !$0.members.isEmpty },
            uptime: SystemClock.now - startedAt
        )
    }

    // MARK: called by connections

    func withReadBuffer(_ body: (UnsafeMutableRawBufferPointer) -> Void) {
        readBuffer.withUnsafeMutableBytes(body)
    }

    func turnEnds(for connection: HubConnection) {
        dirty.append(connection)
    }

    func ended(_ connection: HubConnection) {
        connections[ObjectIdentifier(connection)] = nil
        ended.append(connection)
        // It may have held as much as its queue may.
        goneSinceTrim += Self.worthReturning
    }

    private func turnEnded() {
        while !dirty.isEmpty {
            let batch = dirty
            dirty.removeAll(keepingCapacity: true)
            for connection in batch { connection.settle() }
        }
        ended.removeAll()
        if isStopping, connections.isEmpty { finishStop() }
    }
}

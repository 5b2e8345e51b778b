internal import BridgeTestSupport
internal import RoomsRuntime
internal import RoomsWebSocket
internal import RoomsWire

/// A realtime server inside the test that does one thing wrong.
final class ScriptedServer: Sendable {
    enum Script: Sendable {
        /// Nothing wrong: a small but honest server.
        case honest
        /// Answers the upgrade with this status.
        case refuse(Int)
        /// Ends every connection with this code as soon as the client has said hello.
        case close(UInt16, String)
        /// Takes the upgrade but chooses no subprotocol, and speaks JSON.
        case json
        /// Sends bytes that mean nothing.
        case rubbish
        /// Hangs up after each subscribe reply that brings missed publications, as a full queue does.
        case closeAfterRecovery
        /// Keeps the publications of these offsets to itself, and says that nothing is missing.
        case hide(Set<UInt64>)
        /// Hangs up in place of each answer that has the publication of this offset, as if it did not fit the link.
        case choke(UInt64)

        func hides(_ offset: UInt64) -> Bool {
            if case .hide(let offsets) = self { return offsets.contains(offset) }
            return false
        }

        func chokes(_ publications: [Publication]) -> Bool {
            if case .choke(let offset) = self { return publications.contains { $0.offset == offset } }
            return false
        }
    }

    struct State: Sendable {
        var script: Script
        var streams: [ByteString: ScriptedStream] = [:]
        var connections = 0
        var open = 0
        var recoveries = 0
        var joined: Set<ByteString> = []
        var closes: [UInt16] = []
        var resumed: [StreamPosition] = []
    }

    private let held: HeldPort
    private let loop: EventLoop
    private let state: Lock<State>
    private let server: LoopBound<ScriptedConnections>

    /// `first`: how many publications each stream had before, which nobody can have any more.
    init(_ script: Script, epoch: ByteString = "scripted", first: UInt64 = 0) throws {
        held = try HeldPort()
        let loop = EventLoop(name: "test-server")
        let state = Lock(State(script: script))
        self.loop = loop
        self.state = state
        server = LoopBound(ScriptedConnections(on: loop, state, ScriptedStream(epoch: epoch, first: first)), on: loop)
        loop.start()
        let server = server
        let descriptor = SocketAddress.loopback(port: held.number).listen()
        loop.post { server.value.listen(descriptor) }
    }

    deinit {
        let server = server
        loop.post { server.value.close() }
        loop.stop()
        loop.join()
    }

    var url: String { "ws://127.0.0.1:\(held.number)/connection/websocket" }
    var connections: Int { state.withLock { $0.connections } }
    var openConnections: Int { state.withLock { $0.open } }
    var recoveries: Int { state.withLock { $0.recoveries } }
    /// The codes that clients closed with.
    var closes: [UInt16] { state.withLock { $0.closes } }
    /// Where subscribes recovered from.
    var resumed: [StreamPosition] { state.withLock { $0.resumed } }

    func play(_ script: Script) {
        state.withLock { $0.script = script }
    }

    func hasJoined(_ room: ByteString) -> Bool { state.withLock { $0.joined.contains(room) } }

    func publish(_ data: [UInt8], to room: ByteString) {
        let server = server
        let payload = Payload(data)
        loop.post { server.value.publish(payload, to: room) }
    }
}

/// A room's history as the scripted server keeps it.
struct ScriptedStream: Sendable {
    var epoch: ByteString
    var first: UInt64
    var publications: [Publication] = []

    var top: UInt64 { first + UInt64(publications.count) }

    mutating func append(_ data: Payload) -> Publication {
        let publication = Publication(data: data, offset: top + 1)
        publications.append(publication)
        return publication
    }

    func after(_ offset: UInt64, limit: Int) -> [Publication] {
        Array(publications.dropFirst(Int(clamping: offset - min(offset, first))).prefix(limit))
    }
}

/// The side of a scripted server that belongs to its loop.
private final class ScriptedConnections {
    private final class Connection {
        let socket: LoopSocket
        var session: WebSocketSession?
        var rooms: Set<ByteString> = []

        init(_ socket: LoopSocket) {
            self.socket = socket
        }

        func flush() {
            var bytes: [UInt8] = []
            session?.takeOutput(into: &bytes)
            socket.write(bytes)
        }

        func send(_ reply: Reply) {
            var frame: [UInt8] = []
            ProtobufCodec.encode(reply, into: &frame)
            session?.sendBinary(frame)
        }
    }

    private let loop: EventLoop
    private let state: Lock<ScriptedServer.State>
    private let fresh: ScriptedStream
    private var listener: LoopListener?
    private var connections: [ObjectIdentifier: Connection] = [:]

    init(on loop: EventLoop, _ state: Lock<ScriptedServer.State>, _ fresh: ScriptedStream) {
        self.loop = loop
        self.state = state
        self.fresh = fresh
    }

    func listen(_ descriptor: CInt) {
        listener = LoopListener(descriptor, on: loop) { [unowned self] socket in
            state.withLock { state in
                state.connections += 1
                state.open += 1
            }
            let connection = Connection(socket)
            let identity = ObjectIdentifier(connection)
            connections[identity] = connection
            socket.onInput = { [unowned self, unowned connection] in read(connection) }
            socket.onEnd = { [unowned self] in
                connections[identity] = nil
                state.withLock { $0.open -= 1 }
            }
        }
    }

    func close() {
        listener?.close()
        for connection in connections.values { connection.socket.close() }
        connections = [:]
    }

    func publish(_ data: Payload, to room: ByteString) {
        let fresh = fresh
        let (publication, script) = state.withLock { state in
            (state.streams[room, default: fresh].append(data), state.script)
        }
        guard !script.hides(publication.offset) else { return }
        for connection in connections.values where connection.rooms.contains(room) {
            connection.send(Reply(id: 0, .push(Push(channel: room, .publication(publication)))))
            connection.flush()
        }
    }

    private func read(_ connection: Connection) {
        let bytes = connection.socket.input
        guard let session = connection.session else {
            guard let (request, length) = HTTPMessage.read(bytes) else { return }
            connection.socket.drop(length)
            return upgrade(connection, request)
        }
        connection.socket.drop(bytes.count)
        bytes.withUnsafeBytes { bytes in
            session.receive(bytes) { event in
                if case .close(let code, _) = event { state.withLock { $0.closes.append(code) } }
                guard case .binary(let frame) = event else { return }
                try? ProtobufCodec.decodeCommands(frame) { answer($0, connection) }
            }
        }
        connection.flush()
    }

    private func upgrade(_ connection: Connection, _ request: HTTPMessage) {
        let script = state.withLock { $0.script }
        if case .refuse(let status) = script {
            return connection.socket.write(HTTPMessage.answer(status, headers: ["connection: close"]))
        }
        let accept = WebSocketHandshake.acceptValue(for: ByteString(request.headers["sec-websocket-key"] ?? ""))
        var lines = ["HTTP/1.1 101 X", "upgrade: websocket", "connection: Upgrade", "sec-websocket-accept: \(accept)"]
        if case .json = script {} else { lines.append("sec-websocket-protocol: centrifuge-protobuf") }
        connection.socket.write(Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8))
        let session = WebSocketSession(role: .server)
        connection.session = session
        switch script {
        case .json: session.sendText(Array(#"{"id":1,"connect":{"client":"x","version":"x"}}"#.utf8))
        case .rubbish: session.sendBinary([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 2, 3])
        default: break
        }
        connection.flush()
    }

    private func answer(_ command: Command, _ connection: Connection) {
        let script = state.withLock { $0.script }
        switch command.request {
        case .connect:
            if case .close(let code, let reason) = script {
                connection.session?.sendClose(code: code, reason: ByteString(reason))
                return
            }
            var result = ConnectResult()
            result.client = "scripted"
            result.version = "scripted"
            result.ping = 25
            result.pong = true
            connection.send(Reply(id: command.id, .connect(result)))
        case .subscribe(let request):
            let result = subscribe(request, script)
            if script.chokes(result.publications) { return choke(connection) }
            connection.rooms.insert(request.channel)
            connection.send(Reply(id: command.id, .subscribe(result)))
            if case .closeAfterRecovery = script, !result.publications.isEmpty {
                connection.session?.sendClose(code: 3008, reason: "slow")
            }
        case .history(let request):
            let result = history(request, script)
            if script.chokes(result.publications) { return choke(connection) }
            connection.send(Reply(id: command.id, .history(result)))
        case .unsubscribe(let channel):
            connection.rooms.remove(channel)
            connection.send(Reply(id: command.id, .unsubscribe))
        default:
            break
        }
    }

    private func choke(_ connection: Connection) {
        connection.session?.sendClose(code: 3008, reason: "slow")
    }

    private func stream(_ room: ByteString) -> ScriptedStream {
        state.withLock { $0.streams[room, default: fresh] }
    }

    private func subscribe(_ request: SubscribeRequest, _ script: ScriptedServer.Script) -> SubscribeResult {
        let stream = stream(request.channel)
        var result = SubscribeResult()
        result.recoverable = true
        result.positioned = true
        result.epoch = stream.epoch
        result.offset = stream.top
        if request.recover {
            result.wasRecovering = true
            let isSame = request.epoch.isEmpty || request.epoch == stream.epoch
            if isSame, request.offset <= stream.top, stream.top - request.offset <= 300 {
                result.recovered = true
                result.offset = request.offset
                result.publications = stream.after(request.offset, limit: 300).filter { !script.hides($0.offset) }
            }
        }
        state.withLock { state in
            state.joined.insert(request.channel)
            if request.recover { state.resumed.append(StreamPosition(offset: request.offset, epoch: request.epoch)) }
            if result.recovered, !result.publications.isEmpty { state.recoveries += 1 }
        }
        return result
    }

    private func history(_ request: HistoryRequest, _ script: ScriptedServer.Script) -> HistoryResult {
        let stream = stream(request.channel)
        var result = HistoryResult()
        result.epoch = stream.epoch
        result.offset = stream.top
        let limit = request.limit < 0 ? 300 : min(300, Int(request.limit))
        result.publications = stream.after(request.since?.offset ?? 0, limit: limit).filter { !script.hides($0.offset) }
        return result
    }
}

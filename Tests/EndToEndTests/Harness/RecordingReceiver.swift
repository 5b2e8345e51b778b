internal import BridgeTestSupport
internal import RoomsRuntime

/// An HTTP receiver inside the test: it writes down what arrives and misbehaves when told to.
final class RecordingReceiver: Sendable {
    enum Behaviour: Sendable {
        case answer(Int, headers: [String] = [])
        /// Answers this to the event of that offset, 200 to all others.
        case refuse(offset: String, Int)
        /// Answers this to a request with that text in its body, 200 to all others.
        case refuseText(String, Int)
        /// Takes the request and says nothing.
        case hang
        /// Takes the request and hangs up.
        case hangUp
        /// Answers 200 with a body that never ends.
        case endlessBody
    }

    struct Request: Sendable {
        var message: HTTPMessage
        /// Counts the connections.
        var connection: Int
        var arrived: Instant
        var answered: Instant?
        var status: Int?

        subscript(header: String) -> String? { message.headers[header] }
    }

    let address: SocketAddress
    private let held: HeldPort?
    private let loop: EventLoop
    private let server: LoopBound<ReceiverServer>
    private let log: ReceiverLog

    /// On a Unix socket when a path is given, else on a port of its own.
    init(path: String? = nil) throws {
        held = path == nil ? try HeldPort() : nil
        address = path.map { .unix(path: $0) } ?? .loopback(port: held?.number ?? 0)
        loop = EventLoop(name: "test-receiver")
        log = ReceiverLog()
        server = LoopBound(ReceiverServer(loop: loop, log: log), on: loop)
        loop.start()
        // Listening when this returns; accepting as soon as the loop gets to it.
        let server = server
        let descriptor = address.listen()
        loop.post { server.value.listen(descriptor) }
    }

    deinit {
        let server = server
        loop.post { server.value.refuse() }
        loop.stop()
        loop.join()
    }

    var url: String {
        guard case .loopback(let port) = address else { return "" }
        return "http://127.0.0.1:\(port)/hook"
    }

    // MARK: behaviour

    func behave(_ behaviour: Behaviour) {
        log.state.withLock { $0.behaviour = behaviour }
    }

    /// Closes the socket and every connection: what is in flight gets no answer.
    func refuse() {
        let server = server
        loop.post { server.value.refuse() }
    }

    func listen() {
        let server = server
        let address = address
        loop.post { if !server.value.isListening { server.value.listen(address.listen()) } }
    }

    /// Keeps back the answers of the next requests.
    func holdNext(_ count: Int) {
        log.state.withLock { $0.toHold = count }
    }

    /// How many requests wait for their answer on a connection that is open.
    var heldCount: Int { log.state.withLock { $0.held } }

    /// Answers what was held, if its connection still stands; holds nothing more.
    func release() {
        log.state.withLock { $0.toHold = 0 }
        let server = server
        loop.post { server.value.release() }
    }

    // MARK: what arrived

    var requests: [Request] { log.state.withLock { $0.requests } }
    var count: Int { log.state.withLock { $0.requests.count } }
    /// How many different webhook ids were accepted.
    var acceptedCount: Int { log.state.withLock { $0.accepted.count } }
    var openCount: Int { log.state.withLock { $0.open } }
    var connectionCount: Int { log.state.withLock { $0.connections } }

    /// The requests that carry an event, as the checker wants them.
    func receptions() -> [Reception] { requests.compactMap { Reception($0) } }
}

/// What a receiver saw, shared between its loop and the test.
private final class ReceiverLog: Sendable {
    struct State: Sendable {
        var behaviour = RecordingReceiver.Behaviour.answer(200)
        var requests: [RecordingReceiver.Request] = []
        var accepted: Set<String> = []
        var toHold = 0
        var held = 0
        var connections = 0
        var open = 0
    }

    let state = Lock(State())
}

/// The side of a receiver that belongs to its loop.
private final class ReceiverServer {
    private final class Connection {
        let number: Int
        let socket: LoopSocket
        /// The request whose answer is held.
        var held: Int?

        init(_ number: Int, _ socket: LoopSocket) {
            self.number = number
            self.socket = socket
        }
    }

    private let loop: EventLoop
    private let log: ReceiverLog
    private var listener: LoopListener?
    private var connections: [Int: Connection] = [:] {
        didSet { log.state.withLock { [count = connections.count] in $0.open = count } }
    }

    init(loop: EventLoop, log: ReceiverLog) {
        self.loop = loop
        self.log = log
    }

    var isListening: Bool { listener != nil }

    func listen(_ descriptor: CInt) {
        guard descriptor >= 0 else { return }
        listener = LoopListener(descriptor, on: loop) { [unowned self] socket in accept(socket) }
    }

    func refuse() {
        listener?.close()
        listener = nil
        for connection in connections.values { connection.socket.close() }
        connections = [:]
        log.state.withLock { $0.held = 0 }
    }

    func release() {
        for connection in connections.values {
            guard let index = connection.held else { continue }
            connection.held = nil
            log.state.withLock { $0.held -= 1 }
            answer(index, 200, [], on: connection)
            serve(connection)
        }
    }

    private func accept(_ socket: LoopSocket) {
        let number = log.state.withLock { state in
            state.connections += 1
            return state.connections
        }
        let connection = Connection(number, socket)
        connections[number] = connection
        socket.onInput = { [unowned self, unowned connection] in serve(connection) }
        socket.onEnd = { [unowned self] in
            if connections.removeValue(forKey: number)?.held != nil { log.state.withLock { $0.held -= 1 } }
        }
    }

    private func serve(_ connection: Connection) {
        while connection.held == nil, let (message, length) = HTTPMessage.read(connection.socket.input) {
            connection.socket.drop(length)
            let request = RecordingReceiver.Request(
                message: message,
                connection: connection.number,
                arrived: SystemClock.now
            )
            let (index, isHeld, behaviour) = log.state.withLock { state in
                state.requests.append(request)
                let isHeld = state.toHold > 0
                if isHeld {
                    state.toHold -= 1
                    state.held += 1
                }
                return (state.requests.count - 1, isHeld, state.behaviour)
            }
            if isHeld {
                connection.held = index
                return
            }
            respond(behaviour, to: index, on: connection)
        }
    }

    private func respond(_ behaviour: RecordingReceiver.Behaviour, to index: Int, on connection: Connection) {
        switch behaviour {
        case .answer(let status, let headers):
            answer(index, status, headers, on: connection)
        case .refuse(let offset, let status):
            let mine = log.state.withLock { $0.requests[index]["roombridge-offset"] }
            answer(index, mine == offset ? status : 200, [], on: connection)
        case .refuseText(let text, let status):
            let body = log.state.withLock { $0.requests[index].message.body }
            answer(index, String(decoding: body, as: UTF8.self).contains(text) ? status : 200, [], on: connection)
        case .hang:
            break
        case .hangUp:
            connections[connection.number] = nil
            connection.socket.close()
        case .endlessBody:
            let chunk = [UInt8](repeating: UInt8(ascii: "x"), count: 65_536)
            connection.socket.onFlushed = { [weak socket = connection.socket] in socket?.write(chunk) }
            connection.socket.write(Array("HTTP/1.1 200 X\r\nconnection: close\r\n\r\n".utf8))
        }
    }

    private func answer(_ index: Int, _ status: Int, _ headers: [String], on connection: Connection) {
        let now = SystemClock.now
        log.state.withLock { state in
            state.requests[index].answered = now
            state.requests[index].status = status
            if status / 100 == 2, let id = state.requests[index]["webhook-id"] { state.accepted.insert(id) }
        }
        connection.socket.write(HTTPMessage.answer(status, headers: headers))
    }
}

extension Reception {
    /// Nil when the request carries neither an event with a position nor a gap.
    init?(_ request: RecordingReceiver.Request) {
        let body = JSONSlice(request.message.body)
        guard let data = body["data"], let room = request["roombridge-room"], let epoch = request["roombridge-epoch"],
            let offset = request["roombridge-offset"].flatMap({ UInt64($0) })
        else { return nil }
        switch request["roombridge-type"] {
        case "room.event":
            guard let bytes = EventData.bytes(in: data) else { return nil }
            item = .event(offset: offset, digest: Digest.sha256([bytes]))
        case "room.gap":
            guard let gap = data["gap"], let from = gap["from"]?.unsigned else { return nil }
            item = .gap(from: from, to: gap["to"]?.unsigned, reason: gap["reason"]?.string?.string ?? "")
        default:
            return nil
        }
        self.room = PercentCoding.decode(room)
        self.epoch = ByteString(epoch)
        id = ByteString(request["webhook-id"] ?? "")
        seq = request["roombridge-seq"].flatMap { Int64($0) } ?? 0
        attempt = request["roombridge-attempt"].flatMap { Int($0) } ?? 0
        arrived = request.arrived
        answered = request.answered
        status = request.status
    }
}

/// What was published, as the `data` member of a `standard` body holds it.
enum EventData {
    static func bytes(in data: JSONSlice) -> [UInt8]? {
        if let plain = data.verbatim("data") { return plain }
        guard let text = data["data_base64"]?.string else { return nil }
        return Base64.decode(text.bytes)
    }
}

/// The escapes of CloudEvents header values.
enum PercentCoding {
    static func decode(_ text: String) -> ByteString {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let first = rest.popFirst() {
            if first == UInt8(ascii: "%"), rest.count >= 2,
                let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
            {
                bytes.append(value)
                rest.removeFirst(2)
            } else {
                bytes.append(first)
            }
        }
        return ByteString(bytes)
    }
}

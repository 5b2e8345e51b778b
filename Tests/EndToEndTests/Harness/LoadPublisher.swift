internal import BridgeTestSupport
internal import Glibc
internal import RoomsRuntime

/// Publishes through a server's HTTP API, one connection a room, as fast as it may; keeps what the server answered.
///
/// It never publishes the same event again: when no answer comes, the event is noted as uncertain and the next one is
/// sent as soon as the server is back.
final class LoadPublisher: Sendable {
    struct State: Sendable {
        var published: [Published] = []
        var uncertain: Set<Uncertain> = []
        var allowed = 0
        var begun = 0
        var inFlight = 0
        var isStopped = false
    }

    private let loop: EventLoop
    private let state: Lock<State>
    private let lines: LoopBound<[PublisherLine]>

    init(port: UInt16, rooms: [String], seed: UInt64) {
        let loop = EventLoop(name: "test-publisher")
        let state = Lock(State())
        self.loop = loop
        self.state = state
        var generator = SeededGenerator(seed: seed)
        lines = LoopBound(
            rooms.map { room in
                PublisherLine(.loopback(port: port), room, on: loop, state, SeededGenerator(seed: generator.next()))
            },
            on: loop
        )
        loop.start()
    }

    deinit {
        let lines = lines
        loop.post { for line in lines.value { line.stop() } }
        loop.stop()
        loop.join()
    }

    /// Lets `count` more events go out, shared between the rooms as they come.
    func release(_ count: Int) {
        state.withLock { $0.allowed += count }
        let lines = lines
        loop.post { for line in lines.value { line.go() } }
    }

    /// Waits until everything released so far was answered or given up.
    func finish(within limit: Duration = .seconds(30)) async throws {
        try await eventually(within: limit, "the end of publishing") {
            state.withLock { $0.begun >= $0.allowed && $0.inFlight == 0 }
        }
    }

    var result: (published: [Published], uncertain: Set<Uncertain>) {
        state.withLock { ($0.published, $0.uncertain) }
    }
}

/// The connection that publishes to one room.
private final class PublisherLine {
    private let address: SocketAddress
    private let room: String
    private let loop: EventLoop
    private let state: Lock<LoadPublisher.State>
    private var generator: SeededGenerator
    private var socket: LoopSocket?
    private var digest: [UInt8]?
    private var isWaiting = false

    init(
        _ address: SocketAddress,
        _ room: String,
        on loop: EventLoop,
        _ state: Lock<LoadPublisher.State>,
        _ generator: SeededGenerator
    ) {
        self.address = address
        self.room = room
        self.loop = loop
        self.state = state
        self.generator = generator
    }

    /// Sends the next event unless one is in flight, none may go, or the server is being waited for.
    func go() {
        guard digest == nil, !isWaiting else { return }
        let number = state.withLock { state -> Int? in
            guard state.begun < state.allowed, !state.isStopped else { return nil }
            state.begun += 1
            state.inFlight += 1
            return state.begun
        }
        guard let number else { return }
        let padding = String(repeating: "x", count: Int(generator.next() % 600))
        let data = #"{"n":\#(number),"room":"\#(room)","padding":"\#(padding)"}"#
        digest = Digest.sha256([Array(data.utf8)])
        let body = Array(#"{"channel":"\#(room)","data":\#(data)}"#.utf8)
        let key = "x-api-key: \(RealtimeServers.apiKey)"
        connected()?.write(TestHTTP.request("/api/publish", body, headers: [key]))
        if socket == nil { giveUp() }
    }

    func stop() {
        socket?.close()
        socket = nil
        isWaiting = true
    }

    private func connected() -> LoopSocket? {
        if let socket { return socket }
        let descriptor = address.makeSocket()
        guard address.connect(descriptor) else {
            close(descriptor)
            return nil
        }
        let fresh = LoopSocket(descriptor, on: loop)
        fresh.onInput = { [unowned self] in answered() }
        fresh.onEnd = { [unowned self] in giveUp() }
        socket = fresh
        return fresh
    }

    private func answered() {
        guard let socket, let (message, length) = HTTPMessage.read(socket.input) else { return }
        socket.drop(length)
        guard let digest else { return }
        self.digest = nil
        let result = JSONSlice(message.body)["result"]
        let room = ByteString(room)
        let entry = result.flatMap { result -> Published? in
            guard let offset = result["offset"]?.unsigned, let epoch = result["epoch"]?.string else { return nil }
            return Published(key: EventKey(room: room, epoch: epoch, offset: offset), digest: digest)
        }
        state.withLock { state in
            state.inFlight -= 1
            if let entry {
                state.published.append(entry)
            } else {
                state.uncertain.insert(Uncertain(room: room, digest: digest))
            }
        }
        if entry == nil { pause() } else { go() }
    }

    /// No answer will come: the server may have the event or not.
    private func giveUp() {
        socket?.close()
        socket = nil
        if let digest {
            let room = ByteString(room)
            state.withLock { state in
                state.inFlight -= 1
                state.uncertain.insert(Uncertain(room: room, digest: digest))
            }
            self.digest = nil
        }
        pause()
    }

    private func pause() {
        guard !isWaiting else { return }
        isWaiting = true
        loop.schedule(after: .milliseconds(20)) { [weak self] in
            self?.isWaiting = false
            self?.go()
        }
    }
}

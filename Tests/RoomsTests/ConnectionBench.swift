import BridgeTestSupport
import RoomsRuntime
import RoomsWire

@testable import Rooms

/// A connection machine with the time passed in, and a server whose answers are given by hand or by `serve`.
struct ConnectionBench {
    var machine: ConnectionStateMachine
    var items: [SinkItem] = []
    /// Commands that the server has not looked at yet.
    var commands: [Command] = []
    var sent: [Command] = []
    var actions: [ConnectionAction] = []
    var lines: [LogLine] = []
    var now = Instant(nanoseconds: 1_000_000_000_000)
    var wallShift: Int64 = 0
    var streams: [ByteString: StreamModel] = [:]
    private var random: SeededRandom

    init(_ rooms: [RoomSpecification] = [], policy: ConnectionPolicy = ConnectionPolicy(), seed: UInt64 = 1) {
        machine = ConnectionStateMachine(policy: policy, rooms: rooms)
        random = SeededRandom(seed: seed)
        for room in rooms { streams[room.name] = StreamModel() }
    }

    /// `count` rooms named r0, r1, … that resume behind 5 of 8 events.
    static func rooms(
        _ count: Int,
        published: Int = 8,
        policy: ConnectionPolicy = ConnectionPolicy(),
        seed: UInt64 = 1
    ) -> ConnectionBench {
        let start = RoomStart.resume(RoomPosition(epoch: "A", offset: 5))
        let rooms = (0..<count).map { RoomSpecification(name: ByteString("r\($0)"), start: start) }
        var bench = ConnectionBench(rooms, policy: policy, seed: seed)
        for room in rooms { bench.streams[room.name] = StreamModel(published: published) }
        return bench
    }

    mutating func turn(_ body: (inout ConnectionStateMachine, inout Turn) -> Void) {
        // The closure cannot change `self`: it draws from numbers made beforehand.
        let draws = Lock((0..<64).map { _ in random.next() })
        let wall = Int64(now.nanoseconds / 1_000_000) + wallShift
        var turn = Turn(now: now, wall: wall) { draws.withLock { $0.popLast() ?? 0 } }
        body(&machine, &turn)
        items += turn.items
        commands += turn.commands
        sent += turn.commands
        actions += turn.actions
        lines += turn.lines
    }

    // MARK: the server

    mutating func start() { turn { $0.start(&$1) } }

    mutating func open() {
        let generation = machine.generation
        turn { $0.opened(generation: generation, &$1) }
    }

    /// One frame.
    mutating func receive(_ replies: Reply..., generation: UInt64? = nil) {
        receive(all: replies, generation: generation)
    }

    mutating func receive(all replies: [Reply], generation: UInt64? = nil) {
        let generation = generation ?? machine.generation
        turn { machine, turn in
            guard machine.frameBegan(generation: generation, &turn) else { return }
            for reply in replies { machine.receive(reply, &turn) }
            machine.settle(&turn)
        }
    }

    /// Starts, opens the socket and answers connect.
    mutating func connect(_ result: ConnectResult = .plain) {
        if machine.state == .idle { start() }
        open()
        answerConnect(.connect(result))
    }

    mutating func answerConnect(_ body: ReplyBody) {
        guard let command = commands.popLast() else { return }
        receive(Reply(id: command.id, body))
    }

    /// Answers every command honestly until none comes.
    mutating func serve() {
        for _ in 0..<10_000 {
            guard !commands.isEmpty else { return }
            answer(commands.removeFirst())
        }
    }

    mutating func answer(_ command: Command) {
        guard let body = honestAnswer(command.request) else { return }
        receive(Reply(id: command.id, body))
    }

    /// The first subscribe of room 0 finds 8 events, none of which comes with the answer: pages are to follow.
    mutating func joinBehind() {
        var result = SubscribeResult()
        (result.recoverable, result.positioned, result.epoch, result.offset) = (true, true, "A", 8)
        receive(Reply(id: commands.removeFirst().id, .subscribe(result)))
    }

    func honestAnswer(_ request: Request) -> ReplyBody? {
        switch request {
        case .pong: nil
        case .connect: .connect(.plain)
        case .subscribe(let request): .subscribe(streams[request.channel]?.subscribe(request) ?? SubscribeResult())
        case .history(let request): streams[request.channel]?.history(request)
        case .unsubscribe: .unsubscribe
        case .refresh: .refresh(RefreshResult())
        case .subRefresh: .subRefresh(RefreshResult())
        default: .unknown
        }
    }

    mutating func close(_ code: UInt16, reason: ByteString = "") {
        end(.closed(code: code, reason: reason))
    }

    mutating func end(_ end: ConnectionEnd) {
        commands = []
        let generation = machine.generation
        turn { $0.ended(end, generation: generation, &$1) }
    }

    mutating func publish(_ room: ByteString) {
        guard let publication = streams[room]?.publish() else { return }
        receive(Reply(id: 0, .push(Push(channel: room, .publication(publication)))))
    }

    // MARK: time

    mutating func pass(_ time: Duration) {
        now = now + time
        turn { $0.tick(&$1) }
    }

    /// Lets the pause before the next attempt pass; gives its length.
    @discardableResult
    mutating func waitForRetry() -> Duration {
        guard case .waiting(let until) = machine.state else { return .zero }
        let pause = until - now
        pass(pause)
        return pause
    }

    // MARK: what happened

    var statuses: [String] { RoomsTests.statuses(items) }

    func seen(_ room: Int) -> [String] { RoomsTests.seen(items, room: room) }

    /// The last thing about a room but for its joins.
    func lastEvent(_ room: Int) -> String? { seen(room).last { !$0.hasPrefix("joined") } }

    var isReady: Bool { machine.isReady }

    /// Subscribes in flight or answered, in order.
    var subscribes: [SubscribeRequest] {
        sent.compactMap { command in
            if case .subscribe(let request) = command.request { return request }
            return nil
        }
    }

    var pongs: Int { sent.count { $0 == .pong } }
}

extension ConnectResult {
    static var plain: ConnectResult {
        var result = ConnectResult()
        result.client = "c"
        result.ping = 25
        result.pong = true
        return result
    }

    static func expiring(_ ttl: UInt32) -> ConnectResult {
        var result = plain
        result.expires = true
        result.ttl = ttl
        return result
    }
}

import BridgeTestSupport
import RoomsRuntime
import RoomsWire

@testable import Rooms

/// One session and one stream, wired together by hand: time is passed in, answers come when asked for.
struct SessionBench {
    var session: SessionStateMachine
    var stream: StreamModel
    var items: [SinkItem] = []
    var requests: [Request] = []
    var tally = Tally()
    var lines: [LogLine] = []
    var now = Instant(nanoseconds: 1_000_000_000_000)
    private var random = SeededRandom(seed: 1)

    init(
        _ start: RoomStart,
        _ stream: StreamModel,
        policy: ConnectionPolicy = ConnectionPolicy(),
        countsMembers: Bool = false
    ) {
        session = SessionStateMachine(
            room: 0,
            specification: RoomSpecification(name: "room", start: start, countsMembers: countsMembers),
            policy: SharedPolicy(policy)
        )
        self.stream = stream
    }

    static func resuming(
        at offset: UInt64,
        epoch: ByteString = "A",
        _ stream: StreamModel,
        policy: ConnectionPolicy = ConnectionPolicy()
    ) -> SessionBench {
        SessionBench(.resume(RoomPosition(epoch: epoch, offset: offset)), stream, policy: policy)
    }

    mutating func turn<Result>(_ body: (inout SessionStateMachine, inout Turn) -> Result) -> Result {
        let draw = random.next()
        var turn = Turn(now: now, wall: Int64(now.nanoseconds / 1_000_000), random: { draw })
        let result = body(&session, &turn)
        items += turn.items
        tally += turn.tally
        lines += turn.lines
        return result
    }

    /// Sends what the session wants and answers it from the stream, until it wants nothing.
    mutating func run(limit: Int = 1_000) {
        session.connected()
        for _ in 0..<limit where step() {}
    }

    /// One command and its answer; false when none is wanted.
    @discardableResult
    mutating func step() -> Bool {
        guard let request = send() else { return false }
        answer(honestAnswer(request))
        return true
    }

    /// Grants the wish and gives the request that goes to the server.
    mutating func send() -> Request? {
        guard let wish = session.wish else { return nil }
        let request = session.start(wish, token: nil)
        requests.append(request)
        return request
    }

    mutating func answer(_ body: ReplyBody, attempt: UInt32? = nil) {
        let attempt = attempt ?? session.attempt
        _ = turn { $0.answered(body, attempt: attempt, &$1) }
    }

    func honestAnswer(_ request: Request) -> ReplyBody {
        switch request {
        case .subscribe(let request): .subscribe(stream.subscribe(request))
        case .history(let request): stream.history(request)
        case .unsubscribe: .unsubscribe
        default: .unknown
        }
    }

    mutating func publish(count: Int = 1) {
        for _ in 0..<count {
            let publication = stream.publish()
            turn { $0.published(publication, &$1) }
        }
    }

    mutating func push(_ publication: Publication) {
        turn { $0.published(publication, &$1) }
    }

    mutating func disconnect(isSuspicious: Bool = false) {
        turn { $0.disconnected(isSuspicious: isSuspicious, &$1) }
    }

    mutating func unsubscribed(_ code: UInt32) {
        turn { $0.unsubscribed(code: code, reason: "because", &$1) }
    }

    mutating func pass(_ time: Duration) {
        now = now + time
        turn { $0.tick(&$1) }
    }

    var seen: [String] { RoomsTests.seen(items) }

    /// The last subscribe: nil, or what it recovered from.
    var lastSubscribe: SubscribeRequest? {
        for request in requests.reversed() {
            if case .subscribe(let subscribe) = request { return subscribe }
        }
        return nil
    }

    var pageLimits: [Int32] {
        requests.compactMap { request in
            if case .history(let history) = request { return history.limit }
            return nil
        }
    }
}

func publication(_ offset: UInt64, epoch: ByteString = .empty) -> Publication {
    Publication(data: Payload("{}"), offset: offset, epoch: epoch)
}

import BridgeTestSupport
import RoomsRuntime
import RoomsTransport

@testable import Rooms

/// The machine that asks the auth route, with a clock of its own.
struct AuthBench {
    private(set) var now = Instant(nanoseconds: 1_000_000_000_000)
    private(set) var wall: Int64 = 1_700_000_000_000
    private var machine: AuthStateMachine
    private var random = SeededRandom(seed: 5)

    /// Requests on their way, in the order in which they were sent.
    private(set) var sent: [(flight: UInt64, request: AuthRequest)] = []
    private(set) var aborted: [UInt64] = []
    /// All that each asker got so far.
    private(set) var answers: [TokenRequestID: TokenAnswer] = [:]
    private(set) var complete: Set<TokenRequestID> = []
    private(set) var lines = 0

    init(
        hasRoute: Bool = true,
        token: Secret? = nil,
        grants: [ByteString: Grant] = [:],
        _ change: (inout AuthPolicy) -> Void = { _ in }
    ) {
        var options = AuthOptions(token: token, grants: grants)
        if hasRoute { options.url = try? ServerURL("http://localhost/auth") }
        change(&options.policy)
        machine = AuthStateMachine(options)
    }

    var wakeAt: Instant { machine.wakeAt }

    mutating func ask(_ rooms: [ByteString] = [], connection: Bool = false) -> TokenRequestID {
        run { $0.request(connection: connection, rooms: rooms, &$1) }
    }

    /// Whether all of it is answered without a request.
    mutating func hasAtHand(_ rooms: [ByteString], connection: Bool = false) -> Bool {
        let id = ask(rooms, connection: connection)
        return complete.contains(id)
    }

    mutating func cancel(_ id: TokenRequestID) { run { $0.cancel(id, &$1) } }
    mutating func learned(renewalAfter time: Duration, of subject: TokenSubject) {
        run { $0.learned(renewalAfter: time, of: subject, $1) }
    }
    mutating func forget(_ subject: TokenSubject) { run { machine, _ in machine.forget(subject) } }

    mutating func pass(_ time: Duration, asleep: Bool = false) {
        if !asleep { now = now + time }
        wall += time.wholeMilliseconds
        run { $0.tick(&$1) }
    }

    /// Answers the `index`th request of those sent: a token for each room, made of its name and `mark`.
    mutating func grant(_ index: Int, _ mark: String = "") {
        let (flight, request) = sent[index]
        var answer = TokenAnswer()
        for subject in request.subjects { answer[subject] = .success(Grant(token: token(subject, mark))) }
        run { $0.finished(flight: flight, .answered(answer), &$1) }
    }

    mutating func answer(_ index: Int, _ answer: TokenAnswer) {
        let flight = sent[index].flight
        run { $0.finished(flight: flight, .answered(answer), &$1) }
    }

    mutating func fail(_ index: Int, _ code: RoomError.Code = .unavailable, pause: Duration? = nil) {
        let flight = sent[index].flight
        run { $0.finished(flight: flight, .failed(RoomError(code, "down"), pause: pause), &$1) }
    }

    private func token(_ subject: TokenSubject, _ mark: String) -> Secret {
        if case .room(let name) = subject { return Secret(name.string + mark) }
        return Secret("connection" + mark)
    }

    /// What an asker got for a room: its token or its error.
    func outcome(_ id: TokenRequestID, _ room: ByteString) -> String? { text(answers[id]?[.room(room)]) }
    func connection(_ id: TokenRequestID) -> String? { text(answers[id]?[.connection]) }

    private func text(_ outcome: TokenAnswer.Outcome?) -> String? {
        switch outcome {
        case nil: nil
        case .success(let grant): grant.token.map { String(decoding: $0.bytes, as: UTF8.self) } ?? "none"
        case .failure(let error): error.code.rawValue
        }
    }

    @discardableResult
    private mutating func run<Value>(_ event: (inout AuthStateMachine, inout AuthTurn) -> Value) -> Value {
        var generator = random
        var turn = AuthTurn(now: now, wall: wall) { generator.next() }
        let value = event(&machine, &turn)
        random = generator
        lines += turn.lines.count
        for action in turn.actions {
            switch action {
            case .send(let flight, let request): sent.append((flight, request))
            case .abort(let flight): aborted.append(flight)
            case .answer(let id, let answer, let isLast):
                precondition(!complete.contains(id), "answered after its last answer")
                var all = answers[id] ?? TokenAnswer()
                if let connection = answer.connection {
                    precondition(all.connection == nil, "answered twice")
                    all.connection = connection
                }
                all.rooms.merge(answer.rooms) { _, _ in preconditionFailure("answered twice") }
                answers[id] = all
                if isLast { complete.insert(id) }
            }
        }
        return value
    }
}

internal import RoomsRuntime
internal import RoomsTransport

/// Decides what the auth route is asked for, and when: no I/O, time is passed in.
///
/// What is asked for within a few milliseconds forms one request, in the order of asking. Everything is asked for once,
/// however many want it. Behind a failure of the route there is a pause.
struct AuthStateMachine {
    private struct Wanted {
        enum Place: Equatable {
            case queued
            case flight(UInt64)
        }

        var place = Place.queued
        var askers: [TokenRequestID]
    }

    private struct Flight {
        var request: AuthRequest
        var sentAt: Instant
    }

    private let policy: AuthPolicy
    private let hasRoute: Bool
    private var store: TokenStore
    /// How many answers a request still waits for.
    private var open: [TokenRequestID: Int] = [:]
    private var wanted: [TokenSubject: Wanted] = [:]
    /// Rooms that wait for a request, in the order of asking.
    private var queue: [ByteString] = []
    private var windowEnd = Instant.distantFuture
    private var flights: [UInt64: Flight] = [:]
    private var lastNumber: UInt64 = 0

    // Failures of the route
    private var failures = 0
    private var failedAt: Instant?
    private var pauseEnd = Instant(nanoseconds: 0)

    init(_ options: AuthOptions) {
        policy = options.policy
        hasRoute = options.url != nil
        store = TokenStore(token: options.token, grants: options.grants, limit: options.policy.keptRooms)
    }

    /// When `tick` has something to do.
    var wakeAt: Instant {
        guard hasQueue, flights.count < policy.requestsInFlight else { return .distantFuture }
        return max(windowEnd, pauseEnd)
    }

    // MARK: requests

    mutating func request(connection: Bool, rooms: [ByteString], _ turn: inout AuthTurn) -> TokenRequestID {
        let id = TokenRequestID(number: nextNumber())
        var subjects: [TokenSubject] = []
        var seen: Set<ByteString> = []
        for room in rooms where seen.insert(room).inserted { subjects.append(.room(room)) }
        var answer = TokenAnswer()
        var missing: [TokenSubject] = []
        for subject in subjects + (connection ? [.connection] : []) {
            answer[subject] = atOnce(subject, subjects, turn)
            if answer[subject] == nil { missing.append(subject) }
        }
        for subject in missing { want(subject, id, turn) }
        if !missing.isEmpty { open[id] = missing.count }
        if missing.isEmpty || answer != TokenAnswer() {
            turn.actions.append(.answer(id, answer, isLast: missing.isEmpty))
        }
        dispatch(&turn)
        return id
    }

    mutating func cancel(_ id: TokenRequestID, _ turn: inout AuthTurn) {
        guard open.removeValue(forKey: id) != nil else { return }
        for subject in wanted.keys {
            wanted[subject]?.askers.removeAll { $0 == id }
        }
        wanted = wanted.filter { !$0.value.askers.isEmpty }
        queue.removeAll { wanted[.room($0)] == nil }
        for (number, flight) in flights.sorted(by: { $0.key < $1.key }) {
            guard !flight.request.subjects.contains(where: { wanted[$0]?.place == .flight(number) }) else { continue }
            flights[number] = nil
            turn.actions.append(.abort(flight: number))
        }
        dispatch(&turn)
    }

    mutating func learned(renewalAfter time: Duration, of subject: TokenSubject, _ turn: AuthTurn) {
        store.learned(renewalAfter: time, of: subject, turn.now, turn.wall)
    }

    mutating func forget(_ subject: TokenSubject) {
        store.forget(subject)
    }

    /// What is at hand; nil: it has to be asked for.
    mutating func grant(for subject: TokenSubject, _ turn: AuthTurn) -> Grant? {
        store.grant(for: subject, turn.now, turn.wall)
    }

    mutating func tick(_ turn: inout AuthTurn) {
        dispatch(&turn)
    }

    /// What needs no request; nil: the route has to be asked.
    private mutating func atOnce(
        _ subject: TokenSubject,
        _ rooms: [TokenSubject],
        _ turn: AuthTurn
    ) -> TokenAnswer.Outcome? {
        if let grant = store.grant(for: subject, turn.now, turn.wall) { return .success(grant) }
        guard hasRoute else {
            guard store.isSpent(subject) else { return .success(Grant()) }
            let message = "the token that was given has run out, and there is no auth route to ask for another"
            return .failure(RoomError(.expired, message))
        }
        // Who is signed out and joins what anyone may join does so without a request.
        let isGuest = !store.hasConnected && !rooms.isEmpty && rooms.allSatisfy(store.isGiven)
        if subject == .connection, isGuest { return .success(Grant()) }
        let pause = pauseEnd - turn.now
        guard pause <= policy.backoff.most else {
            let message = "the auth route has failed and is asked again in \(pause.shortText)"
            return .failure(RoomError(.unavailable, message))
        }
        return nil
    }

    private mutating func want(_ subject: TokenSubject, _ id: TokenRequestID, _ turn: AuthTurn) {
        guard wanted[subject]?.askers.append(id) == nil else { return }
        if !hasQueue { windowEnd = turn.now + policy.window }
        wanted[subject] = Wanted(askers: [id])
        if case .room(let name) = subject { queue.append(name) }
    }

    // MARK: flights

    private var isConnectionQueued: Bool { wanted[.connection]?.place == .queued }
    private var hasQueue: Bool { !queue.isEmpty || isConnectionQueued }

    private mutating func dispatch(_ turn: inout AuthTurn) {
        while hasQueue, flights.count < policy.requestsInFlight, turn.now >= pauseEnd {
            guard turn.now >= windowEnd || queue.count >= policy.roomsPerRequest else { return }
            let request = AuthRequest(
                rooms: Array(queue.prefix(policy.roomsPerRequest)),
                wantsConnection: isConnectionQueued
            )
            queue.removeFirst(request.rooms.count)
            let number = nextNumber()
            for subject in request.subjects { wanted[subject]?.place = .flight(number) }
            flights[number] = Flight(request: request, sentAt: turn.now)
            turn.actions.append(.send(flight: number, request))
        }
    }

    mutating func finished(flight number: UInt64, _ outcome: AuthOutcome, _ turn: inout AuthTurn) {
        guard let flight = flights.removeValue(forKey: number) else { return }
        switch outcome {
        case .answered:
            (failures, failedAt) = (0, nil)
        case .failed(let error, let pause):
            failed(error, pause, flight, &turn)
        }
        var answers: [TokenRequestID: TokenAnswer] = [:]
        for subject in flight.request.subjects {
            // Cancelled, and perhaps asked for again since: that is for another flight.
            guard let waiting = wanted[subject], waiting.place == .flight(number) else { continue }
            wanted[subject] = nil
            let result = outcome[subject]
            if case .success(let grant) = result { store.keep(grant, for: subject, turn.now, turn.wall) }
            for asker in waiting.askers { answers[asker, default: TokenAnswer()][subject] = result }
        }
        for (id, answer) in answers.sorted(by: { $0.key < $1.key }) {
            let left = (open[id] ?? 0) - answer.rooms.count - (answer.connection == nil ? 0 : 1)
            open[id] = left > 0 ? left : nil
            turn.actions.append(.answer(id, answer, isLast: left <= 0))
        }
        dispatch(&turn)
    }

    private mutating func failed(_ error: RoomError, _ pause: Duration?, _ flight: Flight, _ turn: inout AuthTurn) {
        guard error.code == .unavailable else {
            (failures, failedAt) = (0, nil)
            turn.lines.append(
                LogLine(
                    level: .warning,
                    message: "the auth route refuses this user",
                    fields: [LogField(.error, error.message)]
                )
            )
            return
        }
        let asked = min(pause ?? .zero, policy.longestPause)
        // Two that were on their way together are one failure.
        let isNew = failedAt.map { $0 < flight.sentAt } ?? true
        let own = isNew ? policy.backoff.delay(step: failures, random: turn.random) : .zero
        if isNew { (failures, failedAt) = (min(failures + 1, 32), turn.now) }
        pauseEnd = max(pauseEnd, turn.now + max(asked, own))
        guard isNew else { return }
        turn.lines.append(
            LogLine(
                level: .warning,
                message: "the auth route cannot be used",
                fields: [LogField(.error, error.message), LogField(.wait, max(asked, own))]
            )
        )
    }

    private mutating func nextNumber() -> UInt64 {
        lastNumber += 1
        return lastNumber
    }
}

extension AuthOutcome {
    fileprivate subscript(_ subject: TokenSubject) -> TokenAnswer.Outcome {
        switch self {
        case .failed(let error, _): .failure(error)
        case .answered(let answer):
            answer[subject] ?? .failure(RoomError(.unavailable, "the auth route's answer does not have it"))
        }
    }
}

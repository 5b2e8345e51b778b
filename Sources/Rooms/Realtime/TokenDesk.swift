internal import RoomsRuntime
internal import RoomsTransport

/// Tokens and keys for the connections of one app: at hand, being fetched from the auth route, or refused.
///
/// On its loop's thread; what `source` gives asks here.
final class TokenDesk {
    private let route: AuthRoute
    private let transport: TransportLoop
    /// What came and waits for whoever asks next.
    private var outcomes: [TokenSubject: Result<Grant, RoomError>] = [:]
    /// Why rooms have no token, until they have one.
    private var refusals: [ByteString: RoomError] = [:]
    private var awaited: Set<TokenSubject> = []
    /// Rooms that need no request.
    private var granted: Set<ByteString>
    /// A connection was made without a token, with what grants there were.
    private var hasBeenNobody = false
    /// The route was asked for a connection token: until then a client whose rooms all have grants is nobody.
    private var hasAskedForConnection: Bool
    private var isTelling = false

    /// Which rooms the app is in, or on its way into.
    var rooms: () -> [ByteString] = { [] }
    /// Some of what was awaited has come, or will not.
    var arrived: () -> Void = {}
    /// Who was nobody is somebody now: connections have to be made anew.
    var becameKnown: () -> Void = {}
    /// The keys that came with a room's token.
    var keysArrived: (_ room: ByteString, _ keys: [ByteString: Secret]) -> Void = { _, _ in }
    /// A room's token, or the connection's (nil), cannot be had for now.
    var failed: (_ room: ByteString?, RoomError) -> Void = { _, _ in }

    init(_ options: AuthOptions, transport: TransportLoop, logger: Logger) {
        self.transport = transport
        granted = Set(options.grants.keys)
        // Who was given a token is somebody from the beginning.
        hasAskedForConnection = options.token != nil
        route = AuthRoute(transport: transport, options: options, logger: logger)
    }

    var source: TokenSource {
        let desk = LoopBound(self, on: transport.loop)
        return TokenSource(
            connection: { try desk.value.token(for: .connection) },
            subscription: { try desk.value.token(for: .room($0)) },
            expired: { desk.value.route.forget($0.map { .room($0) } ?? .connection) },
            renewed: { desk.value.route.learned(renewalAfter: $1, of: $0.map { .room($0) } ?? .connection) }
        )
    }

    /// What the auth route said of a room that has no token.
    func refusal(of room: ByteString) -> RoomError? { refusals[room] }

    /// The room will be joined: its token is asked for now, in one request with those of others joined in this moment.
    func prepare(_ room: ByteString) {
        if let grant = route.grant(for: .room(room)) {
            // Kept since it was here before, unlike its keys.
            keysArrived(room, grant.keys)
        } else if outcomes[.room(room)] == nil {
            ask(for: .room(room))
        }
    }

    /// The room was left.
    func forget(_ room: ByteString) {
        refusals[room] = nil
        outcomes[.room(room)] = nil
    }

    private func token(for subject: TokenSubject) throws -> Secret? {
        let token = try present(subject)
        if subject == .connection, token == nil { hasBeenNobody = true }
        return token
    }

    private func present(_ subject: TokenSubject) throws -> Secret? {
        // Who is nobody yet cannot use what was given to somebody.
        if case .room(let name) = subject, !granted.contains(name), awaited.contains(.connection) {
            if route.grant(for: subject) == nil, outcomes[subject] == nil { ask(for: subject) }
            throw TokenFault.pending
        }
        let outcome = outcomes.removeValue(forKey: subject)
        if let grant = route.grant(for: subject) { return grant.token }
        switch outcome {
        case .success(let grant): return grant.token
        case .failure(let error):
            guard let code = error.tokenFault else { throw error }
            throw TokenFault.refused(code: code, reason: ByteString(error.message))
        case nil:
            ask(for: subject)
            throw TokenFault.pending
        }
    }

    /// The connection's token is asked for together with those of the rooms, in one request.
    private func ask(for subject: TokenSubject) {
        var names: [ByteString] = []
        var isForConnection = subject == .connection
        switch subject {
        case .connection:
            // The others that dial wait for the same.
            guard !awaited.contains(.connection) else { return }
            names = rooms()
            // What failed with the connection's is asked for again with it.
            for name in names where outcomes[.room(name)]?.mayPass == true { outcomes[.room(name)] = nil }
        case .room(let name):
            names = [name]
            isForConnection = !hasAskedForConnection && route.grant(for: .connection)?.token == nil
        }
        isForConnection = isForConnection && !awaited.contains(.connection)
        names.removeAll { awaited.contains(.room($0)) || outcomes[.room($0)] != nil }
        guard isForConnection || !names.isEmpty else { return }
        awaited.formUnion(names.map { .room($0) })
        if isForConnection { awaited.insert(.connection) }
        if isForConnection, names.contains(where: { !granted.contains($0) }) { hasAskedForConnection = true }
        let wasNobody = subject != .connection
        _ = route.request(connection: isForConnection, rooms: names) { [weak self] answer in
            self?.took(answer, wasNobody: wasNobody)
        }
    }

    private func took(_ answer: TokenAnswer, wasNobody: Bool) {
        for (room, outcome) in answer.rooms { took(outcome, of: room) }
        if let outcome = answer.connection {
            awaited.remove(.connection)
            switch outcome {
            // It is at hand for the connections that are made anew.
            case .success(.some) where wasNobody:
                if hasBeenNobody { forgetGuestGrants() }
                becameKnown()
            case .success(let token): outcomes[.connection] = .success(Grant(token: token))
            case .failure(let error):
                outcomes[.connection] = .failure(error)
                // A refusal is told when the connection ends over it.
                if error.tokenFault == nil { failed(nil, error) }
            }
        }
        tell()
    }

    /// Once for all answers of a turn: one to the route has those of up to a thousand rooms.
    private func tell() {
        guard !isTelling else { return }
        isTelling = true
        transport.loop.schedule(after: .zero) { [weak self] in
            guard let self else { return }
            isTelling = false
            arrived()
        }
    }

    /// Grants that let nobody in are not this user's: the server would close on them, and the route has others.
    private func forgetGuestGrants() {
        hasBeenNobody = false
        for room in granted where route.grant(for: .room(room))?.token != nil {
            granted.remove(room)
            route.forget(.room(room))
        }
    }

    private func took(_ outcome: Result<Grant, RoomError>, of room: ByteString) {
        awaited.remove(.room(room))
        outcomes[.room(room)] = outcome
        switch outcome {
        case .success(let grant):
            refusals[room] = nil
            keysArrived(room, grant.keys)
        case .failure(let error):
            if error.tokenFault != nil { refusals[room] = error } else { failed(room, error) }
        }
    }
}

extension Result<Grant, RoomError> {
    fileprivate var mayPass: Bool {
        guard case .failure(let error) = self else { return false }
        return error.tokenFault == nil
    }
}

extension RoomError {
    /// The protocol's code for an error that asking again does not heal; nil: it may pass.
    fileprivate var tokenFault: UInt32? {
        switch code {
        case .unavailable: nil
        case .unauthorized: 101
        case .noRule: 102
        case .full: 450
        case .badRequest: 107
        case .expired: 109
        default: 103
        }
    }
}

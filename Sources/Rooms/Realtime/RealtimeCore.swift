internal import RoomsRuntime
internal import RoomsTransport
internal import RoomsWire

/// An app's rooms on the loop: which of them are in the pool of connections, and what is told to each.
final class RealtimeCore: PoolSink {
    private let settings: RealtimeSettings
    private let transport: TransportLoop
    private let reader: EventReader
    private let logger: Logger
    private var pool: ConnectionPool?
    private var tokens: TokenDesk?
    private var budget: DeliveryBudget?

    private var inboxes: [Int: RoomInbox] = [:]
    private var numbers: [ByteString: Int] = [:]
    /// What apps have asked, each in a room, by the request's number.
    private var requests: [UInt64: (room: Int, done: (ReplyBody?) -> Void)] = [:]
    /// Requests of our own that ask who is in a room: its number by the request's.
    private var presences: [UInt64: Int] = [:]
    private var lastPresence: UInt64 = .max

    init(_ settings: RealtimeSettings, transport: TransportLoop, reader: EventReader, logger: Logger) {
        self.settings = settings
        self.transport = transport
        self.reader = reader
        self.logger = logger
    }

    func start(_ budget: DeliveryBudget) {
        self.budget = budget
        let desk = TokenDesk(settings.auth, transport: transport, logger: logger)
        desk.rooms = { [weak self] in self.map { Array($0.numbers.keys) } ?? [] }
        desk.arrived = { [weak self] in self?.pool?.tokensArrived() }
        desk.becameKnown = { [weak self] in self?.pool?.reconnect() }
        desk.keysArrived = { [reader] in reader.issue($1, for: $0) }
        desk.failed = { [weak self] in self?.tokenFailed($0, $1) }
        tokens = desk
        var options = ConnectionOptions(url: settings.url)
        options.webSocket = settings.webSocket
        options.policy.commandTimeout = settings.commandTimeout
        options.policy.hearsMembers = true
        options.policy.tokens = desk.source
        pool = ConnectionPool(
            transport: transport,
            options: options,
            roomsPerConnection: settings.roomsPerConnection,
            sink: self,
            logger: logger
        )
    }

    func stop(_ done: @escaping () -> Void) {
        for request in requests.values { request.done(nil) }
        requests = [:]
        let finish = { [self] in
            done()
            // What leads back here from below: nothing of a client that is over stays.
            (budget, pool, tokens, inboxes) = (nil, nil, nil, [:])
        }
        guard let pool else { return finish() }
        pool.stop(finish)
    }

    func deliveriesRelieved() {
        pool?.resumeIntake()
    }

    // MARK: rooms

    func join(_ inbox: RoomInbox, _ start: RoomStart) {
        guard let pool, inbox.status.withLock({ $0.state }) != .left else { return }
        // Known before the pool dials: the first request to the auth route asks for it too.
        numbers[inbox.name] = -1
        tokens?.prepare(inbox.name)
        let room = pool.add(RoomSpecification(name: inbox.name, start: start))
        inboxes[room] = inbox
        numbers[inbox.name] = room
    }

    func leave(_ inbox: RoomInbox) {
        reader.forget(inbox.name)
        guard let room = numbers[inbox.name], inboxes[room] === inbox else { return }
        forget(room)
    }

    private func forget(_ room: Int) {
        guard let inbox = inboxes.removeValue(forKey: room) else { return }
        numbers[inbox.name] = nil
        tokens?.forget(inbox.name)
        pool?.remove(room)
        // Its connection may end with it, and then nobody would answer.
        for (number, request) in requests where request.room == room {
            requests[number] = nil
            request.done(nil)
        }
    }

    func ask(_ request: Request, _ inbox: RoomInbox, _ number: UInt64, _ done: @escaping (ReplyBody?) -> Void) {
        guard let pool, let room = numbers[inbox.name], inboxes[room] === inbox else { return done(nil) }
        requests[number] = (room, done)
        pool.ask(request, in: room, number: number)
    }

    // MARK: what the pool says

    func take(_ items: [SinkItem]) -> Intake {
        for item in items {
            switch item {
            case .event(let room, let publication, let position, let isReplayed):
                inboxes[room]?.published(publication, position, isReplayed: isReplayed)
            case .gap(let room, let gap, let position): inboxes[room]?.reportGap(gap, position)
            case .joined(let room, let position, _): joined(room, position)
            case .failed(let room, let code, let reason): failed(room, code, reason)
            case .delayed(let room, let code, let reason): troubled(room, code, reason)
            case .member(let room, let info, let isHere, let isOurs):
                inboxes[room]?.member(info, isHere: isHere, isOurs: isOurs)
            case .answer(let number, let body): answered(number, body)
            // Not asked for: the members themselves are known.
            case .count: break
            case .connection: break
            }
        }
        return budget?.admits() == false ? .paused : .open
    }

    func connectionChanged(_ status: ConnectionStatus, rooms: [Int]) {
        switch status {
        case .connected: break
        case .connecting, .held, .stopped:
            for room in rooms { inboxes[room]?.joining() }
        case .waiting(let code, let reason, _, let isTerminal):
            for room in rooms {
                if isTerminal {
                    failed(room, code, reason)
                } else if inboxes[room]?.joining() == false {
                    // A link that was lost is mostly there again at once; that it cannot be made is told.
                    troubled(room, code, reason)
                }
            }
        }
    }

    private func joined(_ room: Int, _ position: RoomPosition?) {
        guard let inbox = inboxes[room] else { return }
        inbox.joined(at: position)
        // Rooms without members answer with an error, and that is all.
        lastPresence -= 1
        presences[lastPresence] = room
        pool?.ask(.presence(channel: inbox.name), in: room, number: lastPresence)
    }

    private func failed(_ room: Int, _ code: UInt32, _ reason: ByteString) {
        guard let inbox = inboxes[room] else { return }
        let error = tokens?.refusal(of: inbox.name) ?? RoomError(protocolCode: code, reason: reason)
        inbox.failed(error)
        guard error.code == .kicked else { return }
        // Who was removed does not come back by itself; later, since the connection is in the middle of its turn.
        transport.loop.schedule(after: .zero) { [weak self] in
            guard let self, inboxes[room] === inbox else { return }
            forget(room)
        }
    }

    /// The room is not joined yet, and tried again; a token that ran out is no trouble while there may be another.
    private func troubled(_ room: Int, _ code: UInt32, _ reason: ByteString) {
        guard RoomError(protocolCode: code, reason: reason).code == .unavailable else { return }
        inboxes[room]?.reportTrouble(RoomError(.unavailable, code == 0 ? "\(reason)" : "\(reason) (\(code))"))
    }

    /// The auth route has trouble: it is asked again, and the app is told once.
    private func tokenFailed(_ room: ByteString?, _ error: RoomError) {
        for inbox in inboxes.values where room == nil || inbox.name == room { inbox.reportTrouble(error) }
    }

    private func answered(_ number: UInt64, _ body: ReplyBody?) {
        if let request = requests.removeValue(forKey: number) { return request.done(body) }
        guard let room = presences.removeValue(forKey: number), case .presence(let clients) = body else { return }
        inboxes[room]?.present(clients.map(\.info))
    }
}

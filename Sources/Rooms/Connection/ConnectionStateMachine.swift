internal import RoomsRuntime
internal import RoomsWire

/// One connection to the server with its rooms: dials, authenticates, paces what the rooms ask for, and comes back
/// after every end.
///
/// Each public method is one event. Those about a socket carry its generation: what an older socket says is dropped.
/// After an event `wakeAt` says when `tick` is due at the latest.
struct ConnectionStateMachine {
    enum State: Equatable {
        /// Not started.
        ///
        /// To `authorizing`, `dialling`, `waiting`, `stopped`.
        case idle
        /// The connection token is being fetched; no socket.
        ///
        /// To `dialling`, `waiting`, `held`, `stopped`.
        case authorizing
        /// A socket is being opened.
        ///
        /// To `authenticating`, `waiting`, `stopped`.
        case dialling
        /// Connect was sent.
        ///
        /// To `ready`, `waiting`, `stopped`.
        case authenticating(connect: UInt32, sentAt: Instant)
        /// Rooms are joined on it.
        ///
        /// To `waiting`, `held`, `stopped`.
        case ready(since: Instant)
        /// Between two attempts.
        ///
        /// To `authorizing`, `dialling`, `held`, `stopped`.
        case waiting(until: Instant)
        /// The sink takes nothing; no socket.
        ///
        /// To `authorizing`, `dialling`, `stopped`.
        case held
        case stopped
    }

    let shared: SharedPolicy
    var policy: ConnectionPolicy { shared.policy }
    var state = State.idle
    private(set) var generation: UInt64 = 0
    var sessions: [SessionStateMachine]
    var index: RoomIndex
    var tally = Tally()
    var wakeAt = Instant.distantFuture

    // Commands
    var window: CommandWindow
    var lastID: UInt32 = 0
    /// Rooms that want to send something, in the order in which they said so.
    var queue: [Int] = []
    var isQueued: [Bool]

    // The present connection
    var client = ByteString.empty
    var lastHeard = Instant(nanoseconds: 0)
    /// When bytes of an unfinished message were last seen to come.
    var lastProgress = Instant(nanoseconds: 0)
    var silenceLimit: Duration?
    var answersPings = false
    var pongs = PongRate()
    /// An answer to a recovery or a history page came through.
    var hasRecovered = false
    /// One of them was a suspect's, which may be what ends the connection.
    private var hasSuspectAnswered = false
    /// An event came, or a gap was found.
    var hasAdvanced = false
    /// Which rooms may have had something sent to us.
    var company = Company()
    /// The one room that is asked for; the others wait until it is known whether its page ends the connection.
    var probed: Int?
    /// Not all rooms have been joined, or refused, since it became ready.
    var isJoining = false
    var isAnswered = false

    /// Rooms that nobody is in any more, to be used again.
    var freeRooms: [Int] = []
    /// What becomes of a room's place once it was left.
    var successors: [Int: RoomSpecification] = [:]
    /// What the app asked for and the server has not answered: the app's number by the command's.
    var requests: [UInt32: UInt64] = [:]
    /// What the app asked for and was not sent yet.
    var waitingRequests: [AppRequest] = []
    /// How many questions to the server's API are on their way.
    var questions = 0

    // The server's own doing
    /// Rooms that nobody joined.
    var serverSide = ServerSideRooms()
    /// The rooms whose positions went with connect, and how many may.
    var listed: Set<Int> = []
    static let mostListed = 128
    var listedLimit = Self.mostListed
    /// One of them has to be joined again.
    var mustRejoin = false
    /// Things that are logged once.
    var hasToldServerSide = false
    var hasToldUnknown = false

    // Ends of connections
    /// An accused room whose command is in flight, with nothing beside it.
    var onTrial: Int?
    /// A room's command was answered on this connection.
    var hasAnswered = false
    /// Rooms found guilty in a row on connections where nothing was answered.
    var unheard = 0

    // Tokens
    var token: Secret?
    /// The server called this one expired.
    var expiredToken: Secret?
    var refreshAt: Deadline?
    /// The one for renewing it is being fetched.
    var awaitsToken = false

    // Between connections
    private var attempts = 0
    private var clock = ClockComparison()
    /// Ends in a row that came with, or soon after, answers to recoveries.
    private(set) var overloads = 0
    /// Counts answers and ends, for `lastTried`.
    private var tries: UInt64 = 0
    /// The last connection began with one room alone: this one begins with all.
    var wasProbing = false
    private var lastVerdict: EndVerdict?
    var pausedAt: Instant?

    init(policy: ConnectionPolicy, rooms: [RoomSpecification]) {
        let shared = SharedPolicy(policy)
        self.shared = shared
        sessions = rooms.enumerated().map { SessionStateMachine(room: $0, specification: $1, policy: shared) }
        index = RoomIndex(rooms.map(\.name))
        window = CommandWindow(most: policy.commandsInFlight, mostHeavy: policy.recoveriesInFlight)
        isQueued = Array(repeating: false, count: rooms.count)
    }

    // MARK: life

    mutating func start(_ turn: inout Turn) {
        guard state == .idle else { return }
        dial(&turn)
        settle(&turn)
    }

    mutating func stop(_ turn: inout Turn) {
        guard state != .stopped else { return }
        if hasSocket { turn.actions.append(.close(code: CloseCode.normal, reason: .none)) }
        forgetConnection(isSuspicious: false, invalidates: false, &turn)
        state = .stopped
        turn.items.append(.connection(.stopped))
        settle(&turn)
    }

    private var hasSocket: Bool {
        switch state {
        case .dialling, .authenticating, .ready: true
        case .idle, .authorizing, .waiting, .held, .stopped: false
        }
    }

    mutating func dial(_ turn: inout Turn) {
        guard pausedAt == nil else {
            state = .held
            turn.items.append(.connection(.held))
            return
        }
        do {
            token = try policy.tokens.connection()
        } catch TokenFault.pending {
            if state != .authorizing { turn.items.append(.connection(.connecting)) }
            state = .authorizing
            return
        } catch TokenFault.refused(let code, let reason) {
            return finish(.rejected(code: code, reason: reason, isTemporary: false), &turn)
        } catch {
            return finish(.tokenMissing(reason: ByteString("\(error)")), &turn)
        }
        if let expired = expiredToken, expired == token {
            // After the long pause the server is asked all the same: its clock may have been wrong.
            expiredToken = nil
            let reason: ByteString = "token expired, and there is no newer one"
            return finish(.rejected(code: 109, reason: reason, isTemporary: false), &turn)
        }
        generation += 1
        if state != .authorizing { turn.items.append(.connection(.connecting)) }
        state = .dialling
        turn.actions.append(.dial(generation: generation))
    }

    /// The socket is open and speaks our subprotocol.
    ///
    /// `date`: the server's, in seconds since 1970, where it told it.
    mutating func opened(generation: UInt64, date: Int64? = nil, _ turn: inout Turn) {
        guard generation == self.generation, state == .dialling else { return }
        if let date { compareClocks(date.multipliedReportingOverflow(by: 1_000).partialValue, &turn) }
        var request = ConnectRequest()
        request.token = ByteString(token?.bytes ?? [])
        request.name = ByteString(Array(policy.name.bytes.prefix(16)))
        request.version = ByteString(Array(policy.version.bytes.prefix(64)))
        request.subs = listServerSide()
        let id = nextID()
        turn.commands.append(Command(id: id, .connect(request)))
        lastHeard = turn.now
        state = .authenticating(connect: id, sentAt: turn.now)
        settle(&turn)
    }

    /// `time`: the server's, in milliseconds since 1970.
    mutating func compareClocks(_ time: Int64, _ turn: inout Turn) {
        guard let fields = clock.compare(own: turn.wall, other: time) else { return }
        turn.lines.append(LogLine(level: .warning, message: ClockComparison.message, fields: fields))
    }

    /// The socket ended, or could not be opened.
    mutating func ended(_ end: ConnectionEnd, generation: UInt64, _ turn: inout Turn) {
        guard generation == self.generation, hasSocket else { return }
        finish(end, &turn)
        settle(&turn)
    }

    /// A frame cannot be decoded; what came before the fault was taken in.
    mutating func undecodable(_ reason: ByteString, generation: UInt64, _ turn: inout Turn) {
        guard generation == self.generation, hasSocket else { return }
        drop(.undecodable(reason: reason), code: CloseCode.protocolError, .undecodable, &turn)
        settle(&turn)
    }

    // MARK: ends

    /// Ends the connection from our side.
    mutating func drop(_ end: ConnectionEnd, code: UInt16, _ reason: StaticReason, _ turn: inout Turn) {
        turn.actions.append(.close(code: code, reason: reason))
        finish(end, &turn)
    }

    private mutating func finish(_ end: ConnectionEnd, _ turn: inout Turn) {
        var verdict = EndVerdict(end)
        // Not a fault of the connection: the next one is made without waiting for long.
        let finding = blame(verdict, &turn)
        if finding != .nobody { verdict.isTerminal = false }
        // Nothing was asked for that could be asked for in smaller pieces.
        if case .tooLarge = end, !isReady, listed.isEmpty { verdict.isTerminal = true }
        if case .ready(let since) = state, turn.now - since >= policy.steadyAfter {
            attempts = 0
            overloads = 0
            lastVerdict = nil
        }
        if verdict.isSuspicious, window.heavyCount > 0 || hasRecovered { overloads += 1 }
        // A connection that brought an answer is no reason to wait longer than last time, and where each large event
        // costs a connection, what was missed comes at the pace of the pauses.
        let isNoWorse = verdict.isSuspicious && hasRecovered
        let hadAdvanced = hasAdvanced || hasNews(turn)
        forgetConnection(isSuspicious: verdict.isSuspicious, invalidates: verdict.invalidates, &turn)
        if end == .heldUp {
            state = .held
            turn.items.append(.connection(.held))
            turn.log(.warning, "the connection is closed until events can be stored again")
            return
        }
        if verdict.code == CloseCode.expired || verdict.invalidates { policy.tokens.expired(nil) }
        let isProgress = verdict.isSuspicious && (hadAdvanced || hasNews(turn))
        if isProgress || finding == .guilty { attempts = 0 }
        let backoff = isProgress ? policy.backoff.afterProgress : policy.backoff
        let pause =
            verdict.isTerminal
            ? spread(policy.slowRetry, by: 10, random: turn.random)
            : backoff.delay(step: attempts, random: turn.random)
        if !isProgress, !isNoWorse, finding != .guilty { attempts += 1 }
        state = .waiting(until: turn.now + pause)
        turn.items.append(
            .connection(
                .waiting(
                    code: verdict.code,
                    reason: verdict.reason,
                    retryAfter: pause,
                    isTerminal: verdict.isTerminal
                )
            )
        )
        report(verdict, pause, &turn)
    }

    /// Repeated failures of one kind are told at the first, second, fourth, eighth … time.
    private mutating func report(_ verdict: EndVerdict, _ pause: Duration, _ turn: inout Turn) {
        defer { lastVerdict = verdict }
        guard verdict != lastVerdict || attempts.nonzeroBitCount == 1 else { return }
        var fields = [LogField(.reason, verdict.reason), LogField(.wait, pause), LogField(.attempt, attempts)]
        if verdict.code != 0 { fields.insert(LogField(.code, verdict.code), at: 0) }
        if let hint = verdict.hint { fields.append(LogField(.hint, hint)) }
        let message: StaticString =
            verdict.isTerminal
            ? "the server refused the connection; it is tried again only after a long pause"
            : "no connection to the server; it is tried again"
        turn.lines.append(LogLine(level: verdict.isTerminal ? .error : .warning, message: message, fields: fields))
    }

    private mutating func forgetConnection(isSuspicious: Bool, invalidates: Bool, _ turn: inout Turn) {
        // Behind a suspect's answer that one may be to blame: the room that waited keeps its place and its page.
        let wasAlone = window.heavyCount <= 1 && !hasSuspectAnswered
        let sole = wasAlone && !hasRecovered ? company.sole : nil
        forgetListed(isSuspicious: isSuspicious)
        tries += 1
        var tried: Int?
        window.ended(isSuspicious: isSuspicious)
        for room in sessions.indices {
            if invalidates { sessions[room].invalidate() }
            if isSuspicious, wasAlone, sessions[room].inFlight?.isHeavy == true {
                sessions[room].lastTried = tries
                tried = room
            }
            sessions[room].disconnected(isSuspicious: isSuspicious, wasAlone: wasAlone, isSole: room == sole, &turn)
            // Where even the answers that came through end connections, no room asks for a large one.
            if overloads > 1 { sessions[room].avoidRecovery() }
            isQueued[room] = false
            reap(room)
        }
        if let tried {
            // What was too much for one room is so for the others: not each has to lose connections over it.
            let limit = sessions[tried].page.limit
            for room in sessions.indices where sessions[room].isSuspect { sessions[room].page.restrict(to: limit) }
        }
        queue.removeAll(keepingCapacity: true)
        refreshAt = nil
        awaitsToken = false
        failRequests(&turn)
        questions = 0
        client = .empty
        silenceLimit = nil
        answersPings = false
        hasRecovered = false
        hasSuspectAnswered = false
        hasAdvanced = false
        company = Company()
        probed = nil
        isJoining = false
        serverSide.removeAll()
        mustRejoin = false
        onTrial = nil
        hasAnswered = false
    }

    mutating func noteLargeAnswer(for room: Int) {
        hasRecovered = true
        hasSuspectAnswered = hasSuspectAnswered || sessions[room].isSuspect
        tries += 1
        sessions[room].lastTried = tries
        sessions[room].wasAnswered = true
    }

    // MARK: intake

    /// The sink cannot take more: stop reading.
    mutating func intakePaused(_ turn: inout Turn) {
        guard pausedAt == nil else { return }
        pausedAt = turn.now
        if hasSocket { turn.actions.append(.pauseReading) }
        settle(&turn)
    }

    mutating func intakeResumed(_ turn: inout Turn) {
        guard pausedAt != nil else { return }
        pausedAt = nil
        if state == .held {
            dial(&turn)
        } else if hasSocket {
            turn.actions.append(.resumeReading)
            lastHeard = turn.now
            window.restart(at: turn.now)
            if case .authenticating(let id, _) = state { state = .authenticating(connect: id, sentAt: turn.now) }
        }
        settle(&turn)
    }
}

internal import RoomsRuntime
internal import RoomsWire

/// One room on one connection: joins it, catches up with what was missed, watches that nothing is missing.
///
/// It says in `wish` which command it wants; the connection grants it with `start` when there is room for it.
/// Each offset of a stream is handed on once, in order, or lies in a gap.
struct SessionStateMachine {
    enum State: Equatable {
        /// No connection.
        ///
        /// To `wanting`; to `filling`, `live` when the server puts us into the room.
        case away
        /// Wants to subscribe.
        ///
        /// To `joining`, `failed`, `away`; to `filling`, `live` when the server puts us into the room.
        case wanting
        /// Subscribe is in flight.
        ///
        /// To `live`, `filling`, `wanting`, `parting`, `failed`, `away`.
        case joining
        /// Joined, older events are fetched page by page, live ones wait.
        ///
        /// To `live`, `parting`, `wanting`, `failed`, `away`.
        case filling
        /// Joined and in step.
        ///
        /// To `parting`, `wanting`, `failed`, `away`.
        case live
        /// Wants to unsubscribe, because what it hears cannot be right.
        ///
        /// To `leaving`, `away`.
        case parting
        /// Unsubscribe is in flight.
        ///
        /// To `wanting`, `away`.
        case leaving
        /// Refused; after a long pause to `wanting`; to `filling`, `live` when the server puts us into the room.
        case failed
        /// Left for now; the position is kept.
        ///
        /// To `wanting`, `away`, `gone`.
        case resting
        /// Left for good.
        case gone
    }

    /// A command that the session wants to send.
    enum Wish: Equatable {
        case subscribe(isRecovery: Bool)
        case page
        /// Through the server's API, not on the connection.
        case apiPage
        case unsubscribe
        case refresh
        case count

        /// Its answer may be large.
        var isHeavy: Bool { self == .page || self == .subscribe(isRecovery: true) }
    }

    let room: Int
    let name: ByteString
    private let shared: SharedPolicy
    var policy: ConnectionPolicy { shared.policy }

    var state = State.away
    /// False once the room is being left for good.
    var isWanted = true
    /// It is to be left for now, once it is known where it goes on.
    var isResting = false
    /// Nil until the room was joined for the first time.
    var position: RoomPosition?
    /// The sink knows the position that the room's first events follow.
    var isAnchored: Bool
    let startsEarliest: Bool
    private let hearsMembers: Bool
    let countsMembers: Bool
    /// The server said that its stream is void: the next join starts at its top, behind a gap.
    var isInvalidated = false
    var isPositioned = false
    var isDurable = false
    /// What was last said about it in the log.
    var wasDurable: Bool?
    /// That a durable room has events without a position was said in the log.
    var hasToldLoose = false

    /// The one command in flight, and its number: answers to older ones are late.
    var inFlight: Wish?
    var attempt: UInt32 = 0
    /// No wish before this moment.
    var pausedUntil: Instant?
    var liveSince = Instant(nanoseconds: 0)
    /// Troubles in a row without a steady time between them.
    var troubles = 0

    // Catching up
    var live = LiveBuffer()
    var page = PageSize()
    var api = APIReading()
    /// The reply to a recovery did not come through: join without one and fill by pages.
    var avoidsRecovery = false
    /// Recoveries that did not come through where nothing else can be to blame.
    var lostRecoveries = 0
    /// An overload ended a connection while its large answer was awaited, and it has not caught up since: it is fetched
    /// alone, behind the others, so that it does not hold them up.
    var isSuspect = false
    /// When it was last answered or lost, in the connection's count: suspects take turns.
    var lastTried: UInt64 = 0
    /// A large answer came on this connection.
    var wasAnswered = false
    /// How often not even the least it can ask for came through, on connections where something else may be to blame.
    var lostInCompany = 0
    var isHistoryRefused = false
    /// History and subscribe contradict each other, so often in a row.
    var contradictions = 0
    var holes = HoleCount()

    // Counting
    var counting = Counting()

    // Tokens
    /// One is being fetched: no wish until it is there.
    var awaitsToken = false
    /// How many in a row were expired when they came.
    var expiredTokens = 0
    var token: Secret?
    var refreshAt: Deadline?
    var wasRejoined = false

    // The server's own doing
    /// The server put us into the room: it is left and joined with the connection.
    var isServerSide = false
    /// Its position went with connect.
    var wasListed = false

    // Ends of connections
    /// It may have ended one; among the accused the highest is tried first.
    var accusation: Int?
    var conviction: Conviction?
    /// How often in a row it had to wait because it ended a connection, and until when.
    var holdbacks = 0
    var heldUntil: Instant?

    init(room: Int, specification: RoomSpecification, policy: SharedPolicy) {
        self.room = room
        shared = policy
        name = specification.name
        startsEarliest = specification.start == .earliest
        hearsMembers = specification.hearsMembers || specification.countsMembers
        countsMembers = specification.countsMembers
        if case .resume(let known) = specification.start {
            position = known
            isAnchored = true
        } else {
            isAnchored = false
        }
    }

    /// What the next subscribe recovers from; nil: it does not.
    var recoverySince: StreamPosition? {
        if isInvalidated || avoidsRecovery || isGivingUp { return nil }
        if let position { return StreamPosition(offset: position.offset, epoch: position.epoch) }
        return startsEarliest ? StreamPosition(offset: 0, epoch: .empty) : nil
    }

    /// How often a recovery may be lost where there are no pages to fetch instead.
    ///
    /// A real server cuts an answer that is larger than its queue about every second time when it is busy, and then the next
    /// one may well come through: giving up costs everything that was missed.
    private static let mostLostRecoveries = 10

    /// History is refused, and the recovery never comes through: what was missed is given up.
    var isGivingUp: Bool { isHistoryRefused && lostRecoveries >= Self.mostLostRecoveries }

    /// It lost what little it can ask for again and again: only a connection of its own tells whether that is to blame.
    var needsProbe: Bool {
        isSuspect && state != .failed && !isResting
            && lostInCompany + page.lostSingles + (isHistoryRefused ? lostRecoveries : 0) > 0
    }

    /// How many events it knows to be missing.
    var missing: UInt64 {
        guard state == .filling, let position, live.target > position.offset else { return 0 }
        return live.target - position.offset
    }

    var isJoined: Bool { state == .live || state == .filling }

    /// It is joined and in step, failed, or left; nothing is under way.
    var isSettled: Bool { state == .live || state == .failed || state == .resting || state == .gone }

    var wish: Wish? {
        guard inFlight == nil, pausedUntil == nil, heldUntil == nil, !awaitsToken else { return nil }
        switch state {
        case .wanting: return .subscribe(isRecovery: recoverySince != nil)
        case .parting: return .unsubscribe
        case .filling: return refreshAt == .due ? .refresh : api.isUsed ? .apiPage : .page
        case .live: return refreshAt == .due ? .refresh : counting.isDue ? .count : nil
        case .away, .joining, .leaving, .failed, .resting, .gone: return nil
        }
    }

    /// When `tick` has something to do.
    var deadline: Instant? {
        let refresh = refreshAt == .due ? nil : refreshAt?.instant
        guard pausedUntil != nil || heldUntil != nil || counting.at != nil else { return refresh }
        let pause = min(pausedUntil ?? .distantFuture, heldUntil ?? .distantFuture)
        return min(pause, refresh ?? .distantFuture, counting.at ?? .distantFuture)
    }

    // MARK: the connection

    mutating func connected() {
        if state == .away { state = unjoined }
    }

    /// The connection ended.
    ///
    /// `isSuspicious`: in a way that an answer too large for the link would bring about; `wasAlone`: not more than one
    /// large answer was awaited; `isSole`: moreover nothing else can have ended it.
    mutating func disconnected(
        isSuspicious: Bool,
        wasAlone: Bool = true,
        isSole: Bool = true,
        _ turn: inout Turn
    ) {
        if isSuspicious, let inFlight, inFlight.isHeavy {
            isSuspect = true
            if inFlight == .page {
                pageLost(wasAlone: wasAlone, isSole: isSole, &turn)
            } else {
                recoveryLost(wasAlone: wasAlone, isSole: isSole)
            }
        }
        wasAnswered = false
        settleTroubles(turn)
        inFlight = nil
        attempt &+= 1
        refreshAt = nil
        counting.end()
        api.restart()
        live = LiveBuffer()
        if !isAnchored { position = nil }
        awaitsToken = false
        if !isWanted { state = .gone }
        guard state != .failed, state != .gone else { return }
        state = .away
        pausedUntil = nil
    }

    mutating func tick(_ turn: inout Turn) {
        if let pausedUntil, pausedUntil <= turn.now {
            self.pausedUntil = nil
            if state == .failed { state = unjoined }
        }
        if let heldUntil, heldUntil <= turn.now { self.heldUntil = nil }
        counting.tick(turn.now)
        refreshAt?.check(turn)
    }

    // MARK: commands

    /// Grants the wish: the command is sent now.
    mutating func start(_ wish: Wish, token: Secret?) -> Request {
        inFlight = wish
        attempt &+= 1
        switch wish {
        case .subscribe:
            self.token = token
            state = .joining
            return .subscribe(subscribeRequest(token))
        case .page:
            var request = HistoryRequest()
            request.channel = name
            request.limit = Int32(page.limit)
            request.since = StreamPosition(offset: position?.offset ?? 0, epoch: position?.epoch ?? .empty)
            return .history(request)
        case .apiPage:
            return .history(apiQuestion)
        case .unsubscribe:
            state = .leaving
            return .unsubscribe(channel: name)
        case .refresh:
            self.token = token
            return .subRefresh(channel: name, token: ByteString(token?.bytes ?? []))
        case .count:
            counting.asked()
            return .presenceStats(channel: name)
        }
    }

    private func subscribeRequest(_ token: Secret?) -> SubscribeRequest {
        var request = SubscribeRequest()
        request.channel = name
        request.token = ByteString(token?.bytes ?? [])
        request.positioned = true
        request.recoverable = true
        request.joinLeave = policy.hearsMembers || hearsMembers
        if let since = recoverySince {
            request.recover = true
            request.epoch = since.epoch
            request.offset = since.offset
        }
        return request
    }

    /// The answer to a command that `start` gave.
    mutating func answered(_ body: ReplyBody, attempt: UInt32, _ turn: inout Turn) -> SessionVerdict {
        guard attempt == self.attempt, let command = inFlight else {
            turn.tally.late += 1
            return .fine
        }
        inFlight = nil
        switch (command, body) {
        // Deltas were not asked for: what came would not be what was published.
        case (.subscribe, .subscribe(let result)) where !result.delta: subscribed(result, &turn)
        case (.subscribe, .error(let error)): refused(error, &turn)
        case (.page, .history(let result)): pageArrived(result, &turn)
        case (.page, .error(let error)): pageRefused(error, &turn)
        case (.unsubscribe, .unsubscribe): left(&turn)
        case (.refresh, .subRefresh(let result)): refreshed(result, &turn)
        case (.refresh, .error(let error)): refreshRefused(error, &turn)
        case (.count, .presenceStats(_, let users)): counted(users, &turn)
        case (.count, .error(let error)): countRefused(error, &turn)
        default: return .reconnect
        }
        return .fine
    }
}

/// What an answer means for the connection.
enum SessionVerdict: Equatable {
    case fine
    /// Server and client no longer agree on what is subscribed.
    case reconnect
}

/// A moment on both clocks: reached when either says so, since the monotonic one stands still while the machine sleeps.
struct Deadline: Equatable {
    private(set) var instant: Instant
    private let wall: Int64

    static let due = Deadline(instant: Instant(nanoseconds: 0), wall: 0)

    private init(instant: Instant, wall: Int64) {
        self.instant = instant
        self.wall = wall
    }

    init(after delay: Duration, _ turn: Turn) {
        instant = turn.now + delay
        let (sum, overflow) = turn.wall.addingReportingOverflow(delay.wholeMilliseconds)
        wall = overflow ? .max : sum
    }

    /// When a token of `ttl` seconds is renewed: 10 minutes before its end, at half its life if that is short.
    init(renewing ttl: UInt32, _ turn: Turn) {
        let life = Int64(min(ttl, 365 * 86_400))
        let wait: Duration = life >= 1_200 ? .seconds(life - 600) : .milliseconds(life * 500)
        // Up to a tenth earlier, so that many rooms do not renew at once.
        let early = wait.wholeNanoseconds / 10
        let jitter = early > 0 ? Int64(turn.random() % UInt64(early)) : 0
        self.init(after: wait - .nanoseconds(jitter), turn)
    }

    mutating func check(_ turn: Turn) {
        if instant <= turn.now || wall <= turn.wall { self = .due }
    }
}

/// Tells holes that recovery heals from those of a room whose server filters.
struct HoleCount: Equatable {
    private(set) var unhealed = 0
    private var open: UInt64?

    /// Three resubscribes in a row found everything there, and the hole stayed.
    var isFiltered: Bool { unhealed >= 3 }

    mutating func found(at offset: UInt64) { open = offset }

    /// A recovery said that all is there, up to `offset`.
    mutating func recovered(upTo offset: UInt64, isContiguous: Bool) {
        guard let hole = open else { return }
        open = nil
        unhealed = isContiguous && offset >= hole ? 0 : unhealed + 1
    }

    mutating func reset() { self = HoleCount() }
}

internal import RoomsRuntime
internal import RoomsWire

/// Which room may send next, and the end of each event.
extension ConnectionStateMachine {
    /// A command of more than 64 KiB would end the connection for all rooms.
    static let mostTokenBytes = 48 * 1_024
    /// With the rest of the command they are 64 KiB.
    static let mostPublishBytes = 64 * 1_024 - 32
    /// To the server's API at once.
    private static let mostQuestions = 4

    var isReady: Bool {
        if case .ready = state { return true }
        return false
    }

    /// Every room wants to be joined: first those that waited longest for it, last those that may have ended the last
    /// connection.
    mutating func joinAll() {
        isJoining = true
        for room in sessions.indices { sessions[room].connected() }
        // Every second connection at most: the others are not held up for long.
        probed = wasProbing ? nil : nextProbe
        wasProbing = probed != nil
        enqueueAll()
    }

    private var nextProbe: Int? {
        sessions.indices.filter { sessions[$0].needsProbe }.min { sessions[$0].lastTried < sessions[$1].lastTried }
    }

    /// Lets the other rooms in once the probed one was answered, or cannot be asked.
    private mutating func endProbe() {
        guard let room = probed else { return }
        guard hasRecovered || sessions[room].isSettled || sessions[room].pausedUntil != nil else { return }
        probed = nil
        enqueueAll()
    }

    private mutating func enqueueAll() {
        let order = sessions.indices.map { room in
            (isSuspect: sessions[room].isSuspect ? 1 : 0, since: sessions[room].liveSince, room: room)
        }
        for entry in order.sorted(by: <) { enqueue(entry.room) }
    }

    mutating func enqueue(_ room: Int) {
        if let deadline = sessions[room].deadline { wakeAt = min(wakeAt, deadline) }
        guard !isQueued[room], probed == nil || probed == room, sessions[room].wish != nil else { return }
        isQueued[room] = true
        queue.append(room)
    }

    mutating func noteAnswer(from room: Int) {
        isAnswered = true
        reap(room)
        enqueue(room)
    }

    /// Ends an event: sends what may be sent, says when to come back.
    mutating func settle(_ turn: inout Turn) {
        hasAdvanced = hasAdvanced || (isReady && hasNews(turn))
        endProbe()
        if isReady, pausedAt == nil, onTrial == nil {
            if !isTrying { sendRequests(&turn) }
            if !queue.isEmpty { sendQueued(&turn) }
            if mustRejoin { drop(.rejoining, code: CloseCode.normal, .rejoining, &turn) }
        }
        if isAnswered {
            isAnswered = false
            reportJoined(&turn)
        }
        tally += turn.tally
        turn.tally = Tally()
        wakeAt = min(wakeAt, nextDeadline(turn))
    }

    /// An event or a gap of this turn.
    func hasNews(_ turn: Turn) -> Bool {
        turn.items.contains { item in
            switch item {
            case .event, .gap: true
            default: false
            }
        }
    }

    private mutating func sendQueued(_ turn: inout Turn) {
        guard hasPlace else { return }
        var kept: [Int] = []
        var pages: [(missing: UInt64, room: Int)] = []
        let waiting = queue
        // A room whose token cannot be had may come back into it.
        queue = []
        for (index, room) in waiting.enumerated() {
            guard hasPlace else {
                kept += waiting[index...]
                break
            }
            guard let wish = sessions[room].wish else {
                isQueued[room] = false
                continue
            }
            if wish.isHeavy && sessions[room].isSuspect || wish.needsToken && sessions[room].accusation != nil {
                kept.append(room)
            } else if wish == .page, overloads > 0 {
                pages.append((sessions[room].missing, room))
            } else if !sendIfAdmitted(wish, for: room, &turn) {
                kept.append(room)
            }
        }
        kept += sendPages(pages, &turn)
        queue = kept + queue
        sendSuspect(&turn)
        sendAccused(&turn)
    }

    /// For a command of any kind.
    private var hasPlace: Bool { window.admits(isHeavy: false, isAlone: false) }

    /// After an overload rooms that miss little come first, so it must be known how much each misses; gives those that
    /// have to wait.
    private mutating func sendPages(_ pages: [(missing: UInt64, room: Int)], _ turn: inout Turn) -> [Int] {
        guard window.isHeavyOnly else { return pages.map(\.room) }
        return pages.sorted { $0 < $1 }.map(\.room).filter { !sendIfAdmitted(.page, for: $0, &turn) }
    }

    /// Only when nothing else is awaited or wanted; of several suspects the one that waited longest for its turn.
    private mutating func sendSuspect(_ turn: inout Turn) {
        guard window.isEmpty else { return }
        let onConnection = queue.filter { sessions[$0].accusation == nil && sessions[$0].wish != .apiPage }
        let first = onConnection.min { left, right in
            (sessions[left].lastTried, sessions[left].missing) < (sessions[right].lastTried, sessions[right].missing)
        }
        guard let first, let wish = sessions[first].wish else { return }
        queue.removeAll { $0 == first }
        isQueued[first] = false
        send(wish, for: first, isAlone: true, &turn)
    }

    private mutating func sendIfAdmitted(
        _ wish: SessionStateMachine.Wish,
        for room: Int,
        _ turn: inout Turn
    ) -> Bool {
        if wish == .apiPage, questions >= Self.mostQuestions { return false }
        guard window.admits(isHeavy: wish.isHeavy, isAlone: false) else { return false }
        isQueued[room] = false
        send(wish, for: room, isAlone: false, &turn)
        return true
    }

    mutating func send(
        _ wish: SessionStateMachine.Wish,
        for room: Int,
        isAlone: Bool,
        _ turn: inout Turn
    ) {
        var token: Secret?
        if sessions[room].isServerSide, wish == .unsubscribe, sessions[room].isWanted {
            mustRejoin = true
            return
        }
        if case .subscribe = wish, adopt(room, &turn) { return }
        if wish.needsToken {
            do {
                token = try policy.tokens.subscription(sessions[room].name)
            } catch TokenFault.pending {
                sessions[room].awaitsToken = true
                return
            } catch TokenFault.refused(let code, let reason) {
                sessions[room].tokenRefused(code, reason, &turn)
                return enqueue(room)
            } catch {
                sessions[room].tokenFailed(error, &turn)
                return enqueue(room)
            }
            if wish == .refresh, token == nil {
                sessions[room].refreshUnavailable(&turn)
                return enqueue(room)
            }
            if sessions[room].isConvicted(with: token, &turn) { return enqueue(room) }
            if let token, token.bytes.count > Self.mostTokenBytes {
                sessions[room].tokenRefused(
                    UInt32(CloseCode.messageTooLarge),
                    "its token is larger than servers take",
                    &turn
                )
                return enqueue(room)
            }
        }
        if wish == .apiPage { return ask(for: room, &turn) }
        company.heard(room)
        let id = nextID()
        let request = sessions[room].start(wish, token: token)
        window.sent(
            id,
            CommandWindow.Entry(
                room: room,
                attempt: sessions[room].attempt,
                isHeavy: wish.isHeavy,
                isAlone: isAlone,
                sentAt: turn.now
            )
        )
        turn.commands.append(Command(id: id, request))
    }

    private mutating func ask(for room: Int, _ turn: inout Turn) {
        guard case .history(let request) = sessions[room].start(.apiPage, token: nil) else { return }
        questions += 1
        turn.actions.append(.ask(HistoryQuestion(room: room, attempt: sessions[room].attempt, request: request)))
    }

    /// Never called for a connection that is over.
    mutating func apiAnswered(_ question: HistoryQuestion, _ outcome: HistoryOutcome, _ turn: inout Turn) {
        questions -= 1
        sessions[question.room].apiAnswered(outcome, attempt: question.attempt, &turn)
        noteAnswer(from: question.room)
        settle(&turn)
    }

    /// Never 0: that is the pong's.
    mutating func nextID() -> UInt32 {
        lastID = lastID == .max ? 1 : lastID + 1
        return lastID
    }

    /// One line once every room is joined or refused.
    private mutating func reportJoined(_ turn: inout Turn) {
        // From the end: the last ones are joined last, so one look at each answer is enough.
        guard isJoining, sessions.indices.reversed().allSatisfy({ sessions[$0].isSettled }) else { return }
        isJoining = false
        let wanted = sessions.count { $0.isWanted && $0.state != .resting }
        let joined = sessions.count { $0.state == .live }
        turn.log(
            .notice,
            "rooms are joined",
            LogField(.rooms, joined),
            LogField(.refused, wanted - joined)
        )
    }
}

extension SessionStateMachine.Wish {
    var needsToken: Bool {
        switch self {
        case .subscribe, .refresh: true
        case .page, .apiPage, .unsubscribe, .count: false
        }
    }
}

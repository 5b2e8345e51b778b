internal import RoomsRuntime
internal import RoomsWire

/// Which room may send next, and the end of each event.
extension ConnectionStateMachine {
    var isReady: Bool {
        if case .ready = state { return true }
        return false
    }

    /// Every room wants to be joined: first those that waited longest for it, last those that may have ended the last
    /// connection.
    mutating func joinAll() {
        isJoining = true
        for room in sessions.indices { sessions[room].connected() }
        let order = sessions.indices.sorted { left, right in
            let (left, right) = (sessions[left], sessions[right])
            return (left.isSuspect ? 1 : 0, left.liveSince, left.room) < (
                right.isSuspect ? 1 : 0, right.liveSince, right.room
            )
        }
        for room in order { enqueue(room) }
    }

    mutating func enqueue(_ room: Int) {
        if let deadline = sessions[room].deadline { wakeAt = min(wakeAt, deadline) }
        guard !isQueued[room], sessions[room].wish != nil else { return }
        isQueued[room] = true
        queue.append(room)
    }

    mutating func noteAnswer(from room: Int) {
        isAnswered = true
        enqueue(room)
    }

    /// Ends an event: sends what may be sent, says when to come back.
    mutating func settle(_ turn: inout Turn) {
        if isReady, pausedAt == nil, !queue.isEmpty { sendQueued(&turn) }
        if isAnswered {
            isAnswered = false
            reportJoined(&turn)
        }
        tally += turn.tally
        turn.tally = Tally()
        wakeAt = min(wakeAt, nextDeadline(turn))
    }

    private mutating func sendQueued(_ turn: inout Turn) {
        var kept: [Int] = []
        for room in queue {
            guard let wish = sessions[room].wish else {
                isQueued[room] = false
                continue
            }
            let isAlone = wish.isHeavy && sessions[room].isSuspect
            guard window.admits(isHeavy: wish.isHeavy, isAlone: isAlone) else {
                kept.append(room)
                continue
            }
            isQueued[room] = false
            send(wish, for: room, isAlone: isAlone, &turn)
        }
        queue = kept
    }

    private mutating func send(
        _ wish: SessionStateMachine.Wish,
        for room: Int,
        isAlone: Bool,
        _ turn: inout Turn
    ) {
        var token: Secret?
        if wish.needsToken {
            do {
                token = try policy.tokens.subscription(sessions[room].name)
            } catch {
                sessions[room].tokenFailed(error, &turn)
                return enqueue(room)
            }
            if wish == .refresh, token == nil {
                sessions[room].refreshUnavailable(&turn)
                return enqueue(room)
            }
        }
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

    /// Never 0: that is the pong's.
    mutating func nextID() -> UInt32 {
        lastID = lastID == .max ? 1 : lastID + 1
        return lastID
    }

    /// One line once every room is joined or refused.
    private mutating func reportJoined(_ turn: inout Turn) {
        guard isJoining, sessions.allSatisfy(\.isSettled) else { return }
        isJoining = false
        let joined = sessions.count { $0.state == .live }
        turn.log(
            .info,
            "rooms are joined",
            LogField(.count, joined),
            LogField(.state, "\(sessions.count - joined) refused")
        )
    }
}

extension SessionStateMachine.Wish {
    var needsToken: Bool {
        switch self {
        case .subscribe, .refresh: true
        case .page, .unsubscribe: false
        }
    }
}

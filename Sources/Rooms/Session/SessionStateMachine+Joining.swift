internal import RoomsRuntime
internal import RoomsWire

/// What the answer to a subscribe means, and the ways in which a room is left and joined again.
extension SessionStateMachine {
    mutating func subscribed(_ result: SubscribeResult, _ turn: inout Turn) {
        guard state == .joining else { return }
        guard isWanted, unjoined != .resting else { return state = .parting }
        defer { if isResting, isJoined { leave() } }
        expiredTokens = 0
        conviction = nil
        holdbacks = 0
        isServerSide = false
        refreshAt = policy.tokens.renewal(of: name, expires: result.expires, ttl: result.ttl, turn)
        wasRejoined = false
        isPositioned = result.positioned || result.recoverable
        isDurable = result.recoverable
        live = LiveBuffer()
        reportDurability(&turn)
        guard isPositioned else { return joinLiveOnly(result, &turn) }
        if isAnchored, let old = position {
            rejoin(result, from: old, &turn)
        } else {
            joinFirst(result, &turn)
        }
    }

    private mutating func reportDurability(_ turn: inout Turn) {
        defer { wasDurable = isDurable }
        if !isDurable, wasDurable != false {
            turn.log(
                .warning,
                "a room is live-only: the server keeps nothing of what happens while nobody listens",
                LogField(.room, name)
            )
        } else if isDurable, wasDurable == false {
            turn.log(.info, "a room is durable now", LogField(.room, name))
        }
    }

    /// The server keeps no stream for the room, or does not let us follow it.
    private mutating func joinLiveOnly(_ result: SubscribeResult, _ turn: inout Turn) {
        turn.items.append(.joined(room: room, position: nil, isDurable: false))
        for publication in result.publications { emitLoose(publication, &turn) }
        becomeLive(&turn)
    }

    // MARK: a room without a position

    private mutating func joinFirst(_ result: SubscribeResult, _ turn: inout Turn) {
        isInvalidated = false
        guard startsEarliest else {
            // Where the server gives a room's latest unasked, its offset is 0.
            let start = result.oldest.map { $0 - 1 } ?? result.offset
            position = RoomPosition(epoch: result.epoch, offset: start)
            anchor(&turn)
            for publication in result.publications { takeReplayed(publication, &turn) }
            return becomeLive(&turn)
        }
        position = RoomPosition(epoch: result.epoch, offset: 0)
        if result.recovered {
            startAtOldest(result.publications, limit: .max, otherwise: result.offset, &turn)
            for publication in result.publications { takeReplayed(publication, &turn) }
            becomeLive(&turn)
        } else if isGivingUp {
            anchor(&turn)
            declare(.tooLarge, to: result.offset, &turn)
            becomeLive(&turn)
        } else {
            startFilling(upTo: result.offset, &turn)
        }
    }

    /// Fixes where the room begins for us: what was trimmed before we ever joined is no gap.
    mutating func startAtOldest(
        _ publications: [Publication],
        limit: UInt64,
        otherwise: UInt64,
        _ turn: inout Turn
    ) {
        let oldest = publications.first { $0.offset > 0 && $0.offset <= limit }
        let start = oldest.map { $0.offset - 1 } ?? otherwise
        position?.offset = start
        if start > 0 {
            turn.log(
                .info,
                "the room's oldest events were gone before it was joined first",
                LogField(.room, name),
                LogField(.offset, start)
            )
        }
        anchor(&turn)
    }

    mutating func anchor(_ turn: inout Turn) {
        isAnchored = true
        turn.items.append(.joined(room: room, position: position, isDurable: isDurable))
    }

    // MARK: a room with a position

    private mutating func rejoin(
        _ result: SubscribeResult,
        from old: RoomPosition,
        _ turn: inout Turn
    ) {
        var known = old
        if known.epoch.isEmpty { known.epoch = result.epoch }
        position = known
        turn.items.append(.joined(room: room, position: known, isDurable: isDurable))
        let isSameEpoch = result.epoch.isEmpty || result.epoch == known.epoch
        if isInvalidated {
            startOver(result, from: known, isSameEpoch: isSameEpoch, &turn)
        } else if !isSameEpoch {
            holes.reset()
            changeEpoch(to: result.epoch, &turn)
            // A room that keeps its latest only is recovered from any position: the offset is then the one asked for.
            if result.recovered { takeRecovered(result, &turn) } else { startFilling(upTo: result.offset, &turn) }
        } else if result.recovered {
            takeRecovered(result, &turn)
        } else if result.offset < known.offset {
            goBack(to: result.offset, from: known, &turn)
            becomeLive(&turn)
        } else if isGivingUp, result.offset > known.offset {
            declare(.tooLarge, to: result.offset, &turn)
            becomeLive(&turn)
        } else {
            holes.reset()
            startFilling(upTo: result.offset, &turn)
        }
    }

    private mutating func takeRecovered(_ result: SubscribeResult, _ turn: inout Turn) {
        // Of a room that keeps its latest only the server gives that, though it is older than what was asked for.
        if let known = position, let oldest = result.oldest, let newest = result.publications.last?.offset,
            newest < known.offset
        {
            goBack(to: oldest - 1, from: known, &turn)
        }
        var expected = position?.next ?? 0
        var isContiguous = true
        for publication in result.publications {
            isContiguous = isContiguous && publication.offset == expected
            expected = publication.offset == .max ? .max : publication.offset + 1
            takeReplayed(publication, &turn)
        }
        holes.recovered(upTo: position?.offset ?? 0, isContiguous: isContiguous)
        becomeLive(&turn)
    }

    /// Of a room that is joined a real server tells this by 2500, at its next position check; what it publishes before, at or
    /// below the offset that it knows of us, it keeps to itself, and the gap stands for that too.
    private mutating func goBack(to offset: UInt64, from old: RoomPosition, _ turn: inout Turn) {
        holes.reset()
        let now = RoomPosition(epoch: old.epoch, offset: offset, incarnation: old.incarnation &+ 1)
        declare(.wentBack, from: now.next, to: old.offset, then: now, &turn)
    }

    /// The gap after the server said that what it told before is void.
    private mutating func startOver(
        _ result: SubscribeResult,
        from old: RoomPosition,
        isSameEpoch: Bool,
        _ turn: inout Turn
    ) {
        isInvalidated = false
        let top = result.publications.last?.offset ?? result.offset
        var now = RoomPosition(epoch: result.epoch, offset: top)
        var to: UInt64?
        if isSameEpoch {
            now.epoch = old.epoch
            now.incarnation = top < old.offset ? old.incarnation &+ 1 : old.incarnation
            to = top > old.offset ? top : nil
        }
        declare(.invalidated, from: old.next, to: to, then: now, &turn)
        becomeLive(&turn)
    }

    mutating func changeEpoch(to epoch: ByteString, _ turn: inout Turn) {
        guard let old = position else { return }
        declare(.epochChanged, from: old.next, to: nil, then: RoomPosition(epoch: epoch, offset: 0), &turn)
    }

    mutating func becomeLive(_ turn: inout Turn) {
        avoidsRecovery = false
        lostRecoveries = 0
        lostInCompany = 0
        isSuspect = false
        contradictions = 0
        page.caughtUp()
        liveSince = turn.now
        state = .live
        if countsMembers { counting.begin() }
    }

    // MARK: refusals

    mutating func refused(_ error: ErrorReply, _ turn: inout Turn) {
        guard isWanted else { return state = .gone }
        switch error.code {
        case 109, 110:
            tokenExpired(&turn)
        case 105:
            // Our books and the server's differ: leave, then join once more.
            guard !wasRejoined else { return fail(error.code, error.message, &turn) }
            wasRejoined = true
            state = .parting
        case 112 where !avoidsRecovery:
            avoidsRecovery = true
            retry(error, &turn)
        case 100, 111:
            retry(error, &turn)
        default:
            if error.isTemporary { retry(error, &turn) } else { fail(error.code, error.message, &turn) }
        }
    }

    private mutating func tokenExpired(_ turn: inout Turn) {
        let refused = token
        expiredTokens += 1
        policy.tokens.expired(name)
        guard expiredTokens <= 1 else {
            expiredTokens = 0
            return fail(109, "token expired, and so was the one that came after it", &turn)
        }
        do {
            let fresh = try policy.tokens.subscription(name)
            guard let fresh, fresh != refused else {
                return fail(109, "token expired, and there is no newer one", &turn)
            }
            retry(&turn)
        } catch TokenFault.refused(let code, let reason) {
            fail(code, reason, &turn)
        } catch {
            // Asked for again when its turn comes, and waited for then.
            retry(&turn)
        }
    }

    /// No token is given for this room.
    mutating func tokenRefused(_ code: UInt32, _ reason: ByteString, _ turn: inout Turn) {
        guard isJoined else { return fail(code, reason, &turn) }
        // It stays joined for as long as the old one lasts.
        turn.log(
            .warning,
            "a room's token runs out and no new one is given",
            LogField(.room, name),
            LogField(.code, code),
            LogField(.reason, reason)
        )
        refreshAt = Deadline(after: .seconds(60), turn)
    }

    /// No token could be had for this room.
    mutating func tokenFailed(_ error: any Error, _ turn: inout Turn) {
        turn.log(
            .warning,
            "the token of a room cannot be had",
            LogField(.room, name),
            LogField(.error, "\(error)")
        )
        if isJoined {
            refreshAt = Deadline(after: refreshPause(turn), turn)
        } else {
            retry(&turn)
        }
    }

    private mutating func retry(_ error: ErrorReply, _ turn: inout Turn) {
        if troubles == 0 {
            turn.log(
                .info,
                "a room cannot be joined yet, it is tried again",
                LogField(.room, name),
                LogField(.code, error.code),
                LogField(.reason, error.message)
            )
        }
        // 112 is about the position, and the next attempt goes without it.
        if error.code != 112 { turn.items.append(.delayed(room: room, code: error.code, reason: error.message)) }
        retry(&turn)
    }

    /// Joins again after a growing pause.
    private mutating func retry(_ turn: inout Turn) {
        state = unjoined
        pausedUntil = turn.now + policy.backoff.delay(step: troubles, random: turn.random)
        troubles += 1
    }

    mutating func fail(_ code: UInt32, _ reason: ByteString, _ turn: inout Turn) {
        state = .failed
        inFlight = nil
        refreshAt = nil
        if !isAnchored { position = nil }
        let pause = spread(policy.slowRetry, by: 10, random: turn.random)
        pausedUntil = turn.now + pause
        turn.items.append(.failed(room: room, code: code, reason: reason))
        turn.log(
            .error,
            "a room cannot be joined",
            LogField(.room, name),
            LogField(.code, code),
            LogField(.reason, reason),
            LogField(.hint, hint(forSubscribeError: code)),
            LogField(.wait, pause)
        )
    }

    // MARK: leaving

    /// What is heard cannot be right: unsubscribe, then join again from the position.
    mutating func part(_ turn: inout Turn) {
        settleTroubles(turn)
        state = .parting
        live = LiveBuffer()
        inFlight = nil
        attempt &+= 1
        pauseAfterTrouble(&turn)
    }

    mutating func left(_ turn: inout Turn) {
        guard isWanted else { return state = .gone }
        state = unjoined
        if !isAnchored { position = nil }
    }

    /// Called before a joined room stops being that: a steady time makes the troubles before it forgotten.
    mutating func settleTroubles(_ turn: Turn) {
        if state == .live, turn.now - liveSince >= policy.steadyAfter { troubles = 0 }
    }

    /// The first trouble after a steady time costs no pause.
    private mutating func pauseAfterTrouble(_ turn: inout Turn) {
        if troubles > 0 {
            pausedUntil = turn.now + policy.backoff.delay(step: troubles - 1, random: turn.random)
        }
        troubles += 1
    }

    /// The server ended the subscription.
    mutating func unsubscribed(code: UInt32, reason: ByteString, _ turn: inout Turn) {
        // For a room that is not joined it is old news, or meant for another connection of this user.
        guard isJoined else { return }
        settleTroubles(turn)
        inFlight = nil
        attempt &+= 1
        live = LiveBuffer()
        refreshAt = nil
        isServerSide = false
        guard UnsubscribeCode.resubscribes(code) else { return fail(code, reason, &turn) }
        turn.log(
            .info,
            "the server ended a subscription, it is renewed",
            LogField(.room, name),
            LogField(.code, code),
            LogField(.reason, reason)
        )
        if code == UnsubscribeCode.stateInvalidated { invalidate() }
        if code == UnsubscribeCode.stateInvalidated || code == UnsubscribeCode.expired { policy.tokens.expired(name) }
        state = unjoined
        if !isAnchored { position = nil }
        pauseAfterTrouble(&turn)
    }

    /// The server said that the room's stream is void; the gap is written with the next join.
    mutating func invalidate() {
        token = nil
        isInvalidated = isAnchored && position != nil
    }
}

extension SubscribeResult {
    /// The offset of the first of its publications that has one.
    fileprivate var oldest: UInt64? { publications.first { $0.offset > 0 }?.offset }
}

private func hint(forSubscribeError code: UInt32) -> String {
    switch code {
    case 101, 103: "the user or the token has no permission for this room"
    case 102: "the server has no namespace for this name"
    case 106: "the connection holds as many rooms as the server allows"
    case 107: "the server does not accept the name or the token"
    case 108: "the server does not offer this for the room"
    case 109: "renew the room's token, or this machine's clock is behind or ahead of the server's"
    case 2000..<2500: "the server's administrator or application removed this client"
    default: "see the server's log"
    }
}

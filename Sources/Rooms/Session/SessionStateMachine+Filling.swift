internal import RoomsRuntime
internal import RoomsWire

/// Fetching what a recovery did not bring, page by page.
extension SessionStateMachine {
    /// Everything behind the position up to `target` is missing.
    mutating func startFilling(upTo target: UInt64, _ turn: inout Turn) {
        live = LiveBuffer(target: target)
        api.restart()
        state = .filling
        if let position, position.offset >= target { endFilling(&turn) }
    }

    mutating func pageArrived(_ result: HistoryResult, _ turn: inout Turn) {
        guard state == .filling, let old = position else { return }
        if old.epoch.isEmpty { position?.epoch = result.epoch }
        let isSameEpoch = result.epoch.isEmpty || result.epoch == position?.epoch
        guard isSameEpoch, result.offset >= old.offset else { return contradicted(&turn) }
        let bytes = result.publications.reduce(0) { $0 + $1.data.count + 64 }
        page.arrived(count: result.publications.count, bytes: bytes)
        lostInCompany = 0
        let target = live.target
        if !isAnchored { startAtOldest(result.publications, limit: target, otherwise: target, &turn) }
        let before = position?.offset
        // Behind the target the live events continue.
        for publication in result.publications where publication.offset <= target { takeReplayed(publication, &turn) }
        guard let now = position else { return }
        if now.offset == before, now.offset < target { declare(.trimmed, to: target, &turn) }
        if let now = position, now.offset >= target { endFilling(&turn) }
    }

    mutating func endFilling(_ turn: inout Turn) {
        if !isAnchored { anchor(&turn) }
        let waiting = live.take()
        becomeLive(&turn)
        for publication in waiting where state == .live { takeLive(publication, &turn) }
    }

    mutating func pageRefused(_ error: ErrorReply, _ turn: inout Turn) {
        guard state == .filling else { return }
        switch error.code {
        case 112: contradicted(&turn)
        case 101, 102, 103, 104, 108: historyRefused(error, &turn)
        // 100: a real server whose broker is down, which keeps the room joined.
        case 100, 111: pausePages(&turn)
        default:
            if error.isTemporary || troubles < 3 { pausePages(&turn) } else { historyRefused(error, &turn) }
        }
    }

    mutating func pausePages(_ turn: inout Turn) {
        pausedUntil = turn.now + policy.backoff.delay(step: troubles, random: turn.random)
        troubles += 1
    }

    mutating func historyRefused(_ error: ErrorReply, _ turn: inout Turn) {
        if policy.hasHistoryAPI, !api.isRefused { return useAPI(error, &turn) }
        isHistoryRefused = true
        if avoidsRecovery {
            // The pages were in place of a recovery, which is allowed: ask for that after all.
            avoidsRecovery = false
            return part(&turn)
        }
        // With the next connect the server recovers it.
        if canBeListed { return part(&turn) }
        giveUpFilling(&turn)
    }

    private mutating func giveUpFilling(_ turn: inout Turn) {
        if !isAnchored { anchor(&turn) }
        declare(.notPermitted, to: live.target, &turn)
        endFilling(&turn)
    }

    /// History speaks of another stream than the answer to the subscribe: join again to learn which it is.
    private mutating func contradicted(_ turn: inout Turn) {
        contradictions += 1
        if contradictions > 3 {
            contradictions = 0
            return giveUpFilling(&turn)
        }
        part(&turn)
    }

    // MARK: replies that never came

    /// The connection ended before the answer to a recovery was here.
    mutating func recoveryLost(wasAlone: Bool, isSole: Bool) {
        if isSole {
            lostRecoveries += 1
        } else if wasAlone, isHistoryRefused, !wasAnswered {
            lostInCompany += 1
        }
        avoidRecovery()
    }

    /// Asks for small pages in place of a recovery, unless those are refused.
    mutating func avoidRecovery() {
        page.beCautious()
        avoidsRecovery = !isHistoryRefused
    }

    /// The connection ended before a page was here.
    ///
    /// Only a page that was awaited alone is made smaller, and only one that nothing else could hinder is given up: a
    /// live event of any other room may end a connection as well.
    mutating func pageLost(wasAlone: Bool, isSole: Bool, _ turn: inout Turn) {
        avoidsRecovery = !isHistoryRefused
        guard wasAlone else { return page.beCautious() }
        if page.limit == 1, !isSole, !wasAnswered { lostInCompany += 1 }
        guard page.lost(isSole: isSole), let position else { return }
        lostInCompany = 0
        if !isAnchored { anchor(&turn) }
        declare(.tooLarge, to: position.next, &turn)
    }
}

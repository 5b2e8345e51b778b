internal import BridgeModel
internal import RoomsRuntime

/// What waits because of a failure, and for how long: a lane, or the whole endpoint.
extension EndpointStateMachine {
    // MARK: the lane's or the endpoint's fault

    /// Another lane has failed, too, and nothing was accepted in between.
    mutating func isConfirmed(_ attempt: Attempt) -> Bool {
        let lane = attempt.lane
        guard lanes[lane].hold?.isOwn != true else { return false }
        suspects.insert(lane)
        return suspects.count > 1
    }

    mutating func laneFailed(
        _ attempt: Attempt,
        _ refusal: Refusal,
        _ outcome: Outcome,
        _ now: Instant,
        _ wall: Int64
    ) -> Outcome {
        var outcome = outcome
        let lane = attempt.lane
        lanes[lane].shorten()
        let failures = (lanes[lane].hold?.failures ?? 0) + 1
        let schedule = lanes[lane].hold?.isOwn == true ? schedule.ofOwnFault : schedule
        var pause = schedule.wait(afterFailures: failures, random: random())
        if refusal.isTriedAtOnce, failures == 1 { pause = .zero }
        if let asked = refusal.retryAfter { pause = max(pause, min(asked, schedule.longestAsked)) }
        if let change = noteFailure(of: lane, refusal, pause, now) { outcome.lane = change }
        if isSuspicious(lane, refusal, now) {
            if limits.infersPoison { return giveUpSuspect(lane, refusal, outcome, now, wall) }
            if let change = suspect(lane, refusal) { outcome.lane = change }
        }
        wait(lane, pause, now)
        return outcome
    }

    /// Whether the lane's event is the likely cause: it fails for a minute, while others are accepted.
    private mutating func isSuspicious(_ lane: Int, _ refusal: Refusal, _ now: Instant) -> Bool {
        guard var hold = lanes[lane].hold else { return false }
        if refusal.mayBeTheEvents {
            if hold.doubts == 0 { hold.acceptedBefore = accepted }
            hold.doubts += 1
            lanes[lane].hold = hold
        }
        return hold.doubts >= Self.leastDoubts && accepted - hold.acceptedBefore >= Self.leastAccepted
            && now - hold.since >= Self.leastDoubtful
    }

    /// Once for each event.
    private mutating func suspect(_ lane: Int, _ refusal: Refusal) -> Outcome.Change? {
        guard var hold = lanes[lane].hold, !hold.isSuspected else { return nil }
        hold.isSuspected = true
        lanes[lane].hold = hold
        return .suspected(refusal, failures: hold.failures)
    }

    private mutating func giveUpSuspect(
        _ lane: Int,
        _ refusal: Refusal,
        _ outcome: Outcome,
        _ now: Instant,
        _ wall: Int64
    ) -> Outcome {
        if isFullOfDeadLetters { return holdForPlace(lane, outcome, now) }
        var outcome = outcome
        let since = lanes[lane].hold.map { wall - (now - $0.since).wholeMilliseconds } ?? wall
        lanes[lane].blame(refusal, since: since, wall: wall)
        lanes[lane].setAside(isDecided: true)
        takeDecided(lane, into: &outcome)
        goOn(lane, refusal, failures: 1, now)
        return outcome
    }

    /// The end of one that says something about the whole endpoint.
    mutating func probeFailed(_ attempt: Attempt, _ refusal: Refusal, _ now: Instant) -> Outcome {
        if hold?.isRejecting == true, lanes[attempt.lane].isTroubled {
            lanes[attempt.lane].forgetRefusals()
        } else {
            lanes[attempt.lane].beginRound()
        }
        lanes[attempt.lane].shorten()
        makeReady(attempt.lane)
        guard attempt.epoch == epoch else { return lateWord(refusal, now) }
        return hold(for: refusal, isRejecting: hold?.isRejecting ?? false, Outcome(), now)
    }

    /// Its failure was counted with that of another one, but what the endpoint asks for holds all the same.
    private mutating func lateWord(_ refusal: Refusal, _ now: Instant) -> Outcome {
        guard refusal.retryAfter != nil || refusal.isFinal else { return Outcome() }
        guard let held = hold, !refusal.isFinal else {
            return hold(for: refusal, isRejecting: hold?.isRejecting ?? false, Outcome(), now)
        }
        let wait = schedule.wait(afterFailures: 1, asked: refusal.retryAfter, random: random())
        if held.until < now + wait {
            hold?.until = now + wait
            hold?.length = wait
        }
        return Outcome()
    }

    mutating func hold(
        for refusal: Refusal,
        isRejecting: Bool,
        _ outcome: Outcome,
        _ now: Instant
    ) -> Outcome {
        var outcome = outcome
        epoch += 1
        suspects.removeAll(keepingCapacity: true)
        var failures = (hold?.failures ?? 0) + 1
        if hold == nil, let last = lastHold, now - last.end < Self.health { failures = last.failures + 1 }
        var wait = schedule.wait(afterFailures: failures, asked: refusal.retryAfter, random: random())
        let eager = refusal.isUnreachable ? hold?.eager ?? 0 : 0
        if eager > 0 { (wait, failures) = (Self.eagerWait * (1 << (Self.eagerProbes - eager)), failures - 1) }
        let until = refusal.isFinal ? .distantFuture : now + wait
        if hold == nil || (refusal.isFinal && hold?.until != .distantFuture) {
            outcome.endpoint = .held(refusal, wait: wait)
        }
        hold = Hold(
            failures: failures,
            since: hold?.since ?? now,
            until: until,
            length: wait,
            isRejecting: isRejecting,
            isUnreachable: refusal.isUnreachable,
            eager: max(0, eager - 1)
        )
        return outcome
    }

    /// What began before the hold does not end it: the endpoint may have asked for a pause since.
    mutating func open(_ attempt: Attempt, _ now: Instant) -> Outcome.Change? {
        guard let ended = hold, attempt.epoch == epoch else { return nil }
        hold = nil
        epoch += 1
        lastHold = (ended.failures, now)
        allowed = 1
        growsSlowly = false
        return .recovered(failures: ended.failures, after: now - ended.since)
    }

    // MARK: later

    /// The receiver works, and wants this room's event another time.
    mutating func postponed(_ attempt: Attempt, _ refusal: Refusal, _ now: Instant) -> Outcome {
        var outcome = Outcome()
        outcome.endpoint = open(attempt, now)
        let lane = attempt.lane
        let pause =
            refusal.retryAfter.map { min(max($0, Self.shortestPostponement), schedule.longestAsked) }
            ?? schedule.wait(afterFailures: attempt.number, random: random())
        outcome.lane = noteFailure(of: lane, refusal, pause, now)
        lanes[lane].hold?.isOwn = true
        lanes[lane].beginRound()
        wait(lane, pause, now)
        lanes[lane].isPostponed = true
        return outcome
    }

    /// What the receiver asked for lapses with its connection.
    mutating func endPostponements() {
        for lane in lanes.indices where lanes[lane].isPostponed && lanes[lane].phase == .waiting {
            lanes[lane].isPostponed = false
            endWait(lane)
            makeReady(lane)
            want(lane)
        }
    }

    // MARK: waits

    /// Counts a failure of the lane; what to tell of it.
    mutating func noteFailure(
        of lane: Int,
        _ refusal: Refusal,
        _ wait: Duration,
        _ now: Instant
    ) -> Outcome.Change? {
        var hold = lanes[lane].hold ?? LaneQueue.Hold(failures: 0, since: now, isReported: false)
        hold.failures += 1
        defer { lanes[lane].hold = hold }
        guard hold.failures == 1 else { return nil }
        heldLanes += 1
        hold.isReported = heldLanes <= Self.reportedHolds
        return hold.isReported ? .held(refusal, wait: wait) : nil
    }

    mutating func wait(_ lane: Int, _ pause: Duration, _ now: Instant) {
        lanes[lane].phase = .waiting
        lanes[lane].isPostponed = false
        let size = lanes[lane].bytes
        lanes[lane].trim()
        bytes -= size - lanes[lane].bytes
        lanes[lane].wait = waits.add(lane, at: now + pause)
        lanes[lane].hold?.until = now + pause
        lanes[lane].hold?.length = pause
    }
}

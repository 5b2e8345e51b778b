internal import BridgeModel
internal import RoomsRuntime

/// What the end of an attempt means for its lane and for the endpoint.
extension EndpointStateMachine {
    /// `wall`: milliseconds since 1970.
    mutating func finish(_ attempt: Attempt, _ verdict: Verdict, _ now: Instant, wall: Int64) -> Outcome {
        inFlight -= 1
        defer { applyChanges(attempt.lane) }
        switch verdict {
        case .delivered:
            return delivered(attempt, now)
        case .refused(let refusal):
            switch refusal.scope {
            case .event where hold?.isRejecting == true && refusal.budget > 0:
                return probeFailed(attempt, refusal, now)
            case .event:
                return eventRefused(attempt, refusal, now, wall)
            case .endpoint:
                return probeFailed(attempt, refusal, now)
            case .lane where refusal.isPostponement:
                return postponed(attempt, refusal, now)
            case .lane, .overload:
                if refusal.scope == .overload { slowDown() }
                // Held already, asked to pause, or not the first lane that fails: it is not the room.
                if hold != nil || refusal.retryAfter != nil || isConfirmed(attempt) {
                    return probeFailed(attempt, refusal, now)
                }
                return laneFailed(attempt, refusal, now, wall)
            }
        }
    }

    // MARK: accepted

    private mutating func delivered(_ attempt: Attempt, _ now: Instant) -> Outcome {
        var outcome = Outcome()
        outcome.endpoint = open(attempt, now)
        accepted += 1
        lastAccepted = max(lastAccepted, attempt.serial)
        refusedInARow = 0
        for lane in suspects where lane != attempt.lane { lanes[lane].hold?.isOwn = true }
        suspects.removeAll(keepingCapacity: true)
        grow()
        let lane = attempt.lane
        let size = lanes[lane].bytes
        // What stood before it was refused, and cannot come after it.
        if lanes[lane].turn > 0 { outcome.deadLetters = lanes[lane].giveUp(lanes[lane].turn) }
        outcome.settlement = lanes[lane].settle()
        bytes -= size - lanes[lane].bytes
        if let hold = lanes[lane].hold {
            lanes[lane].hold = nil
            heldLanes -= 1
            if hold.isReported { outcome.lane = .recovered(failures: hold.failures, after: now - hold.since) }
        }
        makeReady(lane)
        want(lane)
        return outcome
    }

    private mutating func grow() {
        guard allowed < limits.concurrency else { return growsSlowly = false }
        round += 1
        guard !growsSlowly || round >= allowed else { return }
        allowed += 1
        round = 0
    }

    private mutating func slowDown() {
        allowed = max(1, min(allowed, limits.concurrency) / 2)
        growsSlowly = true
        round = 0
    }

    // MARK: the event's fault, perhaps

    private mutating func eventRefused(
        _ attempt: Attempt,
        _ refusal: Refusal,
        _ now: Instant,
        _ wall: Int64
    ) -> Outcome {
        var outcome = Outcome()
        // Whoever judges events is there.
        outcome.endpoint = open(attempt, now)
        let lane = attempt.lane
        let wasAside = lanes[lane].turn < lanes[lane].aside.count
        let trial = lanes[lane].refuse(refusal, serial: attempts, wall: wall)
        outcome.lane = noteFailure(of: lane, refusal, schedule.pause(afterRefusals: trial.refusals), now)
        guard wasAside || trial.refusals >= refusal.budget else {
            let pause = schedule.pause(afterRefusals: trial.refusals)
            wait(lane, max(pause, refusal.retryAfter ?? .zero), now)
            return outcome
        }
        // Something that began after its first refusal was accepted: the endpoint is well.
        let isDecided = refusal.budget == 0 || trial.firstRefusal.map { lastAccepted > $0 } == true
        // One that is sent again has its place.
        let hasPlace = !isFullOfDeadLetters || lanes[lane].current?.retry != nil
        if isDecided, !hasPlace { return holdForPlace(lane, outcome, now) }
        lanes[lane].setAside(isDecided: isDecided)
        if !wasAside, !isDecided { refusedInARow += 1 }
        if refusedInARow >= Self.mostRefused { return holdRejecting(lane, refusal, outcome, now) }
        outcome.deadLetters = takeDecided(lane)
        goOn(lane, refusal, failures: trial.refusals, now)
        return outcome
    }

    /// To the record behind the one that was set aside, or to a wait when there is none.
    private mutating func goOn(_ lane: Int, _ refusal: Refusal, failures: Int, _ now: Instant) {
        if lanes[lane].current != nil || lanes[lane].records.isEmpty {
            makeReady(lane)
        } else {
            lanes[lane].awaitsSuccessor = true
            wait(
                lane,
                schedule.wait(afterFailures: failures, asked: refusal.retryAfter, random: random()),
                now
            )
        }
        want(lane)
    }

    /// It refuses everything: nothing of that was an event's fault.
    private mutating func holdRejecting(
        _ lane: Int,
        _ refusal: Refusal,
        _ outcome: Outcome,
        _ now: Instant
    ) -> Outcome {
        refusedInARow = 0
        for other in lanes.indices where lanes[other].phase == .waiting && lanes[other].isTroubled {
            lanes[other].forgetRefusals()
            endWait(other)
            makeReady(other)
        }
        lanes[lane].forgetRefusals()
        makeReady(lane)
        var refusal = refusal
        refusal.scope = .endpoint
        refusal.reason = "it refuses every event, the last one because \(refusal.reason)"
        refusal.hint = "nothing is given up: the endpoint, or what stands before it, is not as it should be"
        return hold(for: refusal, isRejecting: true, outcome, now)
    }

    /// What should be given up has no place among the dead letters.
    private mutating func holdForPlace(_ lane: Int, _ outcome: Outcome, _ now: Instant) -> Outcome {
        lanes[lane].forgetRefusals()
        makeReady(lane)
        let reason = "it refused an event for good, and the dead letters have no place for it"
        let hint: StaticString = "look through the dead letters of this endpoint, and purge them or send them again"
        let refusal = Refusal(scope: .endpoint, status: nil, reason: reason, hint: hint)
        let held = hold(for: refusal, isRejecting: false, outcome, now)
        hold?.isForPlace = true
        return held
    }

    // MARK: the lane's or the endpoint's fault

    /// Another lane has failed, too, and nothing was accepted in between.
    private mutating func isConfirmed(_ attempt: Attempt) -> Bool {
        let lane = attempt.lane
        guard lanes[lane].hold?.isOwn != true else { return false }
        suspects.insert(lane)
        return suspects.count > 1
    }

    private mutating func laneFailed(
        _ attempt: Attempt,
        _ refusal: Refusal,
        _ now: Instant,
        _ wall: Int64
    ) -> Outcome {
        var outcome = Outcome()
        let lane = attempt.lane
        let failures = (lanes[lane].hold?.failures ?? 0) + 1
        let schedule = lanes[lane].hold?.isOwn == true ? schedule.ofOwnFault : schedule
        var pause = schedule.wait(afterFailures: failures, random: random())
        if refusal.isTriedAtOnce, failures == 1 { pause = .zero }
        outcome.lane = noteFailure(of: lane, refusal, pause, now)
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
        outcome.deadLetters = takeDecided(lane)
        goOn(lane, refusal, failures: 1, now)
        return outcome
    }

    /// Takes what is decided upon from the front of a lane.
    private mutating func takeDecided(_ lane: Int) -> [Settlement] {
        let size = lanes[lane].bytes
        let deadLetters = lanes[lane].giveUp(lanes[lane].decided)
        bytes -= size - lanes[lane].bytes
        if lanes[lane].aside.isEmpty, lanes[lane].hold.take() != nil { heldLanes -= 1 }
        return deadLetters
    }

    /// The end of one that says something about the whole endpoint.
    private mutating func probeFailed(_ attempt: Attempt, _ refusal: Refusal, _ now: Instant) -> Outcome {
        lanes[attempt.lane].beginRound()
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

    private mutating func hold(
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
    private mutating func open(_ attempt: Attempt, _ now: Instant) -> Outcome.Change? {
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
    private mutating func postponed(_ attempt: Attempt, _ refusal: Refusal, _ now: Instant) -> Outcome {
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
    private mutating func noteFailure(
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

    private mutating func wait(_ lane: Int, _ pause: Duration, _ now: Instant) {
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

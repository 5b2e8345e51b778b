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
            return delivered(attempt, attempt.count, now)
        case .partly(let part):
            // A probe of which nothing was accepted is a failed one, however that was said.
            if hold != nil, part.accepted == 0, part.later.isEmpty, let refusal = part.refusal {
                return refused(attempt, refusal, now, wall)
            }
            return partlyAccepted(attempt, part, now, wall)
        case .refused(let refusal):
            return refused(attempt, refusal, now, wall)
        }
    }

    private mutating func refused(
        _ attempt: Attempt,
        _ refusal: Refusal,
        _ now: Instant,
        _ wall: Int64
    ) -> Outcome {
        // Alone it was too large, too: that says nothing of how many may go together.
        if refusal.isTooLarge, attempt.count == 1 { batchBytes = limits.batch?.maxBytes ?? 0 }
        switch refusal.scope {
        case .event where hold?.isRejecting == true && refusal.budget > 0:
            return probeFailed(attempt, refusal, now)
        case .event where attempt.count > 1, .lane where attempt.count > 1 && refusal.isOfOne:
            return split(attempt, refusal, now)
        case .event:
            return eventRefused(attempt, refusal, Outcome(), isSingledOut: false, now, wall)
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
            return laneFailed(attempt, refusal, Outcome(), now, wall)
        }
    }

    // MARK: accepted

    private mutating func delivered(_ attempt: Attempt, _ count: Int, _ now: Instant) -> Outcome {
        let outcome = accepted(attempt, count, now)
        makeReady(attempt.lane)
        want(attempt.lane)
        return outcome
    }

    /// The first `count` records of the attempt were; its lane has to go on somehow.
    mutating func accepted(_ attempt: Attempt, _ count: Int, _ now: Instant) -> Outcome {
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
        outcome.settlement = lanes[lane].settle(count)
        bytes -= size - lanes[lane].bytes
        growBatch(attempt)
        if let hold = lanes[lane].hold {
            lanes[lane].hold = nil
            heldLanes -= 1
            if hold.isReported { outcome.lane = .recovered(failures: hold.failures, after: now - hold.since) }
        }
        return outcome
    }

    private mutating func grow() {
        guard allowed < limits.concurrency else { return growsSlowly = false }
        round += 1
        guard !growsSlowly || round >= allowed else { return }
        allowed += 1
        round = 0
    }

    mutating func slowDown() {
        allowed = max(1, min(allowed, limits.concurrency) / 2)
        growsSlowly = true
        round = 0
    }

    // MARK: the event's fault, perhaps

    /// `outcome` is of what was accepted with the same attempt, where `isSingledOut`.
    mutating func eventRefused(
        _ attempt: Attempt,
        _ refusal: Refusal,
        _ outcome: Outcome,
        isSingledOut: Bool,
        _ now: Instant,
        _ wall: Int64
    ) -> Outcome {
        var outcome = outcome
        // Whoever judges events is there.
        if let change = open(attempt, now) { outcome.endpoint = change }
        let lane = attempt.lane
        let wasAside = lanes[lane].turn < lanes[lane].aside.count
        let trial = lanes[lane].refuse(
            refusal,
            serial: attempts,
            isSingledOut: isSingledOut,
            wall: wall
        )
        if let change = noteFailure(of: lane, refusal, schedule.pause(afterRefusals: trial.refusals), now) {
            outcome.lane = change
        }
        guard wasAside || trial.refusals >= refusal.budget else {
            let pause = schedule.pause(afterRefusals: trial.refusals)
            wait(lane, max(pause, min(refusal.retryAfter ?? .zero, schedule.longestAsked)), now)
            return outcome
        }
        // Something that began after its first refusal was accepted, or something beside it: the endpoint is well.
        let isDecided =
            refusal.budget == 0 || trial.isSingledOut || trial.firstRefusal.map { lastAccepted > $0 } == true
        // One that is sent again has its place.
        let hasPlace = !isFullOfDeadLetters || lanes[lane].current?.retry != nil
        if isDecided, !hasPlace { return holdForPlace(lane, outcome, now) }
        lanes[lane].setAside(isDecided: isDecided)
        if !wasAside, !isDecided { refusedInARow += 1 }
        if refusedInARow >= Self.mostRefused { return holdRejecting(lane, refusal, outcome, now) }
        takeDecided(lane, into: &outcome)
        goOn(lane, refusal, failures: trial.refusals, now)
        return outcome
    }

    /// Takes what is decided upon from the front of a lane, and what was accepted ahead of it.
    mutating func takeDecided(_ lane: Int, into outcome: inout Outcome) {
        let size = lanes[lane].bytes
        let given = lanes[lane].giveUp(lanes[lane].decided)
        let taken = lanes[lane].settleTaken()
        if outcome.settlement == nil {
            outcome.deadLetters += given
            outcome.settlement = taken
        } else {
            outcome.behind = given + (taken.map { [$0] } ?? [])
        }
        bytes -= size - lanes[lane].bytes
        if lanes[lane].aside.isEmpty, lanes[lane].hold.take() != nil { heldLanes -= 1 }
    }

    /// To the record behind the one that was set aside, or to a wait when there is none.
    mutating func goOn(_ lane: Int, _ refusal: Refusal, failures: Int, _ now: Instant) {
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
        for other in lanes.indices where lanes[other].phase != .inFlight && lanes[other].isTroubled {
            lanes[other].forgetRefusals()
            guard lanes[other].phase == .waiting else { continue }
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
    mutating func holdForPlace(_ lane: Int, _ outcome: Outcome, _ now: Instant) -> Outcome {
        lanes[lane].forgetRefusals()
        makeReady(lane)
        let reason = "it refused an event for good, and the dead letters have no place for it"
        let hint: StaticString = "look through the dead letters of this endpoint, and purge them or send them again"
        let refusal = Refusal(scope: .endpoint, status: nil, reason: reason, hint: hint)
        let held = hold(for: refusal, isRejecting: false, outcome, now)
        hold?.isForPlace = true
        return held
    }
}

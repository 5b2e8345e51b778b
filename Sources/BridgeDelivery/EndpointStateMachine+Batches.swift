internal import RoomsRuntime

/// What is different where one attempt is for several events of a room.
extension EndpointStateMachine {
    /// Something in a batch was refused: smaller ones tell what, at once, and deliver what stands before it.
    ///
    /// Each takes half of those among which it must be. Alone it counts as refused, with all that follows from that.
    mutating func split(_ attempt: Attempt, _ refusal: Refusal, _ now: Instant) -> Outcome {
        var outcome = Outcome()
        outcome.endpoint = open(attempt, now)
        if refusal.isTooLarge {
            batchBytes = max(1, min(batchBytes, attempt.bytes) / 2)
        } else {
            lanes[attempt.lane].doubt(attempt.count)
        }
        makeReady(attempt.lane)
        want(attempt.lane)
        return outcome
    }

    /// A large batch was accepted: perhaps the next may be larger, after many of them.
    mutating func growBatch(_ attempt: Attempt) {
        guard let most = limits.batch?.maxBytes, batchBytes < most, attempt.bytes > batchBytes / 2 else { return }
        batchBytes = min(most, batchBytes + batchBytes / 64 + 1)
    }

    /// The receiver told the events of a batch apart.
    mutating func partlyAccepted(
        _ attempt: Attempt,
        _ part: PartialAcceptance,
        _ now: Instant,
        _ wall: Int64
    ) -> Outcome {
        let lane = attempt.lane
        let count = min(part.accepted, attempt.count)
        var outcome = Outcome()
        let hasAccepted = count > 0 || !part.later.isEmpty
        if hasAccepted {
            lanes[lane].take(part.later, of: attempt.count)
            // Who takes only so many gets hardly more.
            if part.refusal == nil { lanes[lane].shorten(to: count) }
            outcome = accepted(attempt, count, now)
            // Of the one behind them it was an attempt as well.
            if part.refusal != nil, count > 0 { _ = lanes[lane].beginAttempt() }
        }
        guard let refusal = part.refusal else {
            makeReady(lane)
            want(lane)
            return outcome
        }
        switch refusal.scope {
        case .event:
            return eventRefused(attempt, refusal, outcome, isSingledOut: hasAccepted, now, wall)
        case .lane, .endpoint, .overload:
            if refusal.scope == .overload { slowDown() }
            return laneFailed(attempt, refusal, outcome, now, wall)
        }
    }

    // MARK: company

    /// Whether the lane's events wait for more: where nothing waits already, not in the store either.
    mutating func lingers(_ lane: Int) -> Bool {
        guard let batch = limits.batch, batch.linger > .zero, !lanes[lane].isBehind, !isDraining else { return false }
        guard lanes[lane].records.count < batch.maxEvents, lanes[lane].bytes < batchBytes else { return false }
        lanes[lane].phase = .lingering
        return true
    }

    mutating func beginLinger(_ now: Instant) {
        for lane in arrived where lanes[lane].phase == .lingering {
            lingering.append((lane, now + (limits.batch?.linger ?? .zero)))
        }
        arrived.removeAll(keepingCapacity: true)
    }

    /// A lane that left and came back meanwhile goes with its older entry, a little early.
    mutating func endLinger(_ now: Instant) {
        while let first = lingering.first, first.until <= now {
            _ = lingering.popFirst()
            if lanes[first.lane].phase == .lingering { makeReady(first.lane) }
        }
    }
}

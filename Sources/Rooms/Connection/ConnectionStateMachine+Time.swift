internal import RoomsRuntime
internal import RoomsWire

/// What is due when: answers, signs of life, renewals, the next attempt.
extension ConnectionStateMachine {
    /// Bytes of a message that is still coming.
    mutating func bytesArrived(at now: Instant) {
        lastProgress = now
    }

    private var answersDue: Instant? {
        window.deadline(timeout: policy.commandTimeout, lastHeard: max(lastHeard, lastProgress))
    }

    mutating func tick(_ turn: inout Turn) {
        switch state {
        case .waiting(let until) where until <= turn.now: dial(&turn)
        case .authenticating, .ready: checkDeadlines(&turn)
        default: break
        }
        for room in sessions.indices {
            sessions[room].tick(&turn)
            enqueue(room)
        }
        wakeAt = .distantFuture
        settle(&turn)
        wakeAt = min(nextDeadline(turn), sessions.reduce(.distantFuture) { min($0, $1.deadline ?? .distantFuture) })
    }

    private mutating func checkDeadlines(_ turn: inout Turn) {
        if let pausedAt {
            if pausedAt + policy.pauseLimit <= turn.now { drop(.heldUp, code: CloseCode.normal, .intakePaused, &turn) }
            return
        }
        if case .authenticating(_, let sentAt) = state {
            if sentAt + policy.commandTimeout <= turn.now {
                drop(.unanswered, code: CloseCode.normal, .noAnswer, &turn)
            }
            return
        }
        if let silenceLimit, lastHeard + silenceLimit <= turn.now {
            return drop(.silent, code: CloseCode.normal, .noPing, &turn)
        }
        if let answersDue, answersDue <= turn.now {
            return drop(.unanswered, code: CloseCode.normal, .noAnswer, &turn)
        }
        refreshAt?.check(turn)
        if refreshAt == .due { refresh(&turn) }
    }

    /// The earliest moment at which `tick` has to look at the connection itself.
    func nextDeadline(_ turn: Turn) -> Instant {
        switch state {
        case .waiting(let until): return until
        case .authenticating, .ready: break
        case .idle, .authorizing, .dialling, .held, .stopped: return .distantFuture
        }
        if let pausedAt { return pausedAt + policy.pauseLimit }
        if case .authenticating(_, let sentAt) = state { return sentAt + policy.commandTimeout }
        var earliest = refreshAt?.instant ?? .distantFuture
        if let silenceLimit { earliest = min(earliest, lastHeard + silenceLimit) }
        return min(earliest, answersDue ?? .distantFuture)
    }
}

internal import BridgeModel
internal import RoomsRuntime

/// What is remembered of attempts that failed.
extension LaneQueue {
    /// Failed attempts in a row.
    struct Hold {
        var failures: Int
        var since: Instant
        /// Whether its beginning was reported, so that its end is, too.
        var isReported: Bool
        /// Another lane was accepted meanwhile: it is not the endpoint that fails.
        var isOwn = false
        /// The present wait.
        var until = Instant.distantFuture
        var length = Duration.zero
        /// Failures that the event itself may have caused, and what the endpoint had accepted before the first of them.
        var doubts = 0
        var acceptedBefore: UInt64 = 0
        var isSuspected = false
    }

    /// Attempts of one record.
    struct Trial {
        /// Begun, whatever became of them.
        var attempts = 0
        /// Those that were refused for the record's own sake.
        var refusals = 0
        /// When the first of those refusals came, in attempts of the endpoint; nil: none did.
        var firstRefusal: UInt64?
        /// The same answer that refused it accepted others.
        var isSingledOut = false
        /// On the wall, in milliseconds since 1970.
        var firstAt: Int64 = 0
        var lastAt: Int64 = 0
        var reason = DeadLetter.Reason.refused
        var status: Int?
        /// It is its own fault, whatever becomes of those before it.
        var isDecided = false
    }
}

extension LaneQueue.Trial {
    var deadLetter: DeadLetter {
        DeadLetter(
            reason: reason,
            status: status,
            attempts: attempts,
            firstAttempt: firstAt,
            lastAttempt: lastAt
        )
    }
}

extension Refusal {
    var deadLetterReason: DeadLetter.Reason {
        if isTooLarge { return .tooLarge }
        if budget == 0 { return .aborted }
        return budget == 1 ? .tooLarge : .refused
    }
}

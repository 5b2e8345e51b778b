internal import RoomsRuntime
internal import RoomsWire

/// Fetching through the server's API what clients may not read.
extension SessionStateMachine {
    /// From here on pages are asked for there.
    mutating func useAPI(_ error: ErrorReply, _ turn: inout Turn) {
        api.isUsed = true
        turn.log(
            .info,
            "what was missed in a room is read through the server's API, since clients may not read its history",
            LogField(.room, name),
            LogField(.code, error.code),
            LogField(.reason, error.message)
        )
    }

    /// What is asked for next; the position alone, where it is to be learned whether the API is well.
    var apiQuestion: HistoryRequest {
        var request = HistoryRequest()
        request.channel = name
        request.limit = api.isProbing ? 0 : Int32(page.limit)
        let offset = position?.offset ?? 0
        let (since, overflow) = offset.addingReportingOverflow(api.skipped)
        request.since = StreamPosition(offset: overflow ? .max : since, epoch: position?.epoch ?? .empty)
        return request
    }

    /// The answer to a question that `start` gave.
    mutating func apiAnswered(_ outcome: HistoryOutcome, attempt: UInt32, _ turn: inout Turn) {
        guard attempt == self.attempt, inFlight == .apiPage else {
            turn.tally.late += 1
            return
        }
        inFlight = nil
        switch outcome {
        case .answered(.history(let result)):
            noteAPIWorks(&turn)
            if api.isProbing {
                (api.isProbing, api.isSound) = (false, true)
                skip(&turn)
            } else {
                declareSkipped(&turn)
                pageArrived(result, &turn)
            }
        case .answered(.error(let error)):
            if error.code == 112 || error.code == 100 || error.isTemporary {
                pageRefused(error, &turn)
            } else {
                apiRefused(error, &turn)
            }
        case .unreadable(let isTooLarge): unreadable(isTooLarge, &turn)
        case .unavailable(let reason): apiFailed(reason, &turn)
        }
    }

    /// A page does not come through: a smaller one, and at last, once it is known that the API is well, without the one
    /// event that hinders it.
    private mutating func unreadable(_ isTooLarge: Bool, _ turn: inout Turn) {
        if api.isProbing { return apiFailed("it answers with status 500", &turn) }
        if page.limit > 1 { return page.restrict(to: page.limit / 4) }
        api.skipReason = isTooLarge ? .tooLarge : .notPermitted
        if api.isSound || isTooLarge {
            skip(&turn)
        } else {
            api.isProbing = true
        }
    }

    private mutating func skip(_ turn: inout Turn) {
        api.skipped += 1
        guard let position, api.skipped >= live.target - min(live.target, position.offset) else { return }
        declareSkipped(&turn)
        endFilling(&turn)
    }

    /// The next one can be read: those before it are missing.
    private mutating func declareSkipped(_ turn: inout Turn) {
        let skipped = api.skipped
        (api.skipped, api.isSound) = (0, false)
        guard skipped > 0 else { return }
        if !isAnchored { anchor(&turn) }
        guard let position else { return }
        declare(api.skipReason, to: min(live.target, position.offset + skipped), &turn)
    }

    /// Kept up: nothing is given up because somebody has to mend something.
    private mutating func apiFailed(_ reason: ByteString, _ turn: inout Turn) {
        api.isProbing = false
        pausePages(&turn)
        guard !api.isTroubled else { return }
        api.isTroubled = true
        turn.log(
            .error,
            "the server's API cannot be asked for what was missed in a room; it is tried again, and the room waits",
            LogField(.room, name),
            LogField(.reason, reason)
        )
    }

    private mutating func noteAPIWorks(_ turn: inout Turn) {
        guard api.isTroubled else { return }
        api.isTroubled = false
        turn.log(.info, "the server's API answers again", LogField(.room, name))
    }

    /// Neither clients nor the API may read it.
    private mutating func apiRefused(_ error: ErrorReply, _ turn: inout Turn) {
        turn.log(
            .warning,
            "the server's API does not give the history of a room either",
            LogField(.room, name),
            LogField(.code, error.code),
            LogField(.reason, error.message)
        )
        api = APIReading()
        api.isRefused = true
        historyRefused(error, &turn)
    }
}

/// How a session reads through the server's API.
struct APIReading: Equatable {
    /// Clients may not read the history.
    var isUsed = false
    /// It may not be read there either.
    var isRefused = false
    /// It is being asked whether it is well.
    var isProbing = false
    /// It was, since the last event that cannot be read.
    var isSound = false
    /// How many behind the position cannot be read, and why.
    var skipped: UInt64 = 0
    var skipReason = RoomGapReason.notPermitted
    /// That it cannot be asked was said in the log.
    var isTroubled = false

    /// The connection ended: what was under way begins anew.
    mutating func restart() {
        (isProbing, isSound, skipped) = (false, false, 0)
    }
}

internal import RoomsRuntime
internal import RoomsWire

/// What becomes of a room that ended its connection.
extension SessionStateMachine {
    /// It fails; after the long pause it is tried with another token, alone.
    mutating func convict(_ verdict: EndVerdict, _ turn: inout Turn) {
        policy.tokens.expired(name)
        conviction = Conviction(token: token, code: verdict.code, reason: verdict.reason)
        fail(verdict.code, verdict.reason, &turn)
    }

    /// The same token would end the connection once more: it fails without being sent.
    mutating func isConvicted(with token: Secret?, _ turn: inout Turn) -> Bool {
        guard let conviction, conviction.token != nil, conviction.token == token else { return false }
        fail(conviction.code, conviction.reason, &turn)
        return true
    }

    /// The server ends connections over this room in a way that may pass: it pauses, ever longer, and the others do not.
    ///
    /// The third time in a row it fails, so that whoever waits for it hears why; but not over trouble of the server's own.
    mutating func holdBack(_ verdict: EndVerdict, _ turn: inout Turn) {
        if holdbacks >= 2, verdict.code != UInt32(CloseCode.internalServerError) {
            return fail(verdict.code, verdict.reason, &turn)
        }
        let pauses = Backoff(least: policy.backoff.least, most: max(policy.backoff.most, policy.slowRetry))
        let pause = pauses.delay(step: holdbacks + 1, random: turn.random)
        holdbacks += 1
        heldUntil = turn.now + pause
        turn.log(
            .warning,
            "the server ends the connection over one room, which has to wait",
            LogField(.room, name),
            LogField(.code, verdict.code),
            LogField(.reason, verdict.reason),
            LogField(.wait, pause)
        )
    }
}

/// Why a room failed that ended its connection.
struct Conviction {
    /// Nil: it had none.
    var token: Secret?
    var code: UInt32
    var reason: ByteString
}

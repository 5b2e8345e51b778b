internal import RoomsRuntime
internal import RoomsWire

/// Renewing a room's token while it is joined.
extension SessionStateMachine {
    func refreshPause(_ turn: Turn) -> Duration {
        .milliseconds(5_000 + Int64(turn.random() % 5_000))
    }

    mutating func refreshed(_ result: RefreshResult, _ turn: inout Turn) {
        refreshAt = policy.tokens.renewal(of: name, expires: result.expires, ttl: result.ttl, turn)
    }

    /// Tried again until it works or the server ends the subscription.
    mutating func refreshRefused(_ error: ErrorReply, _ turn: inout Turn) {
        turn.log(
            .warning,
            "the server refused to renew a room's token",
            LogField(.room, name),
            LogField(.code, error.code),
            LogField(.reason, error.message)
        )
        refreshAt = Deadline(after: refreshPause(turn), turn)
    }

    /// There is no token to renew with.
    mutating func refreshUnavailable(_ turn: inout Turn) {
        turn.log(.warning, "a room's token runs out and there is no new one", LogField(.room, name))
        refreshAt = Deadline(after: .seconds(60), turn)
    }
}

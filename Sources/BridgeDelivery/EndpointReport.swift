internal import BridgeModel
internal import RoomsRuntime

/// Writes the log lines of one endpoint: one when something begins to wait, one when it goes on, none for each retry.
struct EndpointReport {
    let logger: Logger

    func write(_ outcome: EndpointStateMachine.Outcome, room: RoomKey) {
        switch outcome.endpoint {
        case .held(let refusal, let wait):
            logger.log(.warning, "the endpoint is not well, its events wait", fields(refusal, wait))
        case .recovered(let failures, let time):
            logger.log(.notice, "the endpoint is well again", fields(failures, time))
        case .suspected, nil:
            break
        }
        for settlement in outcome.deadLetters + outcome.behind { write(settlement, room) }
        let names = [LogField(.server, room.server), LogField(.room, room.room)]
        switch outcome.lane {
        case .held(let refusal, let wait):
            logger.log(.warning, "an event was not accepted, its room waits", names + fields(refusal, wait))
        case .suspected(var refusal, let failures):
            refusal.hint = "look into the endpoint's own log; with infer_poison such an event becomes a dead letter"
            logger.log(
                .warning,
                "an event fails again and again while others are accepted: it may be its own fault",
                names + [LogField(.failures, failures)] + fields(refusal)
            )
        case .recovered(let failures, let time):
            logger.log(.notice, "the room's events are accepted again", names + fields(failures, time))
        case nil:
            break
        }
    }

    func writeSkew(_ fields: [LogField]) {
        logger.log(.warning, ClockComparison.message, fields)
    }

    private func write(_ settlement: Settlement, _ room: RoomKey) {
        guard let letter = settlement.deadLetter else { return }
        var fields = [
            LogField(.server, room.server), LogField(.room, room.room), LogField(.seq, settlement.seq),
            LogField(.reason, letter.reason.rawValue), LogField(.attempt, letter.attempts),
        ]
        if let status = letter.status { fields.append(LogField(.httpStatus, status)) }
        logger.log(.error, "an event was refused for good: it is among the dead letters, its room goes on", fields)
    }

    private func fields(_ refusal: Refusal, _ wait: Duration) -> [LogField] {
        fields(refusal) + [LogField(.wait, wait)]
    }

    private func fields(_ refusal: Refusal) -> [LogField] {
        var fields: [LogField] = []
        if let status = refusal.status { fields.append(LogField(.httpStatus, status)) }
        fields.append(LogField(.error, refusal.reason))
        if let hint = refusal.hint { fields.append(LogField(.hint, "\(hint)")) }
        return fields
    }

    private func fields(_ failures: Int, _ time: Duration) -> [LogField] {
        [LogField(.failures, failures), LogField(.lasted, time)]
    }
}

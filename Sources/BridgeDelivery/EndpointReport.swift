internal import BridgeModel
internal import RoomsRuntime

/// Writes the log lines of one endpoint: one when something begins to wait, one when it goes on, none for each retry.
struct EndpointReport {
    let logger: Logger

    func write(_ outcome: EndpointStateMachine.Outcome, room: RoomKey) {
        switch outcome.endpoint {
        case .held(let refusal, let wait):
            logger.log(.warning, "the endpoint cannot be reached, its events wait", fields(refusal, wait))
        case .recovered(let failures, let time):
            logger.log(.notice, "the endpoint can be reached again", fields(failures, time))
        case nil:
            break
        }
        let names = [LogField(.server, room.server), LogField(.room, room.room)]
        switch outcome.lane {
        case .held(let refusal, let wait):
            logger.log(.warning, "an event was not accepted, its room waits", names + fields(refusal, wait))
        case .recovered(let failures, let time):
            logger.log(.notice, "the room's events are accepted again", names + fields(failures, time))
        case nil:
            break
        }
    }

    private func fields(_ refusal: Refusal, _ wait: Duration) -> [LogField] {
        var fields: [LogField] = []
        if let status = refusal.status { fields.append(LogField(.httpStatus, status)) }
        fields.append(LogField(.error, refusal.reason))
        if let hint = refusal.hint { fields.append(LogField(.hint, "\(hint)")) }
        fields.append(LogField(.wait, wait))
        return fields
    }

    private func fields(_ failures: Int, _ time: Duration) -> [LogField] {
        [LogField(.count, failures), LogField(.wait, time)]
    }
}

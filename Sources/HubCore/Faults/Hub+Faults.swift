internal import LocalHTTP
internal import RoomsRuntime
internal import RoomsWire

/// What a fault has hit.
enum FaultEffect {
    case connections(Int)
    case room(Room, dropped: Int?)
    case none
}

/// Lets go wrong what is asked for.
extension Hub {
    func perform(_ fault: Fault, at now: Instant) throws(ListenError) -> FaultEffect {
        let registry = state.registry
        switch fault {
        case .newEpoch(let room, let notice):
            registry.renew(room, notice, at: now)
            return .room(room, dropped: nil)
        case .dropHistory(let room):
            return .room(room, dropped: registry.dropHistory(of: room, at: now))
        case .skipOffset(let room, let count, let notice):
            registry.skip(count, in: room, notice, at: now)
            return .room(room, dropped: nil)
        case .losePush(let room, let count, let notice):
            registry.losePushes(count, in: room, notice)
            return .room(room, dropped: nil)
        case .duplicatePush(let room, let count):
            registry.duplicatePushes(count, in: room)
            return .room(room, dropped: nil)
        case .goBack(let room, let offset, let notice):
            registry.goBack(room, to: offset, notice, at: now)
            return .room(room, dropped: nil)
        case .close(let target, let close):
            return hit(target) { connection in
                connection.resume()
                connection.session.end(close)
            }
        case .cut(let target, let isReset): return hit(target) { $0.cut(isReset: isReset) }
        case .link(let target, let change):
            if target.includesNew { standingFaults.append((target, change)) }
            return hit(target) { $0.change(change) }
        case .resume(let target):
            if target.client == nil, target.user == nil {
                standingFaults.removeAll { target.listener == nil || $0.target.listener === target.listener }
            }
            return hit(target) { $0.resume() }
        case .failSubscribes(let answers): return changeAnswers { $0.subscribes.append(answers) }
        case .failConnects(let answers): return changeAnswers { $0.connects.append(answers) }
        case .refuseUpgrades(let upgrades): return changeAnswers { $0.upgrades.append(upgrades) }
        case .listener(let listener, let refuse, let cut, let isReset):
            return try change(listener, refuse: refuse, cut: cut, isReset: isReset)
        }
    }

    /// All is well again.
    func endFaults() throws(ListenError) {
        standingFaults = []
        state.answerFaults = nil
        state.registry.endFaults()
        for connection in connections.values { connection.resume() }
        for listener in listeners { try listener.admit() }
    }

    func applyStandingFaults(to connection: HubConnection) {
        for (target, change) in standingFaults where target.covers(connection) { connection.change(change) }
    }

    private func hit(_ target: Fault.Target, _ body: (HubConnection) -> Void) -> FaultEffect {
        let hit = connections.values.filter { target.covers($0) }
        for connection in hit { body(connection) }
        return .connections(hit.count)
    }

    private func changeAnswers(_ body: (inout AnswerFaults) -> Void) -> FaultEffect {
        var faults = state.answerFaults ?? AnswerFaults()
        body(&faults)
        state.answerFaults = faults
        return .none
    }

    /// First nobody comes any more, then those who are there are cut: none slips in between.
    private func change(
        _ listener: HubListener,
        refuse: Bool?,
        cut: Bool,
        isReset: Bool
    ) throws(ListenError) -> FaultEffect {
        if refuse == true { try listener.refuse() }
        var target = Fault.Target()
        target.listener = listener
        let effect = cut ? hit(target) { $0.cut(isReset: isReset) } : .connections(0)
        if cut, listener.isRefusing { listener.endLeaving() }
        if refuse == false { try listener.admit() }
        return effect
    }
}

internal import LocalHTTP
internal import RoomsRuntime
internal import RoomsWire

/// The next answers of one kind that are an error, or end the connection.
struct FailedAnswers {
    enum Outcome {
        case error(HubError)
        case close(HubClose)
    }

    var count: Int
    let outcome: Outcome
    /// Only subscriptions to these rooms; nil: all.
    var pattern: RoomPattern?
}

/// The next upgrades that are answered with a status in place of 101.
struct RefusedUpgrades {
    var count: Int
    let status: UInt32
    /// Only there; nil: everywhere.
    var listener: HubListener?
}

/// Which answers are to fail; there is one only while some are.
struct AnswerFaults {
    var subscribes: [FailedAnswers] = []
    var connects: [FailedAnswers] = []
    var upgrades: [RefusedUpgrades] = []

    var isEmpty: Bool { subscribes.isEmpty && connects.isEmpty && upgrades.isEmpty }

    /// The first that fits is used up by one.
    fileprivate mutating func takeSubscribe(_ channel: ByteString) -> FailedAnswers.Outcome? {
        guard let index = subscribes.firstIndex(where: { $0.pattern?.matches(channel) ?? true }) else { return nil }
        return Self.take(&subscribes, at: index)
    }

    fileprivate mutating func takeConnect() -> FailedAnswers.Outcome? {
        connects.isEmpty ? nil : Self.take(&connects, at: 0)
    }

    private static func take(_ answers: inout [FailedAnswers], at index: Int) -> FailedAnswers.Outcome {
        let outcome = answers[index].outcome
        answers[index].count -= 1
        if answers[index].count == 0 { answers.remove(at: index) }
        return outcome
    }

    fileprivate mutating func takeUpgrade(on listener: HubListener) -> UInt32? {
        guard let index = upgrades.firstIndex(where: { $0.listener == nil || $0.listener === listener }) else {
            return nil
        }
        let status = upgrades[index].status
        upgrades[index].count -= 1
        if upgrades[index].count == 0 { upgrades.remove(at: index) }
        return status
    }
}

extension HubState {
    private func take<Taken>(_ body: (inout AnswerFaults) -> Taken?) -> Taken? {
        guard var faults = answerFaults else { return nil }
        defer { answerFaults = faults.isEmpty ? nil : faults }
        return body(&faults)
    }

    /// The status with which the upgrade is to be refused.
    func takeUpgradeFault(on listener: HubListener) -> UInt32? {
        take { $0.takeUpgrade(on: listener) }
    }

    fileprivate func takeSubscribeFault(_ channel: ByteString) -> FailedAnswers.Outcome? {
        take { $0.takeSubscribe(channel) }
    }

    fileprivate func takeConnectFault() -> FailedAnswers.Outcome? {
        take { $0.takeConnect() }
    }
}

extension HubSession {
    /// True when a fault has answered the `subscribe`.
    func failsSubscribe(_ id: UInt32, _ channel: ByteString) -> Bool {
        guard let outcome = state.takeSubscribeFault(channel) else { return false }
        switch outcome {
        case .error(let error): reply(id, .error(error.reply))
        case .close(let close): end(close)
        }
        return true
    }

    /// True when a fault has answered the `connect`.
    func failsConnect(_ id: UInt32) -> Bool {
        guard let outcome = state.takeConnectFault() else { return false }
        switch outcome {
        case .error(let error): refuse(id, error)
        case .close(let close): end(close)
        }
        return true
    }
}

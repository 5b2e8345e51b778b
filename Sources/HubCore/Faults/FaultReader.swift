internal import LocalHTTP
internal import RoomsRuntime
internal import RoomsWire

/// Reads what a request for a fault says, and gathers what is wrong with it.
struct FaultReader {
    private let name: FaultName
    private let hub: Hub
    private let root: JSONNode
    private var reader: ConfigurationReader
    private var values: [ByteString: (path: String, node: JSONNode)] = [:]

    /// Nil for `reset`.
    static func read(_ name: FaultName, _ root: JSONNode, on hub: Hub) throws(HubConfigurationError) -> Fault? {
        try ConfigurationReader.read { reader in
            var request = FaultReader(name, root, on: hub, reader)
            defer { reader = request.reader }
            return request.fault()
        }
    }

    private init(_ name: FaultName, _ root: JSONNode, on hub: Hub, _ reader: ConfigurationReader) {
        (self.name, self.hub, self.root, self.reader) = (name, hub, root, reader)
        for (key, path, node) in self.reader.members(root, path: "", name.keys) { values[key] = (path, node) }
    }

    private mutating func fault() -> Fault? {
        switch name {
        case .newEpoch, .dropHistory, .skipOffset, .losePush, .duplicatePush, .goBack: roomFault()
        case .close: .close(target(), close())
        case .cut: .cut(target(), isReset: flag("reset"))
        case .silence, .delay, .pause, .throttle: .link(target(), linkChange())
        case .resume: .resume(target())
        case .failSubscribes: .failSubscribes(failedAnswers())
        case .failConnects: .failConnects(failedAnswers())
        case .refuseUpgrades:
            .refuseUpgrades(
                RefusedUpgrades(
                    count: Int(number("count", 1...1_000_000) ?? 1),
                    status: UInt32(number("status", 400...599) ?? 503),
                    listener: listener("listener")
                )
            )
        case .listener: listenerFault()
        case .reset: nil
        }
    }

    // MARK: rooms

    private mutating func roomFault() -> Fault? {
        let room = room()
        let count = number("count", 1...(1 << 61)) ?? 1
        let pushes = Int(min(count, 1_000_000_000))
        // Where a stream is replaced its members are told, holes are left to them.
        let notice = notice() ?? (name == .newEpoch ? .publication : name == .goBack ? .now : .never)
        let offset = name == .goBack ? number("offset", 0...UInt64(Int64.max), isRequired: true) : nil
        guard let room else { return nil }
        switch name {
        case .newEpoch: return .newEpoch(room, notice)
        case .dropHistory: return .dropHistory(room)
        case .skipOffset: return .skipOffset(room, count: count, notice)
        case .losePush: return .losePush(room, count: pushes, notice)
        case .duplicatePush: return .duplicatePush(room, count: pushes)
        case .goBack:
            guard let offset else { return nil }
            let top = room.history?.top ?? 0
            if offset > top { add("offset", "is ahead of the stream", "its last offset is \(top)") }
            return .goBack(room, offset: offset, notice)
        default: return nil
        }
    }

    /// The room, which must keep a stream unless its pushes alone are meant.
    private mutating func room() -> Room? {
        guard let name = string("channel", isRequired: true) else { return nil }
        guard let rule = hub.state.registry.rule(for: name) else {
            add("channel", "is no room of this hub", "name one that a pattern of \"rooms\" fits")
            return nil
        }
        if rule.history == 0, self.name != .duplicatePush, self.name != .losePush {
            add("channel", "keeps nothing and has no offsets", "name a room whose rule has a \"history\"")
            return nil
        }
        return hub.state.registry.room(name)
    }

    private mutating func notice() -> Fault.Notice? {
        guard let text = string("noticed") else { return nil }
        if let notice = Fault.Notice(rawValue: text.string) { return notice }
        add("noticed", "is not one of the three", #"write "now", "publication" or "never""#)
        return nil
    }

    // MARK: connections

    private mutating func target() -> Fault.Target {
        var target = Fault.Target()
        target.client = string("client")
        target.user = string("user")
        target.listener = listener("listener")
        target.includesNew = flag("new")
        if target.includesNew, target.client != nil || target.user != nil {
            add("new", "does not go with \"client\" or \"user\"", "who a new connection is shows too late")
        }
        return target
    }

    private mutating func close() -> HubClose {
        let code = UInt16(number("code", 1_000...4_999, isRequired: true) ?? 1_000)
        if values["code"] != nil, !HubClose.isAllowed(code) {
            add("code", "is no code that a close frame may carry", "write for example 3001, 3503 or 1012")
        }
        let reason = string("reason") ?? .empty
        if reason.count > HubClose.reasonLimit {
            add("reason", "is longer than \(HubClose.reasonLimit) bytes", "write less")
        }
        return HubClose(code, reason)
    }

    private mutating func linkChange() -> LinkChange {
        var change = LinkChange()
        switch name {
        case .silence: change.isSilent = true
        case .delay:
            guard let (path, node) = required("by", "say how long: \"by\": \"200ms\"") else { break }
            let delay = reader.duration(node, path)
            change.delay = min(delay, .seconds(3_600))
        case .pause:
            (change.pausesReading, change.pausesWriting) = (optionalFlag("reading"), optionalFlag("writing"))
            if values["reading"] == nil, values["writing"] == nil {
                reader.add(root, "", "pauses nothing", #"write {"reading": true} or {"writing": true}, or both"#)
            }
        case .throttle:
            change.bytesPerSecond = number("bytes_per_second", 1...1_000_000_000, isRequired: true).map { Int($0) }
        default: break
        }
        return change
    }

    // MARK: answers and listeners

    private mutating func failedAnswers() -> FailedAnswers {
        let code = number("code", 1...4_999, isRequired: true) ?? 100
        let message = string("message")
        let isTemporary = optionalFlag("temporary")
        let outcome: FailedAnswers.Outcome
        if code >= 1_000 {
            let close = HubClose(UInt16(code), message ?? .empty)
            if !HubClose.isAllowed(close.code) {
                add("code", "is no code that a close frame may carry", "write for example 3004, or 103 for an error")
            }
            if close.reason.count > HubClose.reasonLimit {
                add("message", "is longer than \(HubClose.reasonLimit) bytes", "a close frame carries no more")
            }
            if isTemporary != nil { add("temporary", "does not go with a close", "leave it out") }
            outcome = .close(close)
        } else {
            let usual = HubError.usual(UInt32(code))
            outcome = .error(
                HubError(UInt32(code), message ?? usual.message, isTemporary: isTemporary ?? usual.isTemporary)
            )
        }
        let count = Int(number("count", 1...1_000_000) ?? 1)
        return FailedAnswers(count: count, outcome: outcome, pattern: pattern())
    }

    private mutating func pattern() -> RoomPattern? {
        guard let text = string("pattern") else { return nil }
        do throws(PatternError) {
            return try RoomPattern(text)
        } catch {
            add("pattern", error.what, error.remedy)
            return nil
        }
    }

    private mutating func listenerFault() -> Fault? {
        let listener = listener("address", isRequired: true)
        let (refuse, cut, isReset) = (optionalFlag("refuse"), flag("cut"), flag("reset"))
        if refuse == nil, !cut {
            reader.add(root, "", "changes nothing", #"write {"refuse": true}, {"cut": true}, or both"#)
        }
        return listener.map { .listener($0, refuse: refuse, cut: cut, isReset: isReset) }
    }

    private mutating func listener(_ key: ByteString, isRequired: Bool = false) -> HubListener? {
        guard let text = string(key, isRequired: isRequired) else { return nil }
        let address = ListenAddress(text)
        if let listener = hub.listeners.first(where: { $0.address == address }) { return listener }
        let known = hub.listeners.map { "\"\($0.address)\"" }.joined(separator: " or ")
        add(key, "is no address of this hub", "write \(known)")
        return nil
    }

    // MARK: plain values

    private mutating func required(_ key: ByteString, _ remedy: String) -> (path: String, node: JSONNode)? {
        if let value = values[key] { return value }
        // A misspelt key is enough to complain of.
        if reader.issues.isEmpty { reader.add(root, key.description, "is missing", remedy) }
        return nil
    }

    private mutating func string(_ key: ByteString, isRequired: Bool = false) -> ByteString? {
        let value = isRequired ? required(key, "write \"\(key)\": \"…\"") : values[key]
        guard let (path, node) = value else { return nil }
        if let text = node.string { return text }
        reader.add(node, path, "is not a string", "write \"…\"")
        return nil
    }

    private mutating func number(
        _ key: ByteString,
        _ range: ClosedRange<UInt64>,
        isRequired: Bool = false
    ) -> UInt64? {
        let what = "a whole number from \(range.lowerBound) to \(range.upperBound)"
        let value = isRequired ? required(key, "write \(what)") : values[key]
        guard let (path, node) = value else { return nil }
        if let number: UInt64 = node.integer(), range.contains(number) { return number }
        reader.add(node, path, "is not \(what)", "write for example \(max(1, range.lowerBound))")
        return nil
    }

    private mutating func optionalFlag(_ key: ByteString) -> Bool? {
        values[key].map { reader.flag($0.node, $0.path) }
    }

    private mutating func flag(_ key: ByteString) -> Bool { optionalFlag(key) ?? false }

    private mutating func add(_ key: ByteString, _ what: String, _ remedy: String) {
        guard let (path, node) = values[key] else { return }
        reader.add(node, path, what, remedy)
    }
}

/// The address at which faults are asked for.
extension ConfigurationReader {
    mutating func faultAddress(_ node: JSONNode, _ path: String) -> ListenAddress? {
        let remedy = "write for example \"127.0.0.1:8001\""
        guard let address = node.string.flatMap({ ListenAddress($0) }) else {
            add(node, path, "is no address and port", remedy)
            return nil
        }
        guard address.isLoopback else {
            add(node, path, "is not loopback, and there is no key to it", remedy)
            return nil
        }
        return address
    }
}

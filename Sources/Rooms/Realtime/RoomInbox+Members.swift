internal import RoomsRuntime
internal import RoomsWire

/// Who is in the room.
extension RoomInbox {
    /// All that are in it now.
    func present(_ clients: [ClientInfo]) {
        update { members in
            members = [:]
            for info in clients { members[info.client.string] = RoomMember(info) }
        }
    }

    /// Our own coming is no news for the app, but counts.
    func member(_ info: ClientInfo, isHere: Bool, isOurs: Bool) {
        let member = RoomMember(info)
        if !isOurs {
            var data: [(key: String, value: JSONValue)] = [
                ("user", JSONValue(member.user)), ("client", JSONValue(member.client)),
            ]
            if let info = member.info { data.append(("info", info)) }
            own(isHere ? "join" : "leave", JSONValue(JSONObject(data)))
        }
        update { $0[member.client] = isHere ? member : nil }
    }

    private func update(_ change: (inout [String: RoomMember]) -> Void) {
        let count = status.withLock { status -> Int? in
            change(&status.members)
            let anonymous = status.members.values.count { $0.user.isEmpty }
            let users = Set(status.members.values.map { ByteString($0.user) }).subtracting([.empty]).count
            defer { status.userCount = users + anonymous }
            return status.userCount == users + anonymous ? nil : users + anonymous
        }
        if let count { own("count", ["n": JSONValue(count)]) }
    }

    /// Events of the room are missing; what follows them comes behind `position`.
    func reportGap(_ gap: RoomGap, _ position: RoomPosition) {
        var details: [(String, JSONValue)] = [
            ("reason", JSONValue(gap.reason.rawValue)), ("epoch", JSONValue(gap.epoch.string)),
            ("from", JSONValue(gap.from)),
        ]
        if let to = gap.to { details.append(("to", JSONValue(to))) }
        report(RoomError(.gap, "events are missing that the server keeps no more"), details, at: position)
    }
}

extension RoomMember {
    init(_ info: ClientInfo) {
        let json = info.connInfo.isEmpty ? info.chanInfo : info.connInfo
        self.init(user: info.user.string, client: info.client.string, info: try? JSONValue(json: json))
    }
}

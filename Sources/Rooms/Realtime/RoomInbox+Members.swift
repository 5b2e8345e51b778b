internal import RoomsRuntime
internal import RoomsWire

/// Who is in the room.
extension RoomInbox {
    /// All that are in it now.
    func present(_ clients: [ClientInfo]) {
        update { members in
            members.removeAll()
            for info in clients { members.add(RoomMember(info), as: info.client, weight: info.memberWeight) }
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
            own(isHere ? "join" : "leave", JSONValue(JSONObject(data)), weight: info.memberWeight)
        }
        update { members in
            if isHere {
                members.add(member, as: info.client, weight: info.memberWeight)
            } else {
                members.remove(info.client)
            }
        }
    }

    private func update(_ change: (inout MemberList) -> Void) {
        let count = status.withLock { status -> Int? in
            let before = status.members.userCount
            change(&status.members)
            let after = status.members.userCount
            return before == after ? nil : after
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

extension ClientInfo {
    fileprivate var json: [UInt8] { connInfo.isEmpty ? chanInfo : connInfo }

    /// As a member with its `info`: a value of JSON takes many times the text that it is read from.
    fileprivate var memberWeight: Int { user.count + client.count + json.count * 16 + 256 }
}

extension RoomMember {
    fileprivate init(_ info: ClientInfo) {
        let json = info.json
        self.init(user: info.user.string, client: info.client.string, info: try? JSONValue(json: json))
    }
}

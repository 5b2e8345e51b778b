internal import RoomsRuntime
internal import RoomsWire

/// The rules of rooms, in a configuration as in what an app declares.
extension ConfigurationReader {
    /// Each is compared with each.
    private static let mostRules = 1_000

    static let roomKeys: Set<ByteString> = [
        "pattern", "history", "keep", "public", "recovery", "position", "presence", "join_leave", "max_members",
        "members_may", "anonymous",
    ]

    mutating func rooms(_ node: JSONNode, _ path: String) -> [RoomRule] {
        var rules: [(rule: RoomRule, node: JSONNode, path: String)] = []
        guard (node.elements?.count ?? 0) <= Self.mostRules else {
            add(
                node,
                path,
                "has more than \(Self.mostRules) rules",
                "one with a label such as {id} stands for many rooms"
            )
            return []
        }
        for (index, element) in elements(node, path).enumerated() {
            let path = "\(path)[\(index)]"
            if let rule = room(element, path) { rules.append((rule, element, path)) }
        }
        if let (first, second) = RoomRule.clash(in: rules.map(\.rule)) {
            add(
                rules[second].node,
                rules[second].path,
                "some names fit both \(rules[first].rule.pattern) and \(rules[second].rule.pattern)",
                "one of two such patterns must have more bytes that stand for themselves"
            )
        }
        return rules.map(\.rule)
    }

    private mutating func room(_ node: JSONNode, _ path: String) -> RoomRule? {
        var pattern: RoomPattern?
        var (history, keep, isPublic, presence) = (0, RoomRule.longestKeep, false, false)
        var (recovery, position, joinLeave): (RoomRule.Grant?, RoomRule.Grant?, RoomRule.Grant?) = (nil, nil, nil)
        var membersMay: RoomRule.Permissions?
        var maxMembers: Int?
        var admitsAnonymous = true
        let before = issues.count
        for (key, path, value) in members(node, path: path, Self.roomKeys) {
            switch key {
            case "pattern": pattern = self.pattern(value, path)
            case "history": history = integer(value, path, upTo: 1_000_000)
            case "keep": keep = self.keep(value, path)
            case "public": isPublic = flag(value, path)
            case "recovery": recovery = grant(value, path)
            case "position": position = grant(value, path)
            case "presence": presence = flag(value, path)
            case "join_leave": joinLeave = grant(value, path)
            case "max_members": maxMembers = count(value, path)
            case "members_may": membersMay = permissions(value, path)
            case "anonymous": admitsAnonymous = flag(value, path)
            default: break
            }
        }
        guard let pattern else {
            if issues.count == before {
                add(node, path, "has no pattern", "say which rooms: \"pattern\": \"order:{id}\"")
            }
            return nil
        }
        var rule = RoomRule(
            pattern: pattern,
            history: history,
            keep: keep,
            isPublic: isPublic,
            recovery: recovery,
            position: position,
            presence: presence,
            joinLeave: joinLeave,
            maxMembers: maxMembers,
            membersMay: membersMay
        )
        rule.admitsAnonymous = admitsAnonymous
        return rule
    }

    private mutating func keep(_ node: JSONNode, _ path: String) -> Duration {
        let before = issues.count
        let keep = duration(node, path)
        if keep > RoomRule.longestKeep, issues.count == before {
            let remedy = "the most is \"30m\"; an app records what it needs for longer"
            add(node, path, "is longer than a room keeps anything", remedy)
        }
        return min(keep, RoomRule.longestKeep)
    }

    private mutating func count(_ node: JSONNode, _ path: String) -> Int? {
        let count = integer(node, path, upTo: 1_000_000)
        guard count == 0, node.number == "0" else { return count }
        add(node, path, "is 0, and nobody could join", "leave it out for a room without a limit")
        return nil
    }

    private mutating func pattern(_ node: JSONNode, _ path: String) -> RoomPattern? {
        guard let text = node.string else {
            add(node, path, "is not a string", "write \"order:{id}\"")
            return nil
        }
        do throws(PatternError) {
            return try RoomPattern(text)
        } catch {
            add(node, path, error.what, error.remedy)
            return nil
        }
    }

    private mutating func grant(_ node: JSONNode, _ path: String) -> RoomRule.Grant? {
        if let text = node.string, let grant = RoomRule.Grant(rawValue: text.string) { return grant }
        add(node, path, "is not one of the three", "write \"always\", \"ask\" or \"never\"")
        return nil
    }

    private mutating func permissions(_ node: JSONNode, _ path: String) -> RoomRule.Permissions {
        let names: [ByteString: RoomRule.Permissions] = [
            "history": .history, "presence": .presence, "publish": .publish,
        ]
        var permissions: RoomRule.Permissions = []
        for (index, element) in elements(node, path).enumerated() {
            if let name = element.string, let permission = names[name] {
                permissions.insert(permission)
            } else {
                add(
                    element,
                    "\(path)[\(index)]",
                    "is nothing that members can do",
                    "write \"history\", \"presence\" or \"publish\""
                )
            }
        }
        return permissions
    }
}

internal import LocalHTTP
internal import RoomsRuntime
package import RoomsWire

/// Everything that is wrong with a configuration.
package struct HubConfigurationError: Error, Equatable, Sendable {
    /// In the order of the text.
    package let issues: [HubConfigurationIssue]
}

/// One mistake: where, what is wrong, what would be right.
package struct HubConfigurationIssue: Equatable, Sendable, CustomStringConvertible {
    package let position: JSONPosition
    /// Such as `rooms[1].history`; empty for the whole text.
    package let path: String
    package let what: String
    package let remedy: String

    package var description: String {
        "\(position.line):\(position.column): \(path.isEmpty ? "" : path + ": ")\(what), \(remedy)"
    }
}

extension HubConfiguration {
    /// The configuration that a JSON text describes; what it does not say is as in `standard`.
    package static func parse(_ json: [UInt8]) throws(HubConfigurationError) -> HubConfiguration {
        let root: JSONNode
        do {
            root = try JSONDocument.parse(json).root
        } catch {
            let issue = HubConfigurationIssue(
                position: error.position,
                path: "",
                what: error.what,
                remedy: error.remedy
            )
            throw HubConfigurationError(issues: [issue])
        }
        var reader = ConfigurationReader()
        let configuration = reader.configuration(root)
        guard reader.issues.isEmpty else {
            let issues = reader.issues.sorted {
                ($0.position.line, $0.position.column) < ($1.position.line, $1.position.column)
            }
            throw HubConfigurationError(issues: issues)
        }
        return configuration
    }
}

/// Reads a tree and gathers what is wrong with it.
struct ConfigurationReader {
    private(set) var issues: [HubConfigurationIssue] = []

    mutating func configuration(_ root: JSONNode) -> HubConfiguration {
        var configuration = HubConfiguration.standard
        configuration.auth = nil
        let keys: Set<ByteString> = [
            "$schema", "listen", "api_key", "token_secret", "rooms", "auth", "anonymous", "ping_interval",
            "pong_timeout",
        ]
        for (key, path, value) in members(root, path: "", keys) {
            switch key {
            case "listen": configuration.listen = addresses(value, path)
            case "api_key": configuration.apiKey = secret(value, path) ?? configuration.apiKey
            case "token_secret": configuration.tokenSecret = secret(value, path) ?? configuration.tokenSecret
            case "rooms": configuration.rooms = rooms(value, path)
            case "auth": configuration.auth = auth(value, path)
            case "anonymous": configuration.session.admitsAnonymous = flag(value, path)
            case "ping_interval": configuration.session.pingInterval = duration(value, path)
            case "pong_timeout": configuration.session.pongTimeout = duration(value, path)
            default: break
            }
        }
        if configuration.session.pingInterval <= configuration.session.pongTimeout {
            add(root, "ping_interval", "is not longer than pong_timeout", "the defaults are \"25s\" and \"8s\"")
        }
        return configuration
    }

    private mutating func rooms(_ node: JSONNode, _ path: String) -> [RoomRule] {
        var rules: [(rule: RoomRule, node: JSONNode, path: String)] = []
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
        let keys: Set<ByteString> = [
            "pattern", "history", "keep", "public", "recovery", "position", "members_may", "anonymous",
        ]
        var pattern: RoomPattern?
        var (history, keep, isPublic) = (0, Duration.seconds(1_800), false)
        var (recovery, position): (RoomRule.Grant?, RoomRule.Grant?) = (nil, nil)
        var membersMay: RoomRule.Permissions?
        var admitsAnonymous = true
        let before = issues.count
        for (key, path, value) in members(node, path: path, keys) {
            switch key {
            case "pattern": pattern = self.pattern(value, path)
            case "history": history = integer(value, path, upTo: 1_000_000)
            case "keep": keep = duration(value, path)
            case "public": isPublic = flag(value, path)
            case "recovery": recovery = grant(value, path)
            case "position": position = grant(value, path)
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
            membersMay: membersMay
        )
        rule.admitsAnonymous = admitsAnonymous
        return rule
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
        let names: [ByteString: RoomRule.Permissions] = ["history": .history, "publish": .publish]
        var permissions: RoomRule.Permissions = []
        for (index, element) in elements(node, path).enumerated() {
            if let name = element.string, let permission = names[name] {
                permissions.insert(permission)
            } else {
                add(element, "\(path)[\(index)]", "is nothing that members can do", "write \"history\" or \"publish\"")
            }
        }
        return permissions
    }

    private mutating func addresses(_ node: JSONNode, _ path: String) -> [ListenAddress] {
        let nodes = node.string == nil ? elements(node, path) : [node]
        return nodes.enumerated().compactMap { index, element in
            if let address = element.string.flatMap({ ListenAddress($0) }) { return address }
            add(element, "\(path)[\(index)]", "is no address and port", "write \"127.0.0.1:8000\" or \"[::1]:8000\"")
            return nil
        }
    }

    mutating func secret(_ node: JSONNode, _ path: String) -> Secret? {
        do throws(SecretReferenceError) {
            return try SecretReference(node).resolve()
        } catch {
            add(node, path, error.what, error.remedy)
            return nil
        }
    }

    // MARK: plain values

    private mutating func flag(_ node: JSONNode, _ path: String) -> Bool {
        if let value = node.bool { return value }
        add(node, path, "is not a boolean", "write true or false")
        return false
    }

    private mutating func integer(_ node: JSONNode, _ path: String, upTo limit: Int) -> Int {
        if let value: Int = node.integer(), (0...limit).contains(value) { return value }
        add(node, path, "is not a whole number from 0 to \(limit)", "write for example 20")
        return 0
    }

    mutating func duration(_ node: JSONNode, _ path: String) -> Duration {
        if let text = node.string, let duration = Duration(text: text) { return duration }
        add(node, path, "is not a length of time", "write for example \"30m\"; the units are ms, s, m, h and d")
        return .seconds(3_600)
    }

    mutating func elements(_ node: JSONNode, _ path: String) -> [JSONNode] {
        if let elements = node.elements { return elements }
        add(node, path, "is not a list", "write [ … ]")
        return []
    }

    /// The members with their paths; those that nobody knows, or that stood before, are mistakes.
    mutating func members(
        _ node: JSONNode,
        path: String,
        _ known: Set<ByteString>
    ) -> [(key: ByteString, path: String, value: JSONNode)] {
        guard let members = node.members else {
            add(node, path, "is not an object", "write { … }")
            return []
        }
        var seen: Set<ByteString> = []
        return members.compactMap { member in
            let key = member.key
            let place = path.isEmpty ? key.description : "\(path).\(key)"
            guard known.contains(key) else {
                let near = known.min { key.distance(to: $0) < key.distance(to: $1) }
                let remedy =
                    if let near, key.distance(to: near) <= 2 { "did you mean \"\(near)\"?" } else {
                        "the keys are \(known.map(\.description).sorted().joined(separator: ", "))"
                    }
                issues.append(
                    HubConfigurationIssue(
                        position: member.keyPosition,
                        path: place,
                        what: "nothing is called so",
                        remedy: remedy
                    )
                )
                return nil
            }
            guard seen.insert(key).inserted else {
                add(member.value, place, "stands here twice", "take one away")
                return nil
            }
            return (key, place, member.value)
        }
    }

    mutating func add(_ node: JSONNode, _ path: String, _ what: String, _ remedy: String) {
        issues.append(HubConfigurationIssue(position: node.position, path: path, what: what, remedy: remedy))
    }
}

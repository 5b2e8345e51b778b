internal import LocalHTTP
internal import RoomsRuntime
internal import RoomsWire

/// Reads a tree and gathers what is wrong with it.
struct ConfigurationReader {
    private(set) var issues: [HubConfigurationIssue] = []

    /// What `body` reads, or everything that is wrong with it.
    static func read<Value>(
        _ body: (inout ConfigurationReader) -> Value
    ) throws(HubConfigurationError) -> Value {
        var reader = ConfigurationReader()
        let value = body(&reader)
        guard !reader.issues.isEmpty else { return value }
        let issues = reader.issues.sorted {
            ($0.position.line, $0.position.column) < ($1.position.line, $1.position.column)
        }
        throw HubConfigurationError(issues: issues)
    }

    static let keys: Set<ByteString> = [
        "$schema", "listen", "api_key", "token_secret", "rooms", "auth", "faults", "anonymous", "origins",
        "server_time",
        "ping_interval", "pong_timeout", "stale_delay", "expiry_grace", "room_limit", "user_connection_limit",
        "queue_limit", "messages_per_frame",
    ]

    mutating func configuration(_ root: JSONNode) -> HubConfiguration {
        var configuration = HubConfiguration.standard
        configuration.auth = nil
        for (key, path, value) in members(root, path: "", Self.keys) {
            switch key {
            case "listen": configuration.listen = addresses(value, path)
            case "api_key": configuration.apiKey = secret(value, path) ?? configuration.apiKey
            case "token_secret": configuration.tokenSecret = secret(value, path) ?? configuration.tokenSecret
            case "rooms": configuration.rooms = .configured(rooms(value, path))
            case "auth": configuration.auth = auth(value, path)
            case "faults": configuration.faults = faultAddress(value, path)
            case "origins": configuration.origins = strings(value, path)
            default: limit(key, path, value, &configuration.session)
            }
        }
        if configuration.session.pingInterval <= configuration.session.pongTimeout {
            add(root, "ping_interval", "is not longer than pong_timeout", "the defaults are \"25s\" and \"8s\"")
        }
        return configuration
    }

    /// Times and limits of connections.
    private mutating func limit(
        _ key: ByteString,
        _ path: String,
        _ value: JSONNode,
        _ settings: inout SessionSettings
    ) {
        switch key {
        case "anonymous": settings.admitsAnonymous = flag(value, path)
        case "server_time": settings.tellsTime = flag(value, path)
        case "ping_interval": settings.pingInterval = duration(value, path)
        case "pong_timeout": settings.pongTimeout = duration(value, path)
        case "stale_delay": settings.staleDelay = duration(value, path)
        case "expiry_grace": settings.expiryGrace = duration(value, path)
        case "room_limit": settings.roomLimit = integer(value, path, upTo: 1_000_000)
        case "user_connection_limit": settings.userConnectionLimit = integer(value, path, upTo: 1_000_000)
        case "queue_limit": settings.queueLimit = integer(value, path, upTo: 1 << 30)
        case "messages_per_frame": settings.messagesPerFrame = max(1, integer(value, path, upTo: 1_000))
        default: break
        }
    }

    private mutating func addresses(_ node: JSONNode, _ path: String) -> [ListenAddress] {
        let nodes = node.string == nil ? elements(node, path) : [node]
        if nodes.isEmpty, node.elements != nil { add(node, path, "names no address", "write \"127.0.0.1:8000\"") }
        var seen: Set<ByteString> = []
        return nodes.enumerated().compactMap { index, element in
            if let text = element.string, text.bytes.suffix(2) != Array(":0".utf8)[...], !seen.insert(text).inserted {
                add(element, "\(path)[\(index)]", "stands here twice", "take one away")
                return nil
            }
            guard let address = element.string.flatMap({ ListenAddress($0) }) else {
                let remedy = "write \"127.0.0.1:8000\" or \"[::1]:8000\""
                add(element, "\(path)[\(index)]", "is no address and port", remedy)
                return nil
            }
            guard address.isLoopback else {
                let what = "\(address) is not loopback, and this server is not for production"
                add(element, "\(path)[\(index)]", what, "take it away and insist with --listen \(address)")
                return nil
            }
            return address
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

    mutating func flag(_ node: JSONNode, _ path: String) -> Bool {
        if let value = node.bool { return value }
        add(node, path, "is not a boolean", "write true or false")
        return false
    }

    mutating func integer(_ node: JSONNode, _ path: String, upTo limit: Int) -> Int {
        if let value: Int = node.integer(), (0...limit).contains(value) { return value }
        add(node, path, "is not a whole number from 0 to \(limit)", "write for example 20")
        return 0
    }

    mutating func duration(_ node: JSONNode, _ path: String) -> Duration {
        if let text = node.string, let duration = Duration(text: text) { return duration }
        add(node, path, "is not a length of time", "write for example \"30m\"; the units are ms, s, m, h and d")
        return .seconds(3_600)
    }

    mutating func strings(_ node: JSONNode, _ path: String) -> [ByteString] {
        elements(node, path).enumerated().compactMap { index, element in
            if let string = element.string { return string }
            add(element, "\(path)[\(index)]", "is not a string", "write \"…\"")
            return nil
        }
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

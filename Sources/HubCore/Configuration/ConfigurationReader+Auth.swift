internal import RoomsRuntime
internal import RoomsWire

/// The demo auth route.
extension ConfigurationReader {
    static let authKeys: Set<ByteString> = ["path", "token_life", "users"]
    static let userKeys: Set<ByteString> = ["bearer", "rooms"]

    mutating func auth(_ node: JSONNode, _ path: String) -> DemoAuthSettings {
        var settings = DemoAuthSettings(users: [])
        var hasUsers = false
        let before = issues.count
        for (key, path, value) in members(node, path: path, Self.authKeys) {
            switch key {
            case "path": settings.path = route(value, path) ?? settings.path
            case "token_life": settings.tokenLife = life(value, path)
            case "users": (settings.users, hasUsers) = (users(value, path), true)
            default: break
            }
        }
        if !hasUsers, issues.count == before {
            add(node, path, "has no users", #"write for example "users": {"alice": {"rooms": ["order:{id}"]}}"#)
        }
        return settings
    }

    private mutating func route(_ node: JSONNode, _ path: String) -> ByteString? {
        let remedy = "write for example \"/auth\""
        guard let text = node.string, text.count > 1, text.hasPrefix("/"), text.bytes.last != UInt8(ascii: "/"),
            text.bytes.allSatisfy(Self.isPathByte)
        else {
            add(
                node,
                path,
                "is no path of letters, digits, -, ., _, ~ and / that begins with / and ends without",
                remedy
            )
            return nil
        }
        let taken: [ByteString] = ["/api", "/connection"]
        if taken.contains(where: { text == $0 || text.hasPrefix(ByteString($0.bytes + [UInt8(ascii: "/")])) }) {
            add(node, path, "is among the hub's own paths", remedy)
            return nil
        }
        return text
    }

    private static func isPathByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "-._~/".utf8.contains(byte)
        }
    }

    private mutating func life(_ node: JSONNode, _ path: String) -> Duration {
        let life = duration(node, path)
        if life < .seconds(1) { add(node, path, "is shorter than a second", "write for example \"1h\"") }
        return life
    }

    private mutating func users(_ node: JSONNode, _ path: String) -> [DemoAuthSettings.User] {
        guard let members = node.members else {
            add(node, path, "is not an object", #"write for example {"alice": {"rooms": ["order:{id}"]}}"#)
            return []
        }
        var users: [DemoAuthSettings.User] = []
        for member in members {
            let place = "\(path).\(member.key)"
            guard let user = user(member.key, member.value, place) else { continue }
            if users.contains(where: { $0.name == user.name }) {
                add(member.value, place, "stands here twice", "take one away")
            } else if let other = users.first(where: { $0.bearer.matches(user.bearer.bytes) }) {
                add(member.value, place, "has the same bearer as \(other.name)", "give each user another")
            }
            users.append(user)
        }
        return users
    }

    private mutating func user(_ name: ByteString, _ node: JSONNode, _ path: String) -> DemoAuthSettings.User? {
        guard !name.isEmpty else {
            add(node, path, "has no name", "call the user for example \"alice\"")
            return nil
        }
        var bearer: Secret?
        var patterns: [RoomPattern] = []
        let before = issues.count
        for (key, path, value) in members(node, path: path, Self.userKeys) {
            switch key {
            case "bearer": bearer = secret(value, path)
            case "rooms":
                for (index, element) in elements(value, path).enumerated() {
                    if let pattern = allowed(element, "\(path)[\(index)]", name) { patterns.append(pattern) }
                }
            default: break
            }
        }
        guard issues.count == before else { return nil }
        // What no header can carry as a bearer.
        if bearer == nil, name.bytes.contains(where: { $0 <= 0x20 || $0 == 0x7f }) {
            add(node, path, "is a name with spaces or control characters", #"give the user a "bearer""#)
        }
        return DemoAuthSettings.User(name: name, bearer: bearer, rooms: patterns)
    }

    private mutating func allowed(_ node: JSONNode, _ path: String, _ user: ByteString) -> RoomPattern? {
        guard let text = node.string else {
            add(node, path, "is not a string", "write \"order:{id}\"")
            return nil
        }
        do throws(PatternError) {
            return try RoomPattern(text, user: user)
        } catch {
            add(node, path, error.what, error.remedy)
            return nil
        }
    }
}

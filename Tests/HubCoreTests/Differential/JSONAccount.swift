import RoomsRuntime
import RoomsWire

/// Writes JSON of a server with our names in it.
///
/// Payloads stay as they are, and so does the order of members, but for maps, which have none.
struct JSONAccount {
    private(set) var text = ""
    private(set) var ttls: [Int64] = []
    var naming: Naming
    /// False only copies, to see whether there is anything between the members.
    private let isNaming: Bool
    private let source: [UInt8]
    private let isOfAPI: Bool

    private init(_ source: [UInt8], _ naming: Naming, isNaming: Bool = true, isOfAPI: Bool) {
        self.source = source
        self.isOfAPI = isOfAPI
        self.naming = naming
        self.isNaming = isNaming
    }

    /// The account of one JSON text; a text that is none stays as it is.
    static func read(
        _ bytes: [UInt8],
        isOfAPI: Bool,
        _ naming: inout Naming
    ) -> (text: String, ttls: [Int64], root: JSONNode?) {
        guard let root = try? JSONDocument.parse(bytes, maximumDepth: 1_000).root else {
            return (String(decoding: bytes, as: UTF8.self), [], nil)
        }
        var account = JSONAccount(bytes, naming, isOfAPI: isOfAPI)
        account.write(root)
        naming = account.naming
        var copy = JSONAccount(bytes, naming, isNaming: false, isOfAPI: isOfAPI)
        copy.write(root)
        let isTight = copy.text == String(decoding: bytes, as: UTF8.self)
        return (isTight ? account.text : "with spaces: \(account.text)", account.ttls, root)
    }

    private static let payloads: Set<String> = ["data", "conn_info", "chan_info", "b64data"]
    private static let maps: Set<String> = ["presence", "subs", "channels", "tags"]

    private mutating func write(_ node: JSONNode, key: String = "") {
        if Self.payloads.contains(key) {
            let raw = isOfAPI && isNaming ? Self.tight(node.raw) : node.raw
            return text += String(decoding: raw, as: UTF8.self)
        }
        if let elements = node.elements {
            text += "["
            for (index, element) in elements.enumerated() {
                if index > 0 { text += "," }
                write(element, key: key == "nodes" ? "node" : "")
            }
            text += "]"
        } else if let members = node.members {
            write(members, of: key)
        } else if isNaming {
            text += named(node, key)
        } else {
            text += String(decoding: node.raw, as: UTF8.self)
        }
    }

    private mutating func write(_ members: [JSONMember], of key: String) {
        // The result of `presence` holds a map of the same name.
        let key = members.contains { $0.key == "presence" } ? "" : key
        var pieces: [(key: String, text: String)] = []
        for member in members {
            // Left out in its first second.
            if isNaming, key == "node", member.key == "uptime" { continue }
            var inner = JSONAccount(source, naming, isNaming: isNaming, isOfAPI: isOfAPI)
            if isNaming, key == "node" {
                // What a node tells of itself: only that it does.
                inner.text = "…"
            } else {
                inner.write(member.value, key: key == "presence" || key == "tags" ? "" : member.key.string)
            }
            naming = inner.naming
            ttls += inner.ttls
            let name =
                isNaming && key == "presence"
                ? "\"\(naming.client(member.key.string))\"" : String(decoding: source[member.keyRange], as: UTF8.self)
            pieces.append((name, inner.text))
        }
        if isNaming, Self.maps.contains(key) { pieces.sort { $0.key < $1.key } }
        text += "{" + pieces.map { "\($0.key):\($0.text)" }.joined(separator: ",") + "}"
    }

    private mutating func named(_ node: JSONNode, _ key: String) -> String {
        let string = node.string?.string ?? ""
        switch key {
        case "epoch": return "\"\(naming.epoch(string))\""
        case "client": return "\"\(naming.client(string))\""
        case "ttl":
            ttls.append(node.integer() ?? -1)
            return "…"
        case "version", "session", "node", "time": return "…"
        default: return String(decoding: node.raw, as: UTF8.self)
        }
    }

    /// Without the spaces outside of strings: see `Exceptions`.
    private static func tight(_ json: [UInt8]) -> [UInt8] {
        var tight: [UInt8] = []
        var (isInString, isEscaped) = (false, false)
        for byte in json {
            if !isInString, [0x20, 0x09, 0x0a, 0x0d].contains(byte) { continue }
            tight.append(byte)
            if isEscaped {
                isEscaped = false
            } else if isInString, byte == UInt8(ascii: "\\") {
                isEscaped = true
            } else if byte == UInt8(ascii: "\"") {
                isInString.toggle()
            }
        }
        return tight
    }
}

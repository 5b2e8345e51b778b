import RoomsRuntime
import RoomsWire

extension Heard {
    /// A message in JSON heard by the connection of that name.
    init(json bytes: [UInt8], by name: String, _ naming: inout Naming) {
        if let root = try? JSONDocument.parse(bytes, maximumDepth: 1_000).root,
            let id = root["connect"]?["client"]?.string
        {
            naming.met(id.string, as: name)
        }
        let account = JSONAccount.read(bytes, isOfAPI: name == Account.api, &naming)
        self.init(text: account.text, kind: .other, ttls: account.ttls)
        guard let members = account.root?.members else { return }
        if members.isEmpty { kind = .ping }
        if let id = account.root?["id"]?.integer(as: UInt32.self) { (kind, self.id) = (.reply, id) }
        isConnection = account.root?["connect"] != nil
        guard let push = account.root?["push"] else { return }
        room = push["channel"]?.string?.string ?? ""
        for member in push.members ?? [] { kind = Kind(rawValue: member.key.string) ?? kind }
    }

    /// A message in protobuf heard by the connection of that name.
    init(_ reply: Reply, by name: String, _ naming: inout Naming) {
        if case .connect(let result) = reply.body { naming.met(result.client.string, as: name) }
        var account = ReplyAccount(naming)
        let named = account.named(reply)
        naming = account.naming
        self.init(text: Self.text(named), kind: .other, id: reply.id, ttls: account.ttls)
        switch reply.body {
        case .ping: kind = .ping
        case .connect: (kind, isConnection) = (.reply, true)
        case .push(let push):
            room = push.channel.string
            switch push.body {
            case .publication: kind = .publication
            case .join: kind = .join
            case .leave: kind = .leave
            case .unsubscribe: kind = .unsubscribe
            case .subscribe: kind = .subscribe
            case .refresh: kind = .refresh
            default: break
            }
        default: kind = .reply
        }
    }

    private static func text(_ reply: Reply) -> String {
        var bytes: [UInt8] = []
        ProtobufCodec.encode(reply, into: &bytes)
        // As JSON, which is easier to read, if it can be.
        var json: [UInt8] = []
        let text = JSONCodec.encode(reply, into: &json) ? String(decoding: json, as: UTF8.self) : "\(reply)"
        return "\(text) \(Hex.text(bytes))"
    }
}

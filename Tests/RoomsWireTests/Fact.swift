import RoomsRuntime
import RoomsWire

/// What a message says, in the form of the transcripts' `means`: names of the schema, zero values left out.
indirect enum Fact: Equatable {
    case object([ByteString: Fact])
    case list([Fact])
    case text(ByteString)
    case number(ByteString)
    case yes

    init?(_ node: JSONNode) {
        switch node.kind {
        case .object(let members):
            if members.count == 1, members[0].key == "hex", let text = members[0].value.string,
                let bytes = bytes(hex: text.string)
            {
                self = .text(ByteString(bytes))
                return
            }
            var facts: [ByteString: Fact] = [:]
            for member in members { facts[member.key] = Fact(member.value) }
            self = .object(facts)
        case .array(let elements): self = .list(elements.compactMap { Fact($0) })
        case .string(let text): self = .text(text)
        case .number(let digits): self = .number(digits)
        case .bool(true): self = .yes
        case .bool(false), .null: return nil
        }
    }

    /// The object of these members, without those that are zero.
    private init(_ members: KeyValuePairs<ByteString, Fact?>) {
        var facts: [ByteString: Fact] = [:]
        for (key, value) in members { facts[key] = value }
        self = .object(facts)
    }

    private init?(_ value: some FixedWidthInteger) {
        if value == 0 { return nil }
        self = .number(ByteString(String(value)))
    }

    private init?(_ text: ByteString) {
        if text.isEmpty { return nil }
        self = .text(text)
    }

    private init?(_ bytes: [UInt8]) { self.init(ByteString(bytes)) }

    private init?(_ value: Bool) {
        if !value { return nil }
        self = .yes
    }

    private init?(_ list: [Fact]) {
        if list.isEmpty { return nil }
        self = .list(list)
    }

    private init?(map: [(ByteString, Fact)]) {
        if map.isEmpty { return nil }
        self = .object(Dictionary(map, uniquingKeysWith: { _, last in last }))
    }

    private init?(_ tags: [Tag]) { self.init(map: tags.map { ($0.key, .text($0.value)) }) }
}

func bytes(hex: String) -> [UInt8]? {
    let digits = Array(hex.utf8)
    guard digits.count % 2 == 0 else { return nil }
    var bytes: [UInt8] = []
    for index in stride(from: 0, to: digits.count, by: 2) {
        guard let byte = UInt8(String(decoding: digits[index..<index + 2], as: UTF8.self), radix: 16) else {
            return nil
        }
        bytes.append(byte)
    }
    return bytes
}

extension Fact {
    init(_ command: Command) {
        let id = Fact(command.id)
        self =
            switch command.request {
            case .pong, .unknown: Fact(["id": id])
            case .connect(let request): Fact(["id": id, "connect": Fact(request)])
            case .subscribe(let request): Fact(["id": id, "subscribe": Fact(request)])
            case .unsubscribe(let channel): Fact(["id": id, "unsubscribe": Fact(["channel": Fact(channel)])])
            case .publish(let channel, let data):
                Fact(["id": id, "publish": Fact(["channel": Fact(channel), "data": Fact(data)])])
            case .presence(let channel): Fact(["id": id, "presence": Fact(["channel": Fact(channel)])])
            case .presenceStats(let channel): Fact(["id": id, "presence_stats": Fact(["channel": Fact(channel)])])
            case .history(let request): Fact(["id": id, "history": Fact(request)])
            case .ping: Fact(["id": id, "ping": .object([:])])
            case .send(let data): Fact(["id": id, "send": Fact(["data": Fact(data)])])
            case .rpc(let method, let data):
                Fact(["id": id, "rpc": Fact(["method": Fact(method), "data": Fact(data)])])
            case .refresh(let token): Fact(["id": id, "refresh": Fact(["token": Fact(token)])])
            case .subRefresh(let channel, let token):
                Fact(["id": id, "sub_refresh": Fact(["channel": Fact(channel), "token": Fact(token)])])
            }
    }

    private init(_ request: ConnectRequest) {
        self.init([
            "token": Fact(request.token), "data": Fact(request.data),
            "subs": Fact(map: request.subs.map { ($0.channel, Fact($0.request)) }),
            "name": Fact(request.name), "version": Fact(request.version), "headers": Fact(request.headers),
        ])
    }

    private init(_ request: SubscribeRequest) {
        self.init([
            "channel": Fact(request.channel), "token": Fact(request.token), "recover": Fact(request.recover),
            "epoch": Fact(request.epoch), "offset": Fact(request.offset), "data": Fact(request.data),
            "positioned": Fact(request.positioned), "recoverable": Fact(request.recoverable),
            "join_leave": Fact(request.joinLeave), "flag": Fact(request.flag),
        ])
    }

    private init(_ request: HistoryRequest) {
        self.init([
            "channel": Fact(request.channel), "limit": Fact(request.limit),
            "since": request.since.map { Fact(["offset": Fact($0.offset), "epoch": Fact($0.epoch)]) },
            "reverse": Fact(request.reverse),
        ])
    }
}

extension Fact {
    init(_ reply: Reply) {
        let id = Fact(reply.id)
        self =
            switch reply.body {
            case .ping, .unknown: Fact(["id": id])
            case .error(let error):
                Fact([
                    "id": id,
                    "error": Fact([
                        "code": Fact(error.code), "message": Fact(error.message), "temporary": Fact(error.isTemporary),
                    ]),
                ])
            case .push(let push): Fact(["id": id, "push": Fact(push)])
            case .connect(let result): Fact(["id": id, "connect": Fact(result)])
            case .subscribe(let result): Fact(["id": id, "subscribe": Fact(result)])
            case .unsubscribe: Fact(["id": id, "unsubscribe": .object([:])])
            case .publish: Fact(["id": id, "publish": .object([:])])
            case .presence(let clients):
                Fact(["id": id, "presence": Fact(["presence": Fact(map: clients.map { ($0.key, Fact($0.info)) })])])
            case .presenceStats(let clients, let users):
                Fact(["id": id, "presence_stats": Fact(["num_clients": Fact(clients), "num_users": Fact(users)])])
            case .history(let result):
                Fact([
                    "id": id,
                    "history": Fact([
                        "publications": Fact(result.publications.map { Fact($0) }), "epoch": Fact(result.epoch),
                        "offset": Fact(result.offset),
                    ]),
                ])
            case .rpc(let data): Fact(["id": id, "rpc": Fact(["data": Fact(data)])])
            case .refresh(let result): Fact(["id": id, "refresh": Fact(result)])
            case .subRefresh(let result): Fact(["id": id, "sub_refresh": Fact(result)])
            }
    }

    private init(_ result: RefreshResult) {
        self.init([
            "client": Fact(result.client), "version": Fact(result.version), "expires": Fact(result.expires),
            "ttl": Fact(result.ttl),
        ])
    }

    private init(_ result: ConnectResult) {
        self.init([
            "client": Fact(result.client), "version": Fact(result.version), "expires": Fact(result.expires),
            "ttl": Fact(result.ttl), "data": Fact(result.data),
            "subs": Fact(map: result.subs.map { ($0.channel, Fact($0.result)) }), "ping": Fact(result.ping),
            "pong": Fact(result.pong), "session": Fact(result.session), "node": Fact(result.node),
            "time": Fact(result.time), "flag": Fact(result.flag),
        ])
    }

    private init(_ result: SubscribeResult) {
        self.init([
            "expires": Fact(result.expires), "ttl": Fact(result.ttl), "recoverable": Fact(result.recoverable),
            "epoch": Fact(result.epoch), "publications": Fact(result.publications.map { Fact($0) }),
            "recovered": Fact(result.recovered), "offset": Fact(result.offset), "positioned": Fact(result.positioned),
            "data": Fact(result.data), "was_recovering": Fact(result.wasRecovering), "delta": Fact(result.delta),
            "id": Fact(result.id), "type": Fact(result.type),
        ])
    }

    private init(_ publication: Publication) {
        self.init([
            "data": Fact(publication.data.array), "info": publication.info.map { Fact($0) },
            "offset": Fact(publication.offset), "tags": Fact(publication.tags), "delta": Fact(publication.delta),
            "time": Fact(publication.time), "channel": Fact(publication.channel), "epoch": Fact(publication.epoch),
        ])
    }

    private init(_ info: ClientInfo) {
        self.init([
            "user": Fact(info.user), "client": Fact(info.client), "conn_info": Fact(info.connInfo),
            "chan_info": Fact(info.chanInfo),
        ])
    }

    private init(_ push: Push) {
        let (name, body): (ByteString, Fact?) =
            switch push.body {
            case .publication(let publication): ("pub", Fact(publication))
            case .join(let info): ("join", Fact(["info": Fact(info)]))
            case .leave(let info): ("leave", Fact(["info": Fact(info)]))
            case .unsubscribe(let code, let reason):
                ("unsubscribe", Fact(["code": Fact(code), "reason": Fact(reason)]))
            case .message(let data): ("message", Fact(["data": Fact(data)]))
            case .subscribe(let push):
                (
                    "subscribe",
                    Fact([
                        "recoverable": Fact(push.recoverable), "epoch": Fact(push.epoch), "offset": Fact(push.offset),
                        "positioned": Fact(push.positioned), "data": Fact(push.data),
                    ])
                )
            case .disconnect(let code, let reason, let reconnect):
                (
                    "disconnect",
                    Fact(["code": Fact(code), "reason": Fact(reason), "reconnect": Fact(reconnect)])
                )
            case .refresh(let expires, let ttl): ("refresh", Fact(["expires": Fact(expires), "ttl": Fact(ttl)]))
            case .connect(let result): ("connect", Fact(result))
            case .unknown: ("unknown", nil)
            }
        self.init(["id": Fact(push.id), "channel": Fact(push.channel), name: body])
    }
}

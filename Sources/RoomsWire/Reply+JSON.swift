internal import RoomsRuntime

extension Reply {
    init(json reader: inout JSONMessageReader) throws(WireError) {
        var members = ReplyMembers()
        try reader.read(&members)
        id = members.id
        body = members.body ?? (members.isEmpty ? .ping : .unknown)
    }

    func write(to writer: inout JSONMessageWriter) {
        writer.number("id", id)
        switch body {
        case .ping, .unknown: break
        case .error(let error): writer.message("error", error)
        case .push(let push): writer.message("push", push)
        case .connect(let result): writer.message("connect", result)
        case .subscribe(let result): writer.message("subscribe", result)
        case .unsubscribe: writer.object("unsubscribe") { _ in }
        case .publish: writer.object("publish") { _ in }
        case .presence(let clients): writer.message("presence", PresenceMembers(clients: clients))
        case .presenceStats(let clients, let users):
            writer.message("presence_stats", PresenceStatsMembers(clients: clients, users: users))
        case .history(let result): writer.message("history", result)
        case .rpc(let data): writer.message("rpc", DataMembers(data: data))
        case .refresh(let result): writer.message("refresh", result)
        case .subRefresh(let result): writer.message("sub_refresh", result)
        }
    }
}

/// What stands in the object of a reply.
private struct ReplyMembers: JSONReadable {
    private(set) var id: UInt32 = 0
    private(set) var body: ReplyBody?
    private(set) var isEmpty = true

    mutating func readMember(_ reader: inout JSONMessageReader) throws(WireError) {
        isEmpty = false
        switch reader.key {
        case "id": try reader.read(&id)
        case "error": try read(ErrorReply(code: 0, message: .empty), &reader) { .error($0) }
        case "push": try read(Push(channel: .empty, .unknown), &reader) { .push($0) }
        case "connect": try read(ConnectResult(), &reader) { .connect($0) }
        case "subscribe": try read(SubscribeResult(), &reader) { .subscribe($0) }
        case "unsubscribe": try read(DataMembers(), &reader) { _ in .unsubscribe }
        case "publish": try read(DataMembers(), &reader) { _ in .publish }
        case "presence": try read(PresenceMembers(), &reader) { .presence(clients: $0.clients) }
        case "presence_stats":
            try read(PresenceStatsMembers(), &reader) { .presenceStats(clients: $0.clients, users: $0.users) }
        case "history": try read(HistoryResult(), &reader) { .history($0) }
        case "rpc": try read(DataMembers(), &reader) { .rpc(data: $0.data) }
        case "refresh": try read(RefreshResult(), &reader) { .refresh($0) }
        case "sub_refresh": try read(RefreshResult(), &reader) { .subRefresh($0) }
        default: try reader.skip()
        }
    }

    private mutating func read<Message: JSONReadable>(
        _ message: Message,
        _ reader: inout JSONMessageReader,
        _ body: (Message) -> ReplyBody
    ) throws(WireError) {
        var message = message
        if try reader.read(&message) { self.body = body(message) }
    }
}

/// A result that is nothing but data.
struct DataMembers: JSONMessage {
    var data: [UInt8] = []

    mutating func readMember(_ reader: inout JSONMessageReader) throws(WireError) {
        if reader.key == "data" { try reader.read(raw: &data) } else { try reader.skip() }
    }

    func write(to writer: inout JSONMessageWriter) { writer.payload("data", data) }
}

private struct PresenceMembers: JSONMessage {
    var clients: [PresenceEntry] = []

    mutating func readMember(_ reader: inout JSONMessageReader) throws(WireError) {
        guard reader.key == "presence" else { return try reader.skip() }
        try reader.readEntries { (reader, key) throws(WireError) in
            var info = ClientInfo(user: .empty, client: .empty)
            try reader.read(&info)
            clients.append(PresenceEntry(key: key, info: info))
        }
    }

    func write(to writer: inout JSONMessageWriter) {
        writer.object("presence") { writer in
            for client in clients { writer.entry(client.key, client.info) }
        }
    }
}

private struct PresenceStatsMembers: JSONMessage {
    var clients: UInt32 = 0
    var users: UInt32 = 0

    mutating func readMember(_ reader: inout JSONMessageReader) throws(WireError) {
        switch reader.key {
        case "num_clients": try reader.read(&clients)
        case "num_users": try reader.read(&users)
        default: try reader.skip()
        }
    }

    func write(to writer: inout JSONMessageWriter) {
        writer.entry("num_clients", clients)
        writer.entry("num_users", users)
    }
}

extension ErrorReply: JSONMessage {
    mutating func readMember(_ reader: inout JSONMessageReader) throws(WireError) {
        switch reader.key {
        case "code": try reader.read(&code)
        case "message": try reader.read(&message)
        case "temporary": try reader.read(&isTemporary)
        default: try reader.skip()
        }
    }

    func write(to writer: inout JSONMessageWriter) {
        writer.number("code", code)
        writer.text("message", message)
        writer.bool("temporary", isTemporary)
    }
}

extension ConnectResult: JSONMessage {
    mutating func readMember(_ reader: inout JSONMessageReader) throws(WireError) {
        switch reader.key {
        case "client": try reader.read(&client)
        case "version": try reader.read(&version)
        case "expires": try reader.read(&expires)
        case "ttl": try reader.read(&ttl)
        case "data": try reader.read(raw: &data)
        case "subs":
            try reader.readEntries { (reader, channel) throws(WireError) in
                var result = SubscribeResult()
                try reader.read(&result)
                subs.append(NamedSubscribeResult(channel: channel, result: result))
            }
        case "ping": try reader.read(&ping)
        case "pong": try reader.read(&pong)
        case "session": try reader.read(&session)
        case "node": try reader.read(&node)
        case "time": try reader.read(&time)
        case "flag": try reader.read(&flag)
        default: try reader.skip()
        }
    }

    func write(to writer: inout JSONMessageWriter) {
        writer.text("client", client)
        writer.text("version", version)
        writer.bool("expires", expires)
        writer.number("ttl", ttl)
        writer.payload("data", data)
        if !subs.isEmpty {
            writer.object("subs") { writer in
                for sub in subs { writer.entry(sub.channel, sub.result) }
            }
        }
        writer.number("ping", ping)
        writer.bool("pong", pong)
        writer.text("session", session)
        writer.text("node", node)
        writer.number("time", time)
        writer.number("flag", flag)
    }
}

extension SubscribeResult: JSONMessage {
    mutating func readMember(_ reader: inout JSONMessageReader) throws(WireError) {
        switch reader.key {
        case "expires": try reader.read(&expires)
        case "ttl": try reader.read(&ttl)
        case "recoverable": try reader.read(&recoverable)
        case "epoch": try reader.read(&epoch)
        case "publications": try reader.read(&publications, of: Publication(data: .empty))
        case "recovered": try reader.read(&recovered)
        case "offset": try reader.read(&offset)
        case "positioned": try reader.read(&positioned)
        case "data": try reader.read(raw: &data)
        case "was_recovering": try reader.read(&wasRecovering)
        case "delta": try reader.read(&delta)
        case "id": try reader.read(&id)
        case "type": try reader.read(&type)
        default: try reader.skip()
        }
    }

    func write(to writer: inout JSONMessageWriter) {
        writer.bool("expires", expires)
        writer.number("ttl", ttl)
        writer.bool("recoverable", recoverable)
        writer.text("epoch", epoch)
        if !publications.isEmpty { writer.messages("publications", publications) }
        writer.bool("recovered", recovered)
        writer.number("offset", offset)
        writer.bool("positioned", positioned)
        writer.payload("data", data)
        writer.bool("was_recovering", wasRecovering)
        writer.bool("delta", delta)
        writer.number("id", id)
        writer.number("type", type)
    }
}

extension HistoryResult: JSONMessage {
    mutating func readMember(_ reader: inout JSONMessageReader) throws(WireError) {
        switch reader.key {
        case "publications": try reader.read(&publications, of: Publication(data: .empty))
        case "epoch": try reader.read(&epoch)
        case "offset": try reader.read(&offset)
        default: try reader.skip()
        }
    }

    func write(to writer: inout JSONMessageWriter) {
        writer.messages("publications", publications)
        writer.entry("epoch", epoch)
        writer.entry("offset", offset)
    }
}

extension RefreshResult: JSONMessage {
    mutating func readMember(_ reader: inout JSONMessageReader) throws(WireError) {
        switch reader.key {
        case "client": try reader.read(&client)
        case "version": try reader.read(&version)
        case "expires": try reader.read(&expires)
        case "ttl": try reader.read(&ttl)
        default: try reader.skip()
        }
    }

    func write(to writer: inout JSONMessageWriter) {
        writer.text("client", client)
        writer.text("version", version)
        writer.bool("expires", expires)
        writer.number("ttl", ttl)
    }
}

internal import RoomsRuntime

extension Command {
    /// Of several requests in one object the one that a real server looks for first counts.
    init(json reader: inout JSONMessageReader) throws(WireError) {
        var members = CommandMembers()
        try reader.read(&members)
        id = members.id
        request = members.request ?? (id == 0 ? .pong : .unknown)
    }

    func write(to writer: inout JSONMessageWriter) {
        writer.number("id", id)
        switch request {
        case .pong, .unknown: break
        case .connect(let request): writer.message("connect", request)
        case .subscribe(let request): writer.message("subscribe", request)
        case .unsubscribe(let channel): writer.object("unsubscribe") { $0.text("channel", channel) }
        case .publish(let channel, let data):
            writer.object("publish") { writer in
                writer.text("channel", channel)
                writer.payload("data", data)
            }
        case .presence(let channel): writer.object("presence") { $0.text("channel", channel) }
        case .presenceStats(let channel): writer.object("presence_stats") { $0.text("channel", channel) }
        case .history(let request): writer.message("history", request)
        case .ping: writer.object("ping") { _ in }
        case .send(let data): writer.object("send") { $0.payload("data", data) }
        case .rpc(let method, let data):
            writer.object("rpc") { writer in
                writer.payload("data", data)
                writer.text("method", method)
            }
        case .refresh(let token): writer.object("refresh") { $0.text("token", token) }
        case .subRefresh(let channel, let token):
            writer.object("sub_refresh") { writer in
                writer.text("channel", channel)
                writer.text("token", token)
            }
        }
    }
}

/// What stands in the object of a command.
private struct CommandMembers: JSONReadable {
    var id: UInt32 = 0
    private var connect: ConnectRequest?
    private var subscribe: SubscribeRequest?
    private var history: HistoryRequest?
    /// The others, by their names.
    private var small: [String: SmallRequest] = [:]

    mutating func readMember(_ reader: inout JSONMessageReader) throws(WireError) {
        let name = reader.key
        switch name {
        case "id": try reader.read(&id)
        case "connect": try reader.read(&connect, ConnectRequest())
        case "subscribe": try reader.read(&subscribe, SubscribeRequest())
        case "history": try reader.read(&history, HistoryRequest())
        case "unsubscribe", "presence", "presence_stats": try reader.read(&small[name], SmallRequest(["channel"]))
        case "publish": try reader.read(&small[name], SmallRequest(["channel", "data"]))
        case "ping": try reader.read(&small[name], SmallRequest([]))
        case "send": try reader.read(&small[name], SmallRequest(["data"]))
        case "rpc": try reader.read(&small[name], SmallRequest(["data", "method"]))
        case "refresh": try reader.read(&small[name], SmallRequest(["token"]))
        case "sub_refresh": try reader.read(&small[name], SmallRequest(["channel", "token"]))
        default: try reader.skip()
        }
    }

    /// The first one there is, in the order in which a real server looks for them.
    var request: Request? {
        if let connect { return .connect(connect) }
        if small["ping"] != nil { return .ping }
        if let subscribe { return .subscribe(subscribe) }
        if let found = small["unsubscribe"] { return .unsubscribe(channel: found.channel) }
        if let found = small["publish"] { return .publish(channel: found.channel, data: found.data) }
        if let found = small["presence"] { return .presence(channel: found.channel) }
        if let found = small["presence_stats"] { return .presenceStats(channel: found.channel) }
        if let history { return .history(history) }
        if let found = small["rpc"] { return .rpc(method: found.method, data: found.data) }
        if let found = small["send"] { return .send(data: found.data) }
        if let found = small["refresh"] { return .refresh(token: found.token) }
        if let found = small["sub_refresh"] { return .subRefresh(channel: found.channel, token: found.token) }
        return nil
    }
}

/// A request of at most two fields out of four.
private struct SmallRequest: JSONReadable {
    private let known: [String]
    private(set) var channel = ByteString.empty
    private(set) var token = ByteString.empty
    private(set) var method = ByteString.empty
    private(set) var data: [UInt8] = []

    init(_ known: [String]) {
        self.known = known
    }

    mutating func readMember(_ reader: inout JSONMessageReader) throws(WireError) {
        guard known.contains(reader.key) else { return try reader.skip() }
        switch reader.key {
        case "channel": try reader.read(&channel)
        case "token": try reader.read(&token)
        case "method": try reader.read(&method)
        default: try reader.read(raw: &data)
        }
    }
}

extension ConnectRequest: JSONMessage {
    mutating func readMember(_ reader: inout JSONMessageReader) throws(WireError) {
        switch reader.key {
        case "token": try reader.read(&token)
        case "data": try reader.read(raw: &data)
        case "subs":
            try reader.readEntries { (reader, channel) throws(WireError) in
                var request = SubscribeRequest()
                try reader.read(&request)
                subs.append(NamedSubscribeRequest(channel: channel, request: request))
            }
        case "name": try reader.read(&name)
        case "version": try reader.read(&version)
        case "headers": try reader.read(&headers)
        default: try reader.skip()
        }
    }

    func write(to writer: inout JSONMessageWriter) {
        writer.text("token", token)
        writer.payload("data", data)
        if !subs.isEmpty {
            writer.object("subs") { writer in
                for sub in subs { writer.entry(sub.channel, sub.request) }
            }
        }
        writer.text("name", name)
        writer.text("version", version)
        writer.tags("headers", headers)
    }
}

extension SubscribeRequest: JSONMessage {
    mutating func readMember(_ reader: inout JSONMessageReader) throws(WireError) {
        switch reader.key {
        case "channel": try reader.read(&channel)
        case "token": try reader.read(&token)
        case "recover": try reader.read(&recover)
        case "epoch": try reader.read(&epoch)
        case "offset": try reader.read(&offset)
        case "data": try reader.read(raw: &data)
        case "positioned": try reader.read(&positioned)
        case "recoverable": try reader.read(&recoverable)
        case "join_leave": try reader.read(&joinLeave)
        case "flag": try reader.read(&flag)
        case "tf":
            hasTagsFilter = try !reader.skipNull()
            if hasTagsFilter { try reader.skip() }
        default: try reader.skip()
        }
    }

    func write(to writer: inout JSONMessageWriter) {
        writer.text("channel", channel)
        writer.text("token", token)
        writer.bool("recover", recover)
        writer.text("epoch", epoch)
        writer.number("offset", offset)
        writer.payload("data", data)
        writer.bool("positioned", positioned)
        writer.bool("recoverable", recoverable)
        writer.bool("join_leave", joinLeave)
        writer.number("flag", flag)
    }
}

extension HistoryRequest: JSONMessage {
    mutating func readMember(_ reader: inout JSONMessageReader) throws(WireError) {
        switch reader.key {
        case "channel": try reader.read(&channel)
        case "limit": try reader.read(&limit)
        case "since": try reader.read(&since, StreamPosition(offset: 0, epoch: .empty))
        case "reverse": try reader.read(&reverse)
        default: try reader.skip()
        }
    }

    func write(to writer: inout JSONMessageWriter) {
        writer.text("channel", channel)
        writer.number("limit", limit)
        if let since { writer.message("since", since) }
        writer.bool("reverse", reverse)
    }
}

extension StreamPosition: JSONMessage {
    mutating func readMember(_ reader: inout JSONMessageReader) throws(WireError) {
        switch reader.key {
        case "offset": try reader.read(&offset)
        case "epoch": try reader.read(&epoch)
        default: try reader.skip()
        }
    }

    func write(to writer: inout JSONMessageWriter) {
        writer.number("offset", offset)
        writer.text("epoch", epoch)
    }
}

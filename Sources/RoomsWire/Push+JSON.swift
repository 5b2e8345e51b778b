internal import RoomsRuntime

extension Push: JSONMessage {
    mutating func readMember(_ reader: inout JSONMessageReader) throws(WireError) {
        switch reader.key {
        case "id": try reader.read(&id)
        case "channel": try reader.read(&channel)
        case "pub": try read(Publication(data: .empty), &reader) { .publication($0) }
        case "join": try read(InfoMembers(), &reader) { .join($0.info) }
        case "leave": try read(InfoMembers(), &reader) { .leave($0.info) }
        case "unsubscribe": try read(EndMembers(), &reader) { .unsubscribe(code: $0.code, reason: $0.reason) }
        case "message": try read(DataMembers(), &reader) { .message(data: $0.data) }
        case "subscribe": try read(SubscribePush(), &reader) { .subscribe($0) }
        case "connect": try read(ConnectResult(), &reader) { .connect($0) }
        case "disconnect":
            try read(EndMembers(), &reader) {
                .disconnect(code: $0.code, reason: $0.reason, reconnect: $0.reconnect)
            }
        case "refresh": try read(RefreshResult(), &reader) { .refresh(expires: $0.expires, ttl: $0.ttl) }
        default: try reader.skip()
        }
    }

    func write(to writer: inout JSONMessageWriter) {
        writer.number("id", id)
        writer.text("channel", channel)
        switch body {
        case .publication(let publication): writer.message("pub", publication)
        case .join(let info): writer.message("join", InfoMembers(info: info))
        case .leave(let info): writer.message("leave", InfoMembers(info: info))
        case .unsubscribe(let code, let reason):
            writer.message("unsubscribe", EndMembers(code: code, reason: reason))
        case .message(let data): writer.message("message", DataMembers(data: data))
        case .subscribe(let subscribe): writer.message("subscribe", subscribe)
        case .connect(let result): writer.message("connect", result)
        case .disconnect(let code, let reason, let reconnect):
            writer.message("disconnect", EndMembers(code: code, reason: reason, reconnect: reconnect))
        case .refresh(let expires, let ttl):
            writer.object("refresh") { writer in
                writer.bool("expires", expires)
                writer.number("ttl", ttl)
            }
        case .unknown: break
        }
    }

    private mutating func read<Message: JSONReadable>(
        _ message: Message,
        _ reader: inout JSONMessageReader,
        _ body: (Message) -> PushBody
    ) throws(WireError) {
        var message = message
        if try reader.read(&message) { self.body = body(message) }
    }
}

/// A join or a leave.
private struct InfoMembers: JSONMessage {
    var info = ClientInfo(user: .empty, client: .empty)

    mutating func readMember(_ reader: inout JSONMessageReader) throws(WireError) {
        if reader.key == "info" { try reader.read(&info) } else { try reader.skip() }
    }

    func write(to writer: inout JSONMessageWriter) { writer.message("info", info) }
}

/// An unsubscribe or a disconnect.
private struct EndMembers: JSONMessage {
    var code: UInt32 = 0
    var reason = ByteString.empty
    var reconnect = false

    mutating func readMember(_ reader: inout JSONMessageReader) throws(WireError) {
        switch reader.key {
        case "code": try reader.read(&code)
        case "reason": try reader.read(&reason)
        case "reconnect": try reader.read(&reconnect)
        default: try reader.skip()
        }
    }

    func write(to writer: inout JSONMessageWriter) {
        writer.number("code", code)
        writer.text("reason", reason)
        writer.bool("reconnect", reconnect)
    }
}

extension Publication: JSONMessage {
    mutating func readMember(_ reader: inout JSONMessageReader) throws(WireError) {
        switch reader.key {
        case "data": try reader.read(raw: &data)
        case "info": try reader.read(&info, ClientInfo(user: .empty, client: .empty))
        case "b64data":
            // Only roomhub's API has it, for data that is not JSON.
            var text = ByteString.empty
            try reader.read(&text)
            if let bytes = Base64.decode(text.bytes) { data = Payload(bytes) }
        case "offset": try reader.read(&offset)
        case "tags": try reader.read(&tags)
        case "delta": try reader.read(&delta)
        case "time": try reader.read(&time)
        case "channel": try reader.read(&channel)
        case "epoch": try reader.read(&epoch)
        default: try reader.skip()
        }
    }

    func write(to writer: inout JSONMessageWriter) {
        writer.payload("data", data)
        if let info { writer.message("info", info) }
        writer.number("offset", offset)
        writer.tags("tags", tags)
        writer.bool("delta", delta)
        writer.number("time", time)
        writer.text("channel", channel)
        writer.text("epoch", epoch)
    }
}

extension ClientInfo: JSONMessage {
    mutating func readMember(_ reader: inout JSONMessageReader) throws(WireError) {
        switch reader.key {
        case "user": try reader.read(&user)
        case "client": try reader.read(&client)
        case "conn_info": try reader.read(raw: &connInfo)
        case "chan_info": try reader.read(raw: &chanInfo)
        default: try reader.skip()
        }
    }

    func write(to writer: inout JSONMessageWriter) {
        writer.entry("user", user)
        writer.entry("client", client)
        writer.payload("conn_info", connInfo)
        writer.payload("chan_info", chanInfo)
    }
}

extension SubscribePush: JSONMessage {
    mutating func readMember(_ reader: inout JSONMessageReader) throws(WireError) {
        switch reader.key {
        case "recoverable": try reader.read(&recoverable)
        case "epoch": try reader.read(&epoch)
        case "offset": try reader.read(&offset)
        case "positioned": try reader.read(&positioned)
        case "data": try reader.read(raw: &data)
        default: try reader.skip()
        }
    }

    func write(to writer: inout JSONMessageWriter) {
        writer.bool("recoverable", recoverable)
        writer.text("epoch", epoch)
        writer.number("offset", offset)
        writer.bool("positioned", positioned)
        writer.payload("data", data)
    }
}

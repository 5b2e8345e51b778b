internal import RoomsRuntime

extension Reply: ProtobufMessage {
    init(protobuf reader: inout ProtobufReader) throws(WireError) {
        var id: UInt32 = 0
        var body = reader.isAtEnd ? ReplyBody.ping : .unknown
        while try reader.next() {
            switch reader.field {
            case 1: id = try reader.uint32()
            case 2: body = .error(try reader.message())
            case 4: body = .push(try reader.message())
            case 5: body = .connect(try reader.message())
            case 6: body = .subscribe(try reader.message())
            case 7:
                _ = try reader.texts()
                body = .unsubscribe
            case 8:
                _ = try reader.texts()
                body = .publish
            case 9: body = .presence(clients: try reader.presence())
            case 10:
                let (clients, users) = try reader.presenceStats()
                body = .presenceStats(clients: clients, users: users)
            case 11: body = .history(try reader.message())
            case 13: body = .rpc(data: try reader.texts().first.bytes)
            case 14: body = .refresh(try reader.message())
            case 15: body = .subRefresh(try reader.subRefresh())
            default: try reader.skip()
            }
        }
        self.id = id
        self.body = consume body
    }

    func write(to writer: inout ProtobufWriter) {
        writer.uint32(1, id)
        switch body {
        case .ping, .unknown: break
        case .error(let error): writer.message(2, error)
        case .push(let push): writer.message(4, push)
        case .connect(let result): writer.message(5, result)
        case .subscribe(let result): writer.message(6, result)
        case .unsubscribe: writer.texts(7)
        case .publish: writer.texts(8)
        case .presence(let clients):
            writer.nested(9) { writer in
                for client in clients { writer.mapEntry(1, client.key, client.info) }
            }
        case .presenceStats(let clients, let users):
            writer.nested(10) { writer in
                writer.uint32(1, clients)
                writer.uint32(2, users)
            }
        case .history(let result): writer.message(11, result)
        case .rpc(let data): writer.texts(13, ByteString(data))
        case .refresh(let result): writer.message(14, result)
        case .subRefresh(let result):
            writer.nested(15) { writer in
                writer.bool(1, result.expires)
                writer.uint32(2, result.ttl)
            }
        }
    }
}

/// Of one answer; whoever stands behind them in it is left out.
private let mostMembers = 20_000

extension ProtobufReader {
    fileprivate mutating func presence() throws(WireError) -> [PresenceEntry] {
        var inner = try nested()
        var clients: [PresenceEntry] = []
        while try inner.next() {
            // A room of more members is read all the same: what makes it so large need not end the connection.
            guard inner.field == 1, clients.count < mostMembers else {
                try inner.skip()
                continue
            }
            let (key, info) = try inner.mapEntry(default: ClientInfo(user: .empty, client: .empty))
            clients.append(PresenceEntry(key: key, info: info))
        }
        return clients
    }

    fileprivate mutating func presenceStats() throws(WireError) -> (clients: UInt32, users: UInt32) {
        var inner = try nested()
        var clients: UInt32 = 0
        var users: UInt32 = 0
        while try inner.next() {
            switch inner.field {
            case 1: clients = try inner.uint32()
            case 2: users = try inner.uint32()
            default: try inner.skip()
            }
        }
        return (clients, users)
    }

    /// The same two facts as in `RefreshResult`, under other numbers.
    fileprivate mutating func subRefresh() throws(WireError) -> RefreshResult {
        var inner = try nested()
        var result = RefreshResult()
        while try inner.next() {
            switch inner.field {
            case 1: result.expires = try inner.bool()
            case 2: result.ttl = try inner.uint32()
            default: try inner.skip()
            }
        }
        return result
    }
}

extension ErrorReply: ProtobufMessage {
    init(protobuf reader: inout ProtobufReader) throws(WireError) {
        self.init(code: 0, message: .empty)
        while try reader.next() {
            switch reader.field {
            case 1: code = try reader.uint32()
            case 2: message = try reader.prose()
            case 3: isTemporary = try reader.bool()
            default: try reader.skip()
            }
        }
    }

    func write(to writer: inout ProtobufWriter) {
        writer.uint32(1, code)
        writer.text(2, message)
        writer.bool(3, isTemporary)
    }
}

extension ConnectResult: ProtobufMessage {
    init(protobuf reader: inout ProtobufReader) throws(WireError) {
        self.init()
        while try reader.next() {
            switch reader.field {
            case 1: client = try reader.text()
            case 2: version = try reader.prose()
            case 3: expires = try reader.bool()
            case 4: ttl = try reader.uint32()
            case 5: data = try reader.bytes()
            case 6:
                let (channel, result) = try reader.mapEntry(default: SubscribeResult())
                subs.append(NamedSubscribeResult(channel: channel, result: result))
            case 7: ping = try reader.uint32()
            case 8: pong = try reader.bool()
            case 9: session = try reader.text()
            case 10: node = try reader.text()
            case 11: time = try reader.int64()
            case 12: flag = try reader.int64()
            default: try reader.skip()
            }
        }
    }

    func write(to writer: inout ProtobufWriter) {
        writer.text(1, client)
        writer.text(2, version)
        writer.bool(3, expires)
        writer.uint32(4, ttl)
        writer.bytes(5, data)
        for sub in subs { writer.mapEntry(6, sub.channel, sub.result) }
        writer.uint32(7, ping)
        writer.bool(8, pong)
        writer.text(9, session)
        writer.text(10, node)
        writer.int64(11, time)
        writer.int64(12, flag)
    }
}

extension SubscribeResult: ProtobufMessage {
    init(protobuf reader: inout ProtobufReader) throws(WireError) {
        self.init()
        while try reader.next() {
            switch reader.field {
            case 1: expires = try reader.bool()
            case 2: ttl = try reader.uint32()
            case 3: recoverable = try reader.bool()
            case 6: epoch = try reader.epoch()
            case 7: publications.append(try reader.publication())
            case 8: recovered = try reader.bool()
            case 9: offset = try reader.uint64()
            case 10: positioned = try reader.bool()
            case 11: data = try reader.bytes()
            case 12: wasRecovering = try reader.bool()
            case 13: delta = try reader.bool()
            case 14: id = try reader.int64()
            case 15: type = try reader.int32()
            default: try reader.skip()
            }
        }
    }

    func write(to writer: inout ProtobufWriter) {
        writer.bool(1, expires)
        writer.uint32(2, ttl)
        writer.bool(3, recoverable)
        writer.text(6, epoch)
        for publication in publications { writer.message(7, publication) }
        writer.bool(8, recovered)
        writer.uint64(9, offset)
        writer.bool(10, positioned)
        writer.bytes(11, data)
        writer.bool(12, wasRecovering)
        writer.bool(13, delta)
        writer.int64(14, id)
        writer.int32(15, type)
    }
}

extension HistoryResult: ProtobufMessage {
    init(protobuf reader: inout ProtobufReader) throws(WireError) {
        self.init()
        while try reader.next() {
            switch reader.field {
            case 1: publications.append(try reader.publication())
            case 2: epoch = try reader.epoch()
            case 3: offset = try reader.uint64()
            default: try reader.skip()
            }
        }
    }

    func write(to writer: inout ProtobufWriter) {
        for publication in publications { writer.message(1, publication) }
        writer.text(2, epoch)
        writer.uint64(3, offset)
    }
}

extension RefreshResult: ProtobufMessage {
    init(protobuf reader: inout ProtobufReader) throws(WireError) {
        self.init()
        while try reader.next() {
            switch reader.field {
            case 1: client = try reader.text()
            case 2: version = try reader.prose()
            case 3: expires = try reader.bool()
            case 4: ttl = try reader.uint32()
            default: try reader.skip()
            }
        }
    }

    func write(to writer: inout ProtobufWriter) {
        writer.text(1, client)
        writer.text(2, version)
        writer.bool(3, expires)
        writer.uint32(4, ttl)
    }
}

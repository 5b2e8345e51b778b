internal import RoomsRuntime

extension Push: ProtobufMessage {
    init(protobuf reader: inout ProtobufReader) throws(WireError) {
        var id: Int64 = 0
        var channel: ByteString?
        var body = PushBody.unknown
        while try reader.next() {
            switch reader.field {
            case 1: id = try reader.int64()
            case 2: channel = try reader.text()
            case 4: body = .publication(try reader.message())
            case 5: body = .join(try reader.joinOrLeave())
            case 6: body = .leave(try reader.joinOrLeave())
            case 7:
                let end = try reader.pushedEnd(codeField: 2)
                body = .unsubscribe(code: end.code, reason: end.reason)
            case 8: body = .message(data: try reader.texts().first.bytes)
            case 9: body = .subscribe(try reader.message())
            case 10: body = .connect(try reader.message())
            case 11:
                let end = try reader.pushedEnd(codeField: 1)
                body = .disconnect(code: end.code, reason: end.reason, reconnect: end.reconnect)
            case 12: body = try reader.pushedRefresh()
            default: try reader.skip()
            }
        }
        self.id = id
        self.channel = (consume channel) ?? .empty
        self.body = consume body
    }

    func write(to writer: inout ProtobufWriter) {
        writer.int64(1, id)
        writer.text(2, channel)
        switch body {
        case .publication(let publication): writer.message(4, publication)
        case .join(let info): writer.nested(5) { $0.message(1, info) }
        case .leave(let info): writer.nested(6) { $0.message(1, info) }
        case .unsubscribe(let code, let reason):
            writer.nested(7) { writer in
                writer.uint32(2, code)
                writer.text(3, reason)
            }
        case .message(let data): writer.texts(8, ByteString(data))
        case .subscribe(let subscribe): writer.message(9, subscribe)
        case .connect(let result): writer.message(10, result)
        case .disconnect(let code, let reason, let reconnect):
            writer.nested(11) { writer in
                writer.uint32(1, code)
                writer.text(2, reason)
                writer.bool(3, reconnect)
            }
        case .refresh(let expires, let ttl):
            writer.nested(12) { writer in
                writer.bool(1, expires)
                writer.uint32(2, ttl)
            }
        case .unknown: break
        }
    }
}

extension ProtobufReader {
    fileprivate mutating func joinOrLeave() throws(WireError) -> ClientInfo {
        var inner = try nested()
        var info = ClientInfo(user: .empty, client: .empty)
        while try inner.next() {
            if inner.field == 1 { info = try inner.message() } else { try inner.skip() }
        }
        return info
    }

    /// An unsubscribe or a disconnect: code, reason and reconnect in fields that follow each other.
    fileprivate mutating func pushedEnd(
        codeField: UInt32
    ) throws(WireError) -> (code: UInt32, reason: ByteString, reconnect: Bool) {
        var inner = try nested()
        var code: UInt32 = 0
        var reason = ByteString.empty
        var reconnect = false
        while try inner.next() {
            switch inner.field {
            case codeField: code = try inner.uint32()
            case codeField + 1: reason = try inner.prose()
            case 3: reconnect = try inner.bool()
            default: try inner.skip()
            }
        }
        return (code, reason, reconnect)
    }

    fileprivate mutating func pushedRefresh() throws(WireError) -> PushBody {
        var inner = try nested()
        var expires = false
        var ttl: UInt32 = 0
        while try inner.next() {
            switch inner.field {
            case 1: expires = try inner.bool()
            case 2: ttl = try inner.uint32()
            default: try inner.skip()
            }
        }
        return .refresh(expires: expires, ttl: ttl)
    }
}

extension Publication: ProtobufMessage {
    init(protobuf reader: inout ProtobufReader) throws(WireError) {
        var data: Payload?
        var info: ClientInfo?
        var offset: UInt64 = 0
        var tags: [Tag] = []
        var delta = false
        var time: Int64 = 0
        var channel: ByteString?
        var epoch: ByteString?
        while try reader.next() {
            switch reader.field {
            case 4: data = try reader.payload()
            case 5: info = try reader.message()
            case 6: offset = try reader.uint64()
            case 7: tags.append(try reader.tag())
            case 8: delta = try reader.bool()
            case 9: time = try reader.int64()
            case 10: channel = try reader.text()
            case 14: epoch = try reader.epoch()
            default: try reader.skip()
            }
        }
        self.init(
            data: (consume data) ?? .empty,
            offset: offset,
            epoch: (consume epoch) ?? .empty,
            info: consume info,
            tags: consume tags,
            delta: delta,
            time: time,
            channel: (consume channel) ?? .empty
        )
    }

    func write(to writer: inout ProtobufWriter) {
        writer.payload(4, data)
        if let info { writer.message(5, info) }
        writer.uint64(6, offset)
        for tag in tags { writer.tag(7, tag) }
        writer.bool(8, delta)
        writer.int64(9, time)
        writer.text(10, channel)
        writer.text(14, epoch)
    }
}

extension ClientInfo: ProtobufMessage {
    init(protobuf reader: inout ProtobufReader) throws(WireError) {
        self.init(user: .empty, client: .empty)
        while try reader.next() {
            switch reader.field {
            case 1: user = try reader.text()
            case 2: client = try reader.text()
            case 3: connInfo = try reader.bytes()
            case 4: chanInfo = try reader.bytes()
            default: try reader.skip()
            }
        }
    }

    func write(to writer: inout ProtobufWriter) {
        writer.text(1, user)
        writer.text(2, client)
        writer.bytes(3, connInfo)
        writer.bytes(4, chanInfo)
    }
}

extension SubscribePush: ProtobufMessage {
    init(protobuf reader: inout ProtobufReader) throws(WireError) {
        self.init()
        while try reader.next() {
            switch reader.field {
            case 1: recoverable = try reader.bool()
            case 4: epoch = try reader.epoch()
            case 5: offset = try reader.uint64()
            case 6: positioned = try reader.bool()
            case 7: data = try reader.bytes()
            default: try reader.skip()
            }
        }
    }

    func write(to writer: inout ProtobufWriter) {
        writer.bool(1, recoverable)
        writer.text(4, epoch)
        writer.uint64(5, offset)
        writer.bool(6, positioned)
        writer.bytes(7, data)
    }
}

internal import RoomsRuntime

extension Command: ProtobufMessage {
    init(protobuf reader: inout ProtobufReader) throws(WireError) {
        self.init(id: 0, reader.isAtEnd ? .pong : .unknown)
        while try reader.next() {
            switch reader.field {
            case 1: id = try reader.uint32()
            case 4: request = .connect(try reader.message())
            case 5: request = .subscribe(try reader.message())
            case 6: request = .unsubscribe(channel: try reader.texts().first)
            case 7:
                let (channel, data) = try reader.texts()
                request = .publish(channel: channel, data: data.bytes)
            case 8: request = .presence(channel: try reader.texts().first)
            case 9: request = .presenceStats(channel: try reader.texts().first)
            case 10: request = .history(try reader.message())
            case 11:
                _ = try reader.texts()
                request = .ping
            case 12: request = .send(data: try reader.texts().first.bytes)
            case 13:
                let (data, method) = try reader.texts()
                request = .rpc(method: method, data: data.bytes)
            case 14: request = .refresh(token: try reader.texts().first)
            case 15:
                let (channel, token) = try reader.texts()
                request = .subRefresh(channel: channel, token: token)
            default: try reader.skip()
            }
        }
    }

    func write(to writer: inout ProtobufWriter) {
        writer.uint32(1, id)
        switch request {
        case .pong, .unknown: break
        case .connect(let request): writer.message(4, request)
        case .subscribe(let request): writer.message(5, request)
        case .unsubscribe(let channel): writer.texts(6, channel)
        case .publish(let channel, let data): writer.texts(7, channel, ByteString(data))
        case .presence(let channel): writer.texts(8, channel)
        case .presenceStats(let channel): writer.texts(9, channel)
        case .history(let request): writer.message(10, request)
        case .ping: writer.texts(11)
        case .send(let data): writer.texts(12, ByteString(data))
        case .rpc(let method, let data): writer.texts(13, ByteString(data), method)
        case .refresh(let token): writer.texts(14, token)
        case .subRefresh(let channel, let token): writer.texts(15, channel, token)
        }
    }
}

extension ConnectRequest: ProtobufMessage {
    init(protobuf reader: inout ProtobufReader) throws(WireError) {
        self.init()
        while try reader.next() {
            switch reader.field {
            case 1: token = try reader.text()
            case 2: data = try reader.bytes()
            case 3:
                let (channel, request) = try reader.mapEntry(default: SubscribeRequest())
                subs.append(NamedSubscribeRequest(channel: channel, request: request))
            case 4: name = try reader.text()
            case 5: version = try reader.text()
            case 6: headers.append(try reader.tag())
            default: try reader.skip()
            }
        }
    }

    func write(to writer: inout ProtobufWriter) {
        writer.text(1, token)
        writer.bytes(2, data)
        for sub in subs { writer.mapEntry(3, sub.channel, sub.request) }
        writer.text(4, name)
        writer.text(5, version)
        for header in headers { writer.tag(6, header) }
    }
}

extension SubscribeRequest: ProtobufMessage {
    init(protobuf reader: inout ProtobufReader) throws(WireError) {
        self.init()
        while try reader.next() {
            switch reader.field {
            case 1: channel = try reader.text()
            case 2: token = try reader.text()
            case 3: recover = try reader.bool()
            case 6: epoch = try reader.text()
            case 7: offset = try reader.uint64()
            case 8: data = try reader.bytes()
            case 9: positioned = try reader.bool()
            case 10: recoverable = try reader.bool()
            case 11: joinLeave = try reader.bool()
            case 13:
                hasTagsFilter = true
                try reader.skip()
            case 14: flag = try reader.int64()
            default: try reader.skip()
            }
        }
    }

    func write(to writer: inout ProtobufWriter) {
        writer.text(1, channel)
        writer.text(2, token)
        writer.bool(3, recover)
        writer.text(6, epoch)
        writer.uint64(7, offset)
        writer.bytes(8, data)
        writer.bool(9, positioned)
        writer.bool(10, recoverable)
        writer.bool(11, joinLeave)
        writer.int64(14, flag)
    }
}

extension HistoryRequest: ProtobufMessage {
    init(protobuf reader: inout ProtobufReader) throws(WireError) {
        self.init()
        while try reader.next() {
            switch reader.field {
            case 1: channel = try reader.text()
            case 7: limit = try reader.int32()
            case 8: since = try reader.message()
            case 9: reverse = try reader.bool()
            default: try reader.skip()
            }
        }
    }

    func write(to writer: inout ProtobufWriter) {
        writer.text(1, channel)
        writer.int32(7, limit)
        if let since { writer.message(8, since) }
        writer.bool(9, reverse)
    }
}

extension StreamPosition: ProtobufMessage {
    init(protobuf reader: inout ProtobufReader) throws(WireError) {
        self.init(offset: 0, epoch: .empty)
        while try reader.next() {
            switch reader.field {
            case 1: offset = try reader.uint64()
            case 2: epoch = try reader.text()
            default: try reader.skip()
            }
        }
    }

    func write(to writer: inout ProtobufWriter) {
        writer.uint64(1, offset)
        writer.text(2, epoch)
    }
}

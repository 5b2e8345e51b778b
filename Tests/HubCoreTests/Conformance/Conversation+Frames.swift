import RoomsRuntime
import RoomsWire

@testable import HubCore

extension WireFormat {
    /// Commands as one frame.
    func frame(_ commands: [Command]) -> [UInt8] {
        var frame: [UInt8] = []
        for command in commands {
            switch self {
            case .protobuf: ProtobufCodec.encode(command, into: &frame)
            case .json:
                if !frame.isEmpty { frame.append(UInt8(ascii: "\n")) }
                JSONCodec.encode(command, into: &frame)
            }
        }
        return frame
    }

    func replies(in frame: [UInt8]) throws -> [Reply] {
        var replies: [Reply] = []
        try frame.withUnsafeBytes { frame in
            switch self {
            case .protobuf: try ProtobufCodec.decodeReplies(frame) { replies.append($0) }
            case .json: try JSONCodec.decodeReplies(frame) { replies.append($0) }
            }
        }
        return replies
    }
}

extension Conversation {
    /// A new connection that says `connect` with a token of those claims; what it hears.
    static func connecting(
        _ hub: HubState,
        _ claims: String?,
        subs: [NamedSubscribeRequest] = [],
        format: WireFormat,
        at moment: Moment = start
    ) throws -> (conversation: Conversation, replies: [Reply]) {
        let conversation = Conversation(hub, format: format, at: moment)
        var request = ConnectRequest()
        if let claims { request.token = token(claims) }
        request.subs = subs
        return (conversation, try conversation.say(.connect(request), id: 1))
    }

    /// The frames that wait to be sent, as they go out.
    func frames() -> [[UInt8]] {
        var frames: [[UInt8]] = []
        while let frame = session.outbox.takeFrame() { frames.append(frame) }
        return frames
    }

    /// Says the frame; the texts of the frames that came of it.
    func text(_ frame: String) -> [String] {
        Array(frame.utf8).withUnsafeBytes { session.receive($0, at: moment) }
        return frames().map { String(decoding: $0, as: UTF8.self) }
    }

    /// The code of the end of the session; nil while it goes on.
    var closeCode: UInt16? { session.ending?.code }
}

extension Reply {
    /// The push in it.
    var push: Push? {
        guard case .push(let push) = body else { return nil }
        return push
    }

    /// Who is said to have come.
    var joined: ClientInfo? {
        guard case .join(let info) = push?.body else { return nil }
        return info
    }

    /// Who is said to have gone.
    var left: ClientInfo? {
        guard case .leave(let info) = push?.body else { return nil }
        return info
    }
}

extension RunningHub {
    /// A connection over a real socket, as `user` or anonymously.
    func connected(
        _ format: WireFormat = .protobuf,
        as user: String? = nil,
        receiveBuffer: CInt? = nil
    ) throws -> WireClient {
        let client = try WireClient(port: port, format: format, receiveBuffer: receiveBuffer)
        var request = ConnectRequest()
        if let user { request.token = Conversation.token("{\"sub\":\"\(user)\"}") }
        try client.send(Command(id: 1, .connect(request)))
        guard case .connect = try client.next().body else { throw TestFailure("not connected") }
        return client
    }
}

extension WireClient {
    /// The result of a subscription that must succeed.
    @discardableResult
    func joined(
        _ channel: ByteString,
        id: UInt32 = 2,
        _ change: (inout SubscribeRequest) -> Void = { _ in }
    ) throws -> SubscribeResult {
        try send(.subscribe(channel, id: id, change))
        while true {
            let reply = try next()
            guard reply.id == id else { continue }
            guard case .subscribe(let result) = reply.body else { throw TestFailure("\(reply)") }
            return result
        }
    }
}

extension Command {
    static func subscribe(
        _ channel: ByteString,
        id: UInt32 = 2,
        _ change: (inout SubscribeRequest) -> Void = { _ in }
    ) -> Command {
        var request = SubscribeRequest()
        request.channel = channel
        change(&request)
        return Command(id: id, .subscribe(request))
    }

    static func history(
        _ channel: ByteString,
        limit: Int32,
        since: StreamPosition? = nil,
        reverse: Bool = false,
        id: UInt32 = 3
    ) -> Command {
        var request = HistoryRequest()
        (request.channel, request.limit, request.since, request.reverse) = (channel, limit, since, reverse)
        return Command(id: id, .history(request))
    }
}

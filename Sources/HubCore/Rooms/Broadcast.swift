internal import RoomsWire

/// A push for everybody in a room, encoded once for each format that somebody in it speaks.
struct Broadcast {
    private let reply: Reply
    private var protobuf: [UInt8] = []
    private var json: [UInt8] = []

    init(_ push: Push) {
        reply = Reply(id: 0, .push(push))
    }

    /// Nil when something in it is not JSON, which that format cannot carry.
    mutating func message(in format: WireFormat) -> [UInt8]? {
        switch format {
        case .protobuf:
            if protobuf.isEmpty { ProtobufCodec.encode(reply, into: &protobuf) }
            return protobuf
        case .json:
            if json.isEmpty, !JSONCodec.encode(reply, into: &json) { return nil }
            return json
        }
    }
}

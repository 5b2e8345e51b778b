internal import RoomsRuntime
internal import RoomsWire

/// One request to the auth route.
struct AuthRequest: Hashable {
    /// In the order in which they were asked for.
    var rooms: [ByteString]
    var wantsConnection: Bool

    var body: [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            writer.key(literal: "rooms")
            writer.array { writer in
                for room in rooms { writer.string(room) }
            }
            if wantsConnection {
                writer.key(literal: "connection")
                writer.bool(true)
            }
        }
        return writer.bytes
    }

    var subjects: [TokenSubject] { (wantsConnection ? [.connection] : []) + rooms.map { .room($0) } }
}

import BridgeTestSupport
import RoomsRuntime
import RoomsWebSocket
import RoomsWire

/// A server that upgrades and then says whatever a closure wants.
struct Script: Sendable {
    let connection: RawConnection
    /// What stood in the request.
    let head: String

    /// One frame of replies.
    func say(_ replies: Reply...) { say(replies) }

    func say(_ replies: [Reply]) {
        sayFrame(Self.encoded(replies))
    }

    static func encoded(_ replies: [Reply]) -> [UInt8] {
        var bytes: [UInt8] = []
        for reply in replies { ProtobufCodec.encode(reply, into: &bytes) }
        return bytes
    }

    /// `isLast`: the message ends with this frame; what continues one has opcode 0.
    func sayFrame(_ bytes: [UInt8], opcode: UInt8 = 2, isLast: Bool = true) {
        var frame: [UInt8] = [(isLast ? 0x80 : 0) | opcode]
        switch bytes.count {
        case ..<126: frame.append(UInt8(bytes.count))
        case ..<65_536: frame += [126, UInt8(bytes.count >> 8), UInt8(bytes.count & 0xff)]
        default: frame += [127] + (0..<8).map { UInt8(truncatingIfNeeded: bytes.count >> (56 - 8 * $0)) }
        }
        connection.write(frame + bytes)
    }

    /// Whatever the client says is read and dropped until it hangs up.
    func listen() {
        while !connection.read().isEmpty {}
    }

    /// Waits until the client has said something.
    func hear() -> [UInt8] { connection.read() }

    struct Frame: Sendable, Equatable {
        var opcode: UInt8
        var bytes: [UInt8]
    }

    /// The client's next frame; nil when it hangs up.
    func hearFrame() -> Frame? {
        let head = connection.read(exactly: 2)
        guard head.count == 2 else { return nil }
        var length = Int(head[1] & 0x7f)
        if length >= 126 {
            length = connection.read(exactly: length == 126 ? 2 : 8).reduce(0) { $0 << 8 | Int($1) }
        }
        let mask = connection.read(exactly: 4)
        let masked = connection.read(exactly: length)
        guard mask.count == 4, masked.count == length else { return nil }
        return Frame(opcode: head[0] & 0x0f, bytes: zip(masked, 0...).map { $0 ^ mask[$1 % 4] })
    }

    /// The commands of the client's next frame of any; nil when it hangs up or closes.
    func hearCommands() -> [Command]? {
        while let frame = hearFrame(), frame.opcode != 8 {
            guard frame.opcode == 2 else { continue }
            var commands: [Command] = []
            try? frame.bytes.withUnsafeBytes { bytes in
                try ProtobufCodec.decodeCommands(bytes) { commands.append($0) }
            }
            return commands
        }
        return nil
    }

    /// Lets the client in, and answers its subscribes until so many are joined; gives their names.
    @discardableResult
    func join(_ count: Int, _ result: SubscribeResult) -> [ByteString] {
        var joined: [ByteString] = []
        while joined.count < count, let commands = hearCommands() {
            for command in commands {
                switch command.request {
                case .connect: say(Reply(id: command.id, .connect(.plain)))
                case .subscribe(let request):
                    joined.append(request.channel)
                    say(Reply(id: command.id, .subscribe(result)))
                default: break
                }
            }
        }
        return joined
    }

    static func server(
        subprotocol: String? = "centrifuge-protobuf",
        _ play: @escaping @Sendable (Script) -> Void
    ) throws -> RawServer {
        try RawServer { connection in
            let head = connection.readHead()
            guard
                let line = head.split(separator: "\r\n").first(where: {
                    $0.lowercased().hasPrefix("sec-websocket-key:")
                })
            else { return }
            let key = line.split(separator: ":", maxSplits: 1)[1].drop { $0 == " " }
            let accept = WebSocketHandshake.acceptValue(for: ByteString(String(key)))
            var answer = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            answer += "Sec-WebSocket-Accept: \(accept.string)\r\n"
            if let subprotocol { answer += "Sec-WebSocket-Protocol: \(subprotocol)\r\n" }
            connection.write(answer + "\r\n")
            play(Script(connection: connection, head: head))
        }
    }
}

extension SubscribeResult {
    /// A stream that is followed from its beginning.
    static var fresh: SubscribeResult {
        var result = SubscribeResult()
        result.recoverable = true
        result.positioned = true
        result.epoch = "A"
        return result
    }
}

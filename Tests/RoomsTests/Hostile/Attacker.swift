import BridgeTestSupport
import RoomsRuntime
import RoomsWebSocket
import RoomsWire

/// One connection of a server that upgrades and then says whatever a closure wants, with blocking calls.
final class Attacker {
    let connection: RawConnection
    /// What stood in the request.
    let head: String
    private let session = WebSocketSession(role: .server)
    private var commands: [Command] = []
    /// The code of the client's close frame.
    private(set) var closeCode: UInt16?

    init(_ connection: RawConnection, head: String) {
        self.connection = connection
        self.head = head
    }

    static func server(
        subprotocol: String? = "centrifuge-protobuf",
        _ play: @escaping @Sendable (Attacker) -> Void
    ) throws -> RawServer {
        let field = subprotocol.map { "Sec-WebSocket-Protocol: \($0)\r\n" } ?? ""
        return try server(answer: { "\(good($0))\(field)\r\n" }, play)
    }

    /// `answer` gets the accept value and gives the whole answer to the upgrade.
    static func server(
        answer: @escaping @Sendable (_ accept: String) -> String,
        _ play: @escaping @Sendable (Attacker) -> Void
    ) throws -> RawServer {
        try RawServer { connection in
            let head = connection.readHead()
            let line = head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("sec-websocket-key:") }
            guard let line else { return }
            let key = line.split(separator: ":", maxSplits: 1)[1].drop { $0 == " " }
            connection.write(answer(WebSocketHandshake.acceptValue(for: ByteString(String(key))).string))
            play(Attacker(connection, head: head))
        }
    }

    /// The answer to the upgrade but for subprotocol and end.
    static func good(_ accept: String) -> String {
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            + "Sec-WebSocket-Accept: \(accept)\r\n"
    }

    // MARK: saying

    /// One frame of replies.
    @discardableResult
    func say(_ replies: Reply...) -> Bool { say(all: replies) }

    @discardableResult
    func say(all replies: [Reply]) -> Bool {
        var bytes: [UInt8] = []
        for reply in replies { ProtobufCodec.encode(reply, into: &bytes) }
        return sayFrame(bytes)
    }

    @discardableResult
    func sayFrame(_ bytes: [UInt8], opcode: UInt8 = 2, isLast: Bool = true) -> Bool {
        let header = Self.header(bytes.count, opcode: opcode, isLast: isLast)
        // What is small goes in one packet, what is large is not copied.
        guard bytes.count > 1 << 20 else { return connection.write(header + bytes) }
        return connection.write(header) && connection.write(bytes)
    }

    static func header(_ count: Int, opcode: UInt8 = 2, isLast: Bool = true) -> [UInt8] {
        let first = (isLast ? 0x80 : 0) | opcode
        switch count {
        case ..<126: return [first, UInt8(count)]
        case ..<65_536: return [first, 126, UInt8(count >> 8), UInt8(count & 0xff)]
        default: return [first, 127] + (0..<8).map { UInt8(truncatingIfNeeded: count >> (56 - 8 * $0)) }
        }
    }

    // MARK: hearing

    /// Whatever the client says is read and dropped until it hangs up.
    func listen() {
        while !connection.read().isEmpty {}
    }

    /// Waits until the client has said something.
    func hear() -> [UInt8] { connection.read() }

    /// The next command that is no pong; nil when the client has closed or hung up.
    func command() -> Command? {
        while commands.isEmpty, closeCode == nil {
            let bytes = connection.read()
            if bytes.isEmpty { return nil }
            bytes.withUnsafeBytes { bytes in
                session.receive(bytes) { event in
                    switch event {
                    case .binary(let frame):
                        try? ProtobufCodec.decodeCommands(frame) { if $0 != .pong { commands.append($0) } }
                    case .close(let code, _), .violation(let code, _): closeCode = code
                    case .text: break
                    }
                }
            }
            var answer: [UInt8] = []
            session.takeOutput(into: &answer)
            if !answer.isEmpty { connection.write(answer) }
        }
        return commands.isEmpty ? nil : commands.removeFirst()
    }

    // MARK: serving

    /// Answers each command until the client hangs up; nil: that one is not answered.
    func serve(_ answer: (Request) -> ReplyBody?) {
        while let command = command() {
            if let body = answer(command.request) { say(Reply(id: command.id, body)) }
        }
    }

    /// Lets the client in and its first `rooms` rooms, which are empty streams of epoch A, then returns.
    @discardableResult
    func welcome(rooms: Int = 1) -> Bool {
        var joined = 0
        while joined < rooms, let command = command() {
            if case .subscribe = command.request { joined += 1 }
            say(Reply(id: command.id, Self.honest(command.request)))
        }
        return joined == rooms
    }

    static func honest(_ request: Request) -> ReplyBody {
        switch request {
        case .connect: .connect(.plain)
        case .subscribe: .subscribe(.empty(at: 0))
        case .unsubscribe: .unsubscribe
        case .history: .history(HistoryResult())
        default: .error(ErrorReply(code: 108, message: "not available"))
        }
    }

    /// The close code that the client says, when it says one.
    func awaitClose() -> UInt16? {
        while command() != nil {}
        return closeCode
    }
}

extension SubscribeResult {
    /// A stream of epoch A that keeps nothing of what was before `offset`.
    static func empty(at offset: UInt64) -> SubscribeResult {
        var result = SubscribeResult()
        result.recoverable = true
        result.positioned = true
        result.epoch = "A"
        result.offset = offset
        return result
    }
}

extension Reply {
    /// An event of `room`.
    static func event(_ offset: UInt64, room: ByteString = "r", epoch: ByteString = "", data: String = "1") -> Reply {
        let publication = Publication(data: Payload(data), offset: offset, epoch: epoch)
        return Reply(id: 0, .push(Push(channel: room, .publication(publication))))
    }
}

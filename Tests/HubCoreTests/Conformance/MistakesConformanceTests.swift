import BridgeTestSupport
import RoomsRuntime
import RoomsWire
import Testing

@testable import HubCore

/// S06 and S29: what a client must not say.
@Suite struct MistakesConformanceTests {
    /// One connection of a recording: what the client sent, what the real server said, how it ended.
    struct Recorded: Sendable, CustomStringConvertible {
        var note: String
        var format: WireFormat
        var lines: [Line] = []
        /// Nil when the server was content.
        var close: (code: UInt16, reason: ByteString)?

        var description: String { "\(note), \(format)" }
    }

    struct Line: Sendable {
        var isClient: Bool
        var bytes: [UInt8]
    }

    /// Each connection of [protocol-mistakes] and [protobuf-mistakes].
    static let recorded: [Recorded] = {
        var found: [Recorded] = []
        for (name, format) in [("protocol-mistakes", .json), ("protobuf-mistakes", .protobuf)] as [(String, WireFormat)]
        {
            for line in (try? Transcript(named: name).lines) ?? [] {
                if let note = line["note"]?.string {
                    found.append(Recorded(note: note.string, format: format))
                } else if line["event"]?.string == "close", line["by"]?.string == "server" {
                    found[found.count - 1].close = (line["code"]?.integer() ?? 0, line["reason"]?.string ?? .empty)
                } else if let from = line["from"]?.string {
                    let bytes = line["hex"]?.string.map { Hex.bytes($0.string) } ?? line["text"]?.string?.bytes ?? []
                    found[found.count - 1].lines.append(Line(isClient: from == "client", bytes: bytes))
                }
            }
        }
        return found
    }()

    @Test("S06 the recordings of mistakes are all there")
    func complete() {
        #expect(Self.recorded.count { $0.format == .json } == 29)
        #expect(Self.recorded.count { $0.format == .protobuf } == 12)
        #expect(Self.recorded.count { $0.close != nil } == 27)
    }

    @Test("S06 each recorded mistake ends as it did with the real server, and nothing else does", arguments: recorded)
    func mistake(_ recorded: Recorded) throws {
        let conversation = Conversation(HubState(rules: RoomRule.recorded), format: recorded.format)
        var heard: [Reply] = []
        var expected: [Reply] = []
        for line in recorded.lines {
            if line.isClient {
                heard += try conversation.bytes(line.bytes)
            } else {
                expected += try recorded.format.replies(in: line.bytes)
            }
        }
        #expect(heard.map(\.plain) == expected.map(\.plain))
        #expect(conversation.closeCode == recorded.close?.code)
        #expect(conversation.session.ending?.reason == recorded.close?.reason)
    }

    static let saidWrong: [(String, Command, UInt16)] = [
        ("connect again", Command(id: 2, .connect(ConnectRequest())), 3_501),
        ("no id", Command(id: 0, .unsubscribe(channel: "live:1")), 3_501),
        ("a pong nobody asked for", .pong, 3_501), ("the ping command", Command(id: 2, .ping), 3_501),
        ("nothing in it", Command(id: 2, .pong), 3_501), ("subscribe to nothing", .subscribe(""), 3_501),
        ("unsubscribe from nothing", Command(id: 2, .unsubscribe(channel: "")), 3_501),
        ("history of nothing", .history("", limit: 1), 3_501),
        ("presence of nothing", Command(id: 2, .presence(channel: "")), 3_501),
        ("counts of nothing", Command(id: 2, .presenceStats(channel: "")), 3_501),
        ("publish to nothing", Command(id: 2, .publish(channel: "", data: [0x31])), 3_501),
        ("refresh without a token", Command(id: 2, .refresh(token: "")), 3_501),
        ("sub_refresh of nothing", Command(id: 2, .subRefresh(channel: "", token: "x")), 3_501),
    ]

    @Test("S06 what a client must not say ends the connection", arguments: saidWrong, WireFormat.allCases)
    func mistakes(_ mistake: (String, Command, UInt16), _ format: WireFormat) throws {
        let (name, command, code) = mistake
        let conversation = try Conversation.connected(HubState(rules: RoomRule.recorded), format: format)
        #expect(try conversation.bytes(format.frame([command])).isEmpty, "\(name)")
        #expect(conversation.closeCode == code, "\(name)")
    }

    @Test(
        "S06 before connect everything else is a mistake",
        arguments: [
            Command.pong, .subscribe("shop", id: 1), Command(id: 1, .unsubscribe(channel: "x")), Command(id: 1, .ping),
            Command(id: 0, .connect(ConnectRequest())), Command(id: 0, .send(data: [0x31])),
            Command(id: 1, .rpc(method: "m", data: [])),
        ],
        WireFormat.allCases
    )
    func beforeConnect(_ command: Command, _ format: WireFormat) throws {
        let conversation = Conversation(HubState(rules: RoomRule.recorded), format: format)
        #expect(try conversation.bytes(format.frame([command])).isEmpty)
        #expect(conversation.session.ending == .badRequest)
    }

    @Test("S06 an unknown method is a mistake", arguments: WireFormat.allCases)
    func unknownMethod(_ format: WireFormat) throws {
        let conversation = try Conversation.connected(HubState(rules: RoomRule.recorded), format: format)
        // In protobuf a field 99 that holds an empty message.
        let frame = format == .json ? Array(#"{"id":2,"frobnicate":{}}"#.utf8) : Hex.bytes("0508029a0600")
        #expect(try conversation.bytes(frame).isEmpty)
        #expect(conversation.session.ending == .badRequest)
    }

    @Test("S06 a mistake closes the socket with its code and reason", arguments: WireFormat.allCases)
    func overSocket(_ format: WireFormat) throws {
        let hub = try RunningHub()
        let client = try hub.connected(format)
        try client.send(Command(id: 2, .connect(ConnectRequest())))
        let end = try client.readToClose()
        #expect(end.code == 3_501 && end.reason == "bad request" && end.replies.isEmpty)
        try client.readToEnd()
    }

    @Test("S29 send ends with 3508, rpc is answered with 108", arguments: WireFormat.allCases)
    func noHandlers(_ format: WireFormat) throws {
        let conversation = try Conversation.connected(HubState(rules: RoomRule.recorded), format: format)
        let replies = try conversation.say(.rpc(method: "m", data: [0x31]), id: 4)
        #expect(replies == [Reply(id: 4, .error(ErrorReply(code: 108, message: "not available")))])
        #expect(try conversation.bytes(format.frame([Command(id: 0, .send(data: [0x31]))])).isEmpty)
        #expect(conversation.session.ending == .notAvailable)
        // With an id it is none the better.
        let other = try Conversation.connected(HubState(rules: RoomRule.recorded), format: format)
        #expect(try other.say(.send(data: [0x31]), id: 4).isEmpty)
        #expect(other.closeCode == 3_508)
    }
}

extension Reply {
    /// Without the id and the version of a connect reply.
    fileprivate var plain: Reply {
        guard case .connect(var result) = body else { return self }
        (result.client, result.version) = ("client", "version")
        return Reply(id: id, .connect(result))
    }
}

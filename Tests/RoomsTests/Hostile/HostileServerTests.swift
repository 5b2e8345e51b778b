import BridgeTestSupport
import RoomsRuntime
import RoomsTransport
import RoomsWebSocket
import RoomsWire
import Testing

@testable import Rooms

/// What the client makes of servers that are broken, foreign or malicious.
@Suite struct HostileServerTests {
    private let room = [RoomSpecification(name: "r", start: .now)]

    private func connect(_ server: RawServer, path: String = "/x?y=1") throws -> LiveConnection {
        try LiveConnection(port: server.port, path: path, rooms: room)
    }

    @Test("C01 and C02: one subprotocol is offered, no origin, no compression; the URL is used as given")
    func request() async throws {
        let head = Lock("")
        let server = try Script.server { script in
            head.withLock { $0 = script.head }
            script.listen()
        }
        let live = try connect(server)
        try await eventually("the request") { head.withLock { !$0.isEmpty } }
        let text = head.withLock { $0.lowercased() }
        #expect(text.hasPrefix("get /x?y=1 http/1.1\r\n"))
        #expect(text.contains("sec-websocket-protocol: centrifuge-protobuf\r\n"))
        #expect(!text.contains("origin:") && !text.contains("sec-websocket-extensions"))
        await live.stop()
    }

    @Test(
        "C01: a server that speaks another form, or names none, is left alone for long",
        arguments: ["centrifuge-json", nil]
    )
    func foreignSubprotocol(name: String?) async throws {
        let server = try Script.server(subprotocol: name) { $0.listen() }
        let live = try connect(server)
        try await eventually("the end") { live.sink.statuses.last == "terminal 0" }
        guard case .connection(.waiting(_, let reason, let pause, _)) = live.sink.items.last else {
            return #expect(Bool(false))
        }
        #expect(reason.string.contains("does not speak centrifuge-protobuf: it chose"), "\(reason)")
        #expect(pause >= .seconds(300))
        #expect(server.connections == 1)
    }

    @Test(
        "C10 and C06: rubbish, cut-off messages, empty and text frames end the connection for long",
        arguments: [
            ([0xff, 0xff, 0xff], 2), ([0x39, 0x08], 2), ([], 2), (Array("{}".utf8), 1),
        ] as [([UInt8], UInt8)]
    )
    func rubbish(bytes: [UInt8], opcode: UInt8) async throws {
        let server = try Script.server { script in
            script.sayFrame(bytes, opcode: opcode)
            script.listen()
        }
        let live = try connect(server)
        try await eventually("the end") { live.sink.statuses.last == "terminal 0" }
        #expect(server.connections == 1)
    }

    @Test("a status in place of the upgrade is tried again", arguments: [403, 404, 503])
    func refused(status: Int) async throws {
        let server = try RawServer { connection in
            _ = connection.readHead()
            connection.write("HTTP/1.1 \(status) No\r\nContent-Length: 0\r\n\r\n")
        }
        let live = try connect(server)
        try await eventually("attempts") { server.connections > 2 }
        #expect(live.sink.statuses.contains("waiting \(status)"))
    }

    @Test("a server that answers nothing is left after the time for commands")
    func silent() async throws {
        let server = try Script.server { $0.listen() }
        let live = try LiveConnection(port: server.port, rooms: room) { $0.policy.commandTimeout = .milliseconds(100) }
        try await eventually("attempts") { server.connections > 2 }
        #expect(live.sink.statuses.contains("waiting 0"))
    }

    @Test("C11: each ping is answered with one pong, and nothing else is said")
    func pings() async throws {
        let answers = Lock<[[UInt8]]>([])
        let server = try Script.server { script in
            _ = script.hear()
            script.say(Reply(id: 1, .connect(.plain)))
            _ = script.hear()
            script.say(Reply(id: 2, .subscribe(SubscribeResult())))
            for _ in 0..<3 {
                script.say(.ping)
                let frame = script.connection.read(exactly: 7)
                answers.withLock { $0.append(frame) }
            }
            script.listen()
        }
        let live = try connect(server)
        try await eventually("three pongs") { answers.withLock { $0.count } == 3 }
        for frame in answers.withLock({ $0 }) {
            // A binary frame of one masked byte, which is 0.
            #expect(frame.count == 7 && frame.prefix(2) == [0x82, 0x81] && frame[2] == frame[6])
        }
        #expect(live.sink.statuses == ["connecting", "connected"])
    }

    @Test("C05: 5 MiB in one message are fine; what is over the limit ends the connection")
    func largeMessages() async throws {
        let publication = Publication(data: Payload([UInt8](repeating: 0x20, count: 5 << 20)), offset: 1)
        let server = try Script.server { script in
            _ = script.hear()
            script.say(Reply(id: 1, .connect(.plain)))
            _ = script.hear()
            var result = SubscribeResult()
            result.recoverable = true
            result.positioned = true
            result.epoch = "A"
            script.say(Reply(id: 2, .subscribe(result)))
            script.say(Reply(id: 0, .push(Push(channel: "r", .publication(publication)))))
            script.listen()
        }
        let live = try connect(server)
        try await eventually(within: .seconds(20), "the event") { live.sink.events() == ["event A/1"] }
        let strict = try LiveConnection(port: server.port, rooms: room) { $0.webSocket.limits.maxMessage = 1 << 20 }
        try await eventually("the end") { strict.sink.statuses.contains("waiting 1009") }
        #expect(strict.sink.events() == [])
    }

    @Test("a server that lets in and closes at once, again and again, is not asked in a hot loop")
    func closesAtOnce() async throws {
        let server = try Script.server { script in
            _ = script.hear()
            script.say(Reply(id: 1, .connect(.plain)))
            script.sayFrame([0x0b, 0xb9], opcode: 8)
            script.listen()
        }
        let live = try LiveConnection(port: server.port, rooms: room) {
            $0.policy.backoff = Backoff(least: .milliseconds(50), most: .seconds(20))
        }
        let end = SystemClock.now + .seconds(1)
        try await eventually("a second") { SystemClock.now >= end }
        #expect(server.connections < 10)
        #expect(live.sink.statuses.contains("waiting 3001"))
    }
}

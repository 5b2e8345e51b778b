import RoomsRuntime
import RoomsWebSocket
import RoomsWire
import Testing

@testable import HubCore

/// S01 to S10 and S43 where the socket matters: how a connection begins, what a frame is, and how it ends.
@Suite struct TransportConformanceTests {
    // MARK: handshake

    static let offerings: [([String], String?, WireFormat)] = [
        ([], nil, .json), (["centrifuge-json"], "centrifuge-json", .json),
        (["centrifuge-protobuf"], "centrifuge-protobuf", .protobuf),
        (["centrifuge-protobuf", "centrifuge-json"], "centrifuge-protobuf", .protobuf),
        (["centrifuge-json", "centrifuge-protobuf"], "centrifuge-json", .json), (["nonsense"], nil, .json),
        (["nonsense", "centrifuge-protobuf"], "centrifuge-protobuf", .protobuf),
    ]

    @Test("S01 the first subprotocol that is offered and known, JSON without one", arguments: offerings)
    func offers(_ offering: [String], _ chosen: String?, _ format: WireFormat) throws {
        let hub = try RunningHub()
        let client = try WireClient(port: hub.port, format: format, offering: offering)
        #expect(client.chosen == chosen)
        try client.send(Command(id: 1, .connect(ConnectRequest())))
        guard case .connect = try client.next().body else { throw TestFailure("not connected") }
    }

    @Test(
        "S01 the URL may ask for protobuf too, and may say more",
        arguments: [
            ("?format=protobuf", .protobuf), ("?cf_protocol=protobuf", .protobuf), ("?x=1", .json),
            ("?format=json", .json),
        ] as [(String, WireFormat)]
    )
    func formatInURL(_ query: String, _ format: WireFormat) throws {
        let hub = try RunningHub()
        let path = "/connection/websocket" + query
        let client = try WireClient(port: hub.port, format: format, path: path, offering: [])
        #expect(client.chosen == nil)
        try client.send(Command(id: 1, .connect(ConnectRequest())))
        guard case .connect = try client.next().body else { throw TestFailure("not connected") }
    }

    static let upgrade = [
        "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    ]

    @Test(
        "S01 an upgrade that cannot be",
        arguments: [
            ("GET /connection/websocket", [], 400, "Bad Request\n"),
            ("POST /connection/websocket", [], 400, "Bad Request\n"),
            ("GET /connection/websocket/", upgrade, 404, "404 page not found\n"),
            ("GET /nope", upgrade, 404, "404 page not found\n"), ("GET /", [], 404, "404 page not found\n"),
            ("GET /connection/websocket", upgrade + ["Origin: http://evil.example"], 403, "Forbidden\n"),
        ] as [(String, [String], Int, String)]
    )
    func noUpgrade(_ line: String, _ headers: [String], _ status: Int, _ body: String) throws {
        let hub = try RunningHub { $0.origins = ["http://allowed.example"] }
        let answer = try hub.request(line, headers: headers)
        #expect(answer.status == status && answer.body == body)
        let allowed = Self.upgrade + ["Origin: http://allowed.example", "Sec-WebSocket-Protocol: centrifuge-json"]
        let client = try SocketClient(port: hub.port)
        let head = (["GET /connection/websocket HTTP/1.1", "Host: hub"] + allowed).joined(separator: "\r\n")
        try client.send(Array("\(head)\r\n\r\n".utf8))
        #expect(try String(decoding: client.read(), as: UTF8.self).hasPrefix("HTTP/1.1 101 "))
    }

    // MARK: frames

    @Test("S02 a frame may hold many commands, of either kind of frame", arguments: WireFormat.allCases)
    func manyCommands(_ format: WireFormat) throws {
        let hub = try RunningHub()
        for isText in [true, false] {
            let client = try WireClient(port: hub.port, format: format)
            let commands =
                [Command(id: 1, .connect(ConnectRequest()))]
                + (2...20).map { .subscribe(ByteString("live:\($0)"), id: $0) }
            try client.send(frame: format.frame(commands), isText: isText)
            #expect(try client.next(20).map(\.id) == Array(1...20))
        }
    }

    @Test("S02 a line feed may stand behind the last command, and is a mistake in all other empty places")
    func lineFeeds() throws {
        let connect = #"{"id":1,"connect":{}}"#
        let table: [(String, answers: Int, UInt16?)] = [
            (connect + "\n", 1, nil), (connect + "\n\n", 1, 3_501), ("\n" + connect, 0, 3_501),
            (connect + "\n\n" + #"{"id":2,"subscribe":{"channel":"live:1"}}"#, 1, 3_501), ("\n", 0, 3_501),
            (connect + "\n" + #"{"id":2,"subscribe":{"channel":"live:1"}}"# + "\n", 2, nil), ("", 0, 3_501),
            (connect + "\nnonsense", 1, 3_501), ("{\"id\":1,\n\"connect\":{}}", 0, 3_501),
        ]
        for (frame, answers, close) in table {
            let conversation = Conversation(HubState(rules: RoomRule.recorded), format: .json)
            let replies = try conversation.text(frame).flatMap { try WireFormat.json.replies(in: Array($0.utf8)) }
            #expect(replies.count == answers && conversation.closeCode == close, "\(frame)")
        }
    }

    @Test("S02 a payload that is not JSON ends JSON clients with 3506, where a protobuf client gets the bytes")
    func notJSON() throws {
        let hub = try RunningHub()
        let binary = try hub.connected(.protobuf)
        let text = try hub.connected(.json)
        try binary.joined("order:1")
        try text.joined("order:1")
        _ = try hub.api("publish", #"{"channel":"order:1","data":1}"#)
        _ = try hub.api("publish", #"{"channel":"order:1","b64data":"AAEC/w=="}"#)
        #expect(try binary.next(2).map { $0.pushed?.data.array } == [[0x31], [0, 1, 2, 255]])
        // What came before goes out; on the next connection the recovery holds it again, and so does the history.
        let end = try text.readToClose()
        #expect(end.code == 3_506 && end.reason == "inappropriate protocol")
        #expect(end.replies.map { $0.pushed?.data.array } == [[0x31]])
        let recovering = try hub.connected(.json)
        try recovering.send(.subscribe("order:1") { $0.recover = true })
        #expect(try recovering.readToClose().code == 3_506)
        let paging = try hub.connected(.json)
        try paging.joined("order:1")
        try paging.send(.history("order:1", limit: 10))
        #expect(try paging.readToClose().code == 3_506)
        #expect(try binary.joined("order:2").positioned)
    }

    @Test(
        "S03 up to 16 messages share a frame, and a line feed stands between two only",
        arguments: WireFormat.allCases
    )
    func batches(_ format: WireFormat) throws {
        for (limit, expected) in [(16, [16, 16, 8]), (1, Array(repeating: 1, count: 40))] {
            var settings = SessionSettings()
            settings.messagesPerFrame = limit
            let hub = HubState(rules: RoomRule.recorded, settings: settings)
            let conversation = try Conversation.connected(hub, format: format)
            _ = try conversation.joined("live:1")
            for number in 1...40 { try conversation.publish("live:1", "\(number)") }
            let frames = conversation.frames()
            #expect(try frames.map { try format.replies(in: $0).count } == expected)
            guard format == .json else { continue }
            #expect(frames.map { $0.split(separator: 0x0a, omittingEmptySubsequences: false).count } == expected)
            #expect(frames.allSatisfy { $0.last != 0x0a })
        }
    }

    @Test("S03 a batch comes in order, up to 16 to a frame, over a socket", arguments: WireFormat.allCases)
    func batchOverSocket(_ format: WireFormat) throws {
        let hub = try RunningHub()
        let client = try hub.connected(format)
        try client.joined("order:1")
        let commands = (1...2_000).map { #"{"publish":{"channel":"order:1","data":\#($0)}}"# }
        let answer = try hub.api("batch", #"{"commands":[\#(commands.joined(separator: ","))]}"#)
        #expect(answer.body.hasPrefix(#"{"replies":[{"publish":{"offset":1,"epoch":"#))
        let heard = try client.next(2_000)
        #expect(heard.map(\.pushedOffset) == (1...2_000).map { UInt64($0) })
        #expect(heard.map { $0.pushed?.data.array } == (1...2_000).map { Array("\($0)".utf8) })
        #expect(client.largestFrame == 16)
    }

    @Test("S05 a frame of 65536 bytes is taken, one more closes with 1009", arguments: WireFormat.allCases)
    func frameLimit(_ format: WireFormat) throws {
        let hub = try RunningHub()
        let client = try hub.connected(format)
        func unsubscribe(size: Int) -> [UInt8] {
            let name = ByteString([UInt8](repeating: 0x78, count: size))
            return format.frame([Command(id: 2, .unsubscribe(channel: name))])
        }
        let overhead = unsubscribe(size: 65_000).count - 65_000
        try client.send(frame: unsubscribe(size: 65_536 - overhead))
        #expect(try client.next().body == .unsubscribe)
        try client.send(frame: unsubscribe(size: 65_537 - overhead))
        #expect(try client.readToClose().code == 1_009)
    }

    // MARK: time

    @Test("S07 no connect in time is 3502, over a socket", arguments: WireFormat.allCases)
    func stale(_ format: WireFormat) throws {
        let hub = try RunningHub { $0.session.staleDelay = .milliseconds(50) }
        let end = try WireClient(port: hub.port, format: format).readToClose()
        #expect(end.code == 3_502 && end.reason == "stale" && end.replies.isEmpty)
    }

    @Test("S08 pings come at an interval of 100 ms, and silence ends with 3012", arguments: WireFormat.allCases)
    func pings(_ format: WireFormat) throws {
        let hub = try RunningHub {
            $0.session.pingInterval = .milliseconds(100)
            $0.session.pongTimeout = .seconds(1)
        }
        let client = try hub.connected(format)
        for _ in 0..<3 {
            #expect(try client.next() == .ping)
            try client.send(.pong)
        }
        let end = try client.readToClose()
        #expect(end.code == 3_012 && end.reason == "no pong")
        #expect(end.replies.allSatisfy { $0 == .ping } && end.replies.count > 1)
    }

    // MARK: how it ends

    @Test("S09 what was said before the end comes before the close frame", arguments: WireFormat.allCases)
    func flushed(_ format: WireFormat) throws {
        let hub = try RunningHub()
        let client = try hub.connected(format, as: "u")
        try client.joined("live:1")
        let commands = (1...500).map { #"{"publish":{"channel":"live:1","data":\#($0)}}"# }
        let batch = commands + [#"{"disconnect":{"user":"u","disconnect":{"code":4100,"reason":"now"}}}"#]
        _ = try hub.api("batch", #"{"commands":[\#(batch.joined(separator: ","))]}"#)
        let end = try client.readToClose()
        #expect(end.code == 4_100 && end.reason == "now")
        #expect(end.replies.map { $0.pushed?.data.array } == (1...500).map { Array("\($0)".utf8) })
        try client.readToEnd()
    }

    @Test("S10 a slow subscriber is closed with 3008, others are not", arguments: WireFormat.allCases)
    func slow(_ format: WireFormat) throws {
        // The slow one reads again only when all is published, and shall find the close frame then.
        let hub = try RunningHub { $0.session.closeDelay = .seconds(60) }
        let slow = try hub.connected(format, receiveBuffer: 4_096)
        try slow.joined("live:1")
        let quick = try hub.connected()
        try quick.joined("live:1")
        let data = String(repeating: "x", count: 100_000)
        for _ in 0..<80 {
            _ = try hub.api("publish", #"{"channel":"live:1","data":"\#(data)"}"#)
            #expect(try quick.next().pushed?.data.count == 100_002)
        }
        let end = try slow.readToClose()
        #expect(end.code == 3_008 && end.reason == "slow" && end.replies.count < 70)
        _ = try hub.api("publish", #"{"channel":"live:1","data":1}"#)
        #expect(try quick.next().pushed?.data.count == 1)
    }

    @Test("S10 the limit is what the configuration says")
    func queueLimit() throws {
        /// How much is published until a client that reads nothing is closed, in units of 32 KiB.
        func published(_ limit: Int) throws -> Int {
            let hub = try RunningHub { $0.session.queueLimit = limit }
            let client = try hub.connected(receiveBuffer: 4_096)
            try client.joined("live:1")
            let data = String(repeating: "x", count: 32 << 10)
            for count in 1...1_000 {
                _ = try hub.api("publish", #"{"channel":"live:1","data":"\#(data)"}"#)
                if try hub.api("info", "{}").body.contains(#""num_clients":0,"#) { return count }
            }
            throw TestFailure("never closed")
        }
        let (small, usual, large) = (try published(64 << 10), try published(1 << 20), try published(4 << 20))
        #expect((24...36).contains(usual - small), "\(small) and \(usual)")
        #expect((90...102).contains(large - usual), "\(usual) and \(large)")
    }

    @Test(
        "S43 a reply over the limit is sent whole, and 3008 follows; one under it is harmless",
        arguments: WireFormat.allCases
    )
    func largeReply(_ format: WireFormat) throws {
        // Reading JSON of megabytes takes a debug build seconds.
        let (limit, size) = format == .json ? (1 << 16, 6_000) : (1 << 20, 100_000)
        let hub = try RunningHub { $0.session.queueLimit = limit }
        let data = String(repeating: "x", count: size)
        for _ in 0..<30 { _ = try hub.api("publish", #"{"channel":"order:1","data":"\#(data)"}"#) }
        let client = try hub.connected(format)
        let small = try client.joined("order:1") { ($0.recover, $0.offset) = (true, 21) }
        #expect(small.recovered && small.publications.count == 9)
        try client.send(
            Command(id: 3, .unsubscribe(channel: "order:1")),
            .subscribe("order:1", id: 4) { $0.recover = true }
        )
        let end = try client.readToClose()
        #expect(end.code == 3_008 && end.reason == "slow")
        guard case .subscribe(let large) = end.replies.last?.body else { throw TestFailure("no reply") }
        #expect(large.recovered && large.publications.map(\.offset) == Array(1...30))
        // A page of the history is a reply like any other.
        let paging = try hub.connected(format)
        try paging.joined("order:1")
        try paging.send(.history("order:1", limit: 30))
        let closed = try paging.readToClose()
        guard case .history(let page) = closed.replies.last?.body else { throw TestFailure("no page") }
        #expect(closed.code == 3_008 && page.publications.count == 30)
    }
}

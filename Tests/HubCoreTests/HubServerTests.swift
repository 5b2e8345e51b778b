import RoomsRuntime
import RoomsWire
import Testing

@testable import HubCore

/// The hub over real sockets.
@Suite struct HubServerTests {
    private func connected(_ hub: RunningHub, receiveBuffer: CInt? = nil) throws -> WireClient {
        let client = try WireClient(port: hub.port, receiveBuffer: receiveBuffer)
        try client.send(Command(id: 1, .connect(ConnectRequest())))
        guard case .connect = try client.next().body else { throw TestFailure("not connected") }
        return client
    }

    private func subscribe(_ channel: ByteString, id: UInt32 = 2, recoverFrom offset: UInt64? = nil) -> Command {
        var request = SubscribeRequest()
        request.channel = channel
        if let offset { (request.recover, request.offset) = (true, offset) }
        return Command(id: id, .subscribe(request))
    }

    @Test("publish over HTTP, hear it over the WebSocket, byte for byte")
    func endToEnd() throws {
        let hub = try RunningHub()
        let client = try connected(hub)
        try client.send(subscribe("order:1"))
        guard case .subscribe(let result) = try client.next().body else { throw TestFailure("not subscribed") }
        let data = #"{ "n" : 1.10, "big":12345678901234567890,"s":"\ud800 ü" }"#
        let answer = try hub.api("publish", "{\"channel\":\"order:1\", \"data\":\t\(data)\n , \"tags\":{\"k\":\"v\"}}")
        #expect(answer.body == #"{"result":{"offset":1,"epoch":"\#(result.epoch)"}}"#)
        let publication = try #require(try client.next().pushed)
        #expect(publication.data.array == Array(data.utf8))
        #expect(publication.offset == 1 && publication.epoch == result.epoch)
        #expect(publication.tags == [Tag(key: "k", value: "v")])
        _ = try hub.api("publish", #"{"channel":"order:1","b64data":"AAEC/w=="}"#)
        #expect(try client.next().pushed?.data.array == [0, 1, 2, 255])
    }

    @Test("what is sent in one piece with the upgrade is not lost")
    func earlyFrame() throws {
        let hub = try RunningHub()
        var frame: [UInt8] = []
        ProtobufCodec.encode(Command(id: 1, .connect(ConnectRequest())), into: &frame)
        ProtobufCodec.encode(subscribe("live:1"), into: &frame)
        let client = try WireClient(port: hub.port, firstFrame: frame)
        #expect(try client.next(2).map(\.id) == [1, 2])
    }

    @Test("a batch reaches the subscribers in order, up to 16 to a frame")
    func batch() throws {
        let hub = try RunningHub()
        let client = try connected(hub)
        try client.send(subscribe("order:1"))
        _ = try client.next()
        let commands = (1...2_000).map { #"{"publish":{"channel":"order:1","data":\#($0)}}"# }
        let answer = try hub.api("batch", #"{"commands":[\#(commands.joined(separator: ","))]}"#)
        #expect(answer.body.hasPrefix(#"{"replies":[{"publish":{"offset":1,"epoch":"#))
        let heard = try client.next(2_000)
        #expect(heard.map(\.pushedOffset) == (1...2_000).map { UInt64($0) })
        #expect(heard.map { $0.pushed?.data.array } == (1...2_000).map { Array("\($0)".utf8) })
        #expect(client.largestFrame == 16)
    }

    @Test("the client's close is answered and the connection ends")
    func clientCloses() throws {
        let hub = try RunningHub()
        let client = try connected(hub)
        try client.send(subscribe("live:1"))
        _ = try client.next()
        try client.sendClose(code: 1_000)
        #expect(try client.readToClose().code == 1_000)
        try client.readToEnd()
    }

    @Test(
        "each mistake closes with its code and reason",
        arguments: [
            ("", 3_501, "bad request"), ("7f01", 3_501, "bad request"), ("03ffffff", 3_501, "bad request"),
            ("00", 3_501, "bad request"), ("0408012000", 3_501, "bad request"),
            ("000408012200", 3_501, "bad request"), ("09080122050a03616263", 3_500, "invalid token"),
        ] as [(String, UInt16, ByteString)]
    )
    func mistakes(_ hex: String, _ code: UInt16, _ reason: ByteString) throws {
        let hub = try RunningHub()
        let client = try WireClient(port: hub.port)
        try client.send(frame: Hex.bytes(hex))
        let end = try client.readToClose()
        #expect(end.code == code && end.reason == reason && end.replies.isEmpty)
        try client.readToEnd()
    }

    @Test("a frame of 65536 bytes is taken, one more closes with 1009")
    func frameLimit() throws {
        let hub = try RunningHub()
        let client = try connected(hub)
        func unsubscribe(size: Int) -> [UInt8] {
            var frame: [UInt8] = []
            ProtobufCodec.encode(
                Command(id: 2, .unsubscribe(channel: ByteString(.init(repeating: 0x78, count: size)))),
                into: &frame
            )
            return frame
        }
        let overhead = unsubscribe(size: 65_000).count - 65_000
        try client.send(frame: unsubscribe(size: 65_536 - overhead))
        #expect(try client.next().body == .unsubscribe)
        try client.send(frame: unsubscribe(size: 65_537 - overhead))
        #expect(try client.readToClose().code == 1_009)
    }

    @Test("a slow subscriber is closed with 3008, others are not")
    func slow() throws {
        let hub = try RunningHub()
        let slow = try connected(hub, receiveBuffer: 4_096)
        try slow.send(subscribe("live:1"))
        _ = try slow.next()
        let quick = try connected(hub)
        try quick.send(subscribe("live:1"))
        _ = try quick.next()
        let data = String(repeating: "x", count: 100_000)
        for _ in 0..<100 {
            _ = try hub.api("publish", #"{"channel":"live:1","data":"\#(data)"}"#)
            #expect(try quick.next().pushed?.data.count == 100_002)
        }
        let end = try slow.readToClose()
        #expect(end.code == 3_008 && end.reason == "slow" && end.replies.count < 90)
        _ = try hub.api("publish", #"{"channel":"live:1","data":1}"#)
        #expect(try quick.next().pushed?.data.count == 1)
    }

    @Test("a reply over the limit is sent whole, and 3008 follows; one under it is harmless")
    func largeReply() throws {
        let hub = try RunningHub()
        let data = String(repeating: "x", count: 100_000)
        for _ in 0..<30 { _ = try hub.api("publish", #"{"channel":"order:1","data":"\#(data)"}"#) }
        let client = try connected(hub)
        try client.send(subscribe("order:1", recoverFrom: 21))
        guard case .subscribe(let small) = try client.next().body else { throw TestFailure("not subscribed") }
        #expect(small.recovered && small.publications.count == 9)
        try client.send(Command(id: 3, .unsubscribe(channel: "order:1")), subscribe("order:1", id: 4, recoverFrom: 0))
        let end = try client.readToClose()
        #expect(end.code == 3_008)
        guard case .subscribe(let large) = end.replies.last?.body else { throw TestFailure("no reply") }
        #expect(large.recovered && large.publications.map(\.offset) == Array(1...30))
    }

    @Test("pings come at the interval, and silence ends with 3012")
    func pings() throws {
        let hub = try RunningHub {
            $0.session.pingInterval = .milliseconds(200)
            $0.session.pongTimeout = .milliseconds(100)
        }
        let client = try connected(hub)
        for _ in 0..<3 {
            #expect(try client.next() == .ping)
            try client.send(.pong)
        }
        let end = try client.readToClose()
        #expect(end.code == 3_012 && end.replies == [.ping])
    }

    @Test("no connect in time: 3502")
    func stale() throws {
        let hub = try RunningHub { $0.session.staleDelay = .milliseconds(50) }
        let client = try WireClient(port: hub.port)
        #expect(try client.readToClose().code == 3_502)
    }

    @Test("who does not answer a close is cut off")
    func closeNotAnswered() throws {
        let hub = try RunningHub { ($0.session.staleDelay, $0.session.closeDelay) = (.zero, .milliseconds(50)) }
        let client = try WireClient(port: hub.port)
        try client.readToEnd()
    }

    @Test("stopping says 3001 to everybody")
    func shutdown() throws {
        let hub = try RunningHub()
        let clients = try (0..<5).map { _ in try connected(hub) }
        hub.server.stop()
        for client in clients {
            let end = try client.readToClose()
            #expect(end.code == 3_001 && end.reason == "shutdown")
        }
    }

    @Test(
        "an upgrade that cannot be",
        arguments: [
            ("GET /connection/websocket", [], 400), ("POST /connection/websocket", [], 400),
            ("GET /connection/websocket/", ["Upgrade: websocket"], 404), ("GET /", [], 404),
            ("GET /connection/websocket", Self.upgrade + ["Origin: http://evil.example"], 403),
        ] as [(String, [String], Int)]
    )
    func noUpgrade(_ line: String, _ headers: [String], _ status: Int) throws {
        let hub = try RunningHub()
        #expect(try hub.request(line, headers: headers).status == status)
    }

    static let upgrade = [
        "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    ]

    @Test("many connections come and go")
    func manyConnections() throws {
        let hub = try RunningHub()
        for _ in 0..<20 {
            let clients = try (0..<20).map { _ in try connected(hub) }
            for client in clients { try client.send(subscribe("order:1")) }
            for client in clients { _ = try client.next() }
            _ = try hub.api("publish", #"{"channel":"order:1","data":1}"#)
            for client in clients { #expect(try client.next().pushed != nil) }
        }
        let client = try connected(hub)
        let info = try hub.api("info", "{}").body
        #expect(info.contains(#""num_clients":1,"#) || info.contains(#""num_subs":0"#), "\(info)")
        _ = client
    }
}

enum Hex {
    static func bytes(_ text: String) -> [UInt8] {
        var digits = text[...]
        var bytes: [UInt8] = []
        while !digits.isEmpty {
            bytes.append(UInt8(digits.prefix(2), radix: 16) ?? 0)
            digits = digits.dropFirst(2)
        }
        return bytes
    }
}

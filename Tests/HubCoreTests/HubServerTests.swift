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

    static func text(_ bytes: some Sequence<UInt8>) -> String {
        bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }
}

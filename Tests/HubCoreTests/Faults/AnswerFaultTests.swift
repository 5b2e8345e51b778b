import RoomsRuntime
import RoomsWire
import Testing

@testable import HubCore

/// S39: answers that fail so many times.
@Suite struct AnswerFaultTests {
    private static let upgrade = [
        "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    ]

    private func error(_ reply: Reply) -> ErrorReply? {
        guard case .error(let error) = reply.body else { return nil }
        return error
    }

    @Test("S39: the next subscribes fail with a code", arguments: [WireFormat.protobuf, .json])
    func subscribes(format: WireFormat) throws {
        let hub = try FaultyHub()
        let client = try hub.client(format: format)
        try hub.fault("fail_subscribes", #"{"count":2,"code":103}"#)
        for _ in 0..<2 {
            let error = error(try client.subscribe("order:1"))
            #expect(error == ErrorReply(code: 103, message: "permission denied", isTemporary: false))
        }
        _ = try client.join("order:1")
    }

    @Test("S39: only in some rooms, with what the usual error is not")
    func somewhere() throws {
        let hub = try FaultyHub()
        let client = try hub.client()
        try hub.fault(
            "fail_subscribes",
            #"{"pattern":"order:{id}","code":777,"message":"no luck","temporary":true}"#
        )
        _ = try client.join("small:1")
        let error = error(try client.subscribe("order:1"))
        #expect(error == ErrorReply(code: 777, message: "no luck", isTemporary: true))
        _ = try client.join("order:1")
        try hub.fault("fail_subscribes", #"{"code":100}"#)
        #expect(self.error(try client.subscribe("order:2"))?.isTemporary == true)
    }

    @Test("S39: a code of a close ends the connection, as a broker that is down does")
    func closes() throws {
        let hub = try FaultyHub()
        let client = try hub.client()
        try hub.fault("fail_subscribes", #"{"code":3004,"message":"internal server error"}"#)
        try client.send(.subscribe(SubscribeRequest("order:1")))
        let end = try client.wire.readToClose()
        #expect(end.code == 3_004 && end.reason == "internal server error" && end.replies.isEmpty)
        _ = try hub.client().join("order:1")
    }

    @Test("S39: the next connects fail: an error, then silence, or a close")
    func connects() throws {
        let hub = try FaultyHub { $0.session.staleDelay = .milliseconds(50) }
        try hub.fault("fail_connects", #"{"code":109}"#)
        try hub.fault("fail_connects", #"{"code":3500,"message":"invalid token"}"#)
        let refused = try WireClient(port: try hub.port(0))
        try refused.send(Command(id: 1, .connect(ConnectRequest())))
        #expect(error(try refused.next())?.code == 109)
        #expect(try refused.readToClose().code == 3_502)
        let closed = try WireClient(port: try hub.port(0))
        try closed.send(Command(id: 1, .connect(ConnectRequest())))
        #expect(try closed.readToClose().code == 3_500)
        _ = try hub.client()
    }

    @Test("S39: the next upgrades are refused with a status, everywhere or on one listener")
    func upgrades() throws {
        let hub = try FaultyHub(listeners: 2)
        func status(_ listener: Int) throws -> Int {
            let line = "GET /connection/websocket"
            return try FaultyHub.request(hub.port(listener), line, nil, Self.upgrade).status
        }
        try hub.fault("refuse_upgrades", #"{"count":2}"#)
        #expect(try status(0) == 503 && status(1) == 503)
        try hub.fault("refuse_upgrades", #"{"status":429,"listener":"\#(hub.addresses[1])"}"#)
        _ = try hub.client(listener: 0)
        #expect(try status(1) == 429)
        _ = try hub.client(listener: 1)
    }
}

extension SubscribeRequest {
    fileprivate init(_ channel: ByteString) {
        self.init()
        self.channel = channel
    }
}

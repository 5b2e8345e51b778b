import RoomsRuntime
import RoomsWire
import Testing

@testable import HubCore

/// S13: rooms that the token puts a connection into, and those the client asks for with `connect`.
@Suite struct ServerSideConformanceTests {
    private let hub = HubState(rules: RoomRule.recorded)

    private func subs(_ replies: [Reply]) -> [ByteString: SubscribeResult] {
        guard case .connect(let result) = replies.first?.body else { return [:] }
        return Dictionary(result.subs.map { ($0.channel, $0.result) }) { first, _ in
            Issue.record("a room stands there twice")
            return first
        }
    }

    private func asking(_ channel: ByteString, from position: StreamPosition? = nil) -> NamedSubscribeRequest {
        var request = SubscribeRequest()
        if let position { (request.recover, request.offset, request.epoch) = (true, position.offset, position.epoch) }
        return NamedSubscribeRequest(channel: channel, request: request)
    }

    static let roomClaims: [(String, [ByteString])] = [
        (#"{"sub":"u","channels":["live:1","order:1"]}"#, ["live:1", "order:1"]),
        (#"{"sub":"u","subs":{"live:1":{},"order:1":{}}}"#, ["live:1", "order:1"]),
        // `subs` counts where both are there; a room named twice is one room; an empty name is none.
        (#"{"sub":"u","channels":["live:1"],"subs":{"live:2":{}}}"#, ["live:2"]),
        (#"{"sub":"u","channels":["live:1","live:1"]}"#, ["live:1"]), (#"{"sub":"u","channels":[""]}"#, []),
        // The token may name what nobody could join without one.
        (#"{"sub":"u","channels":["closed:1","$order:1","live:ü"]}"#, ["$order:1", "closed:1", "live:ü"]),
        (#"{"sub":"u","channels":[]}"#, []), (#"{"sub":"u","channels":null}"#, []),
    ]

    @Test(
        "S13 the token's rooms stand in the connect reply, and their publications come once",
        arguments: roomClaims,
        WireFormat.allCases
    )
    func rooms(_ row: (String, [ByteString]), _ format: WireFormat) throws {
        let (claims, channels) = row
        let (conversation, replies) = try Conversation.connecting(hub, claims, format: format)
        let subs = subs(replies)
        #expect(subs.keys.sorted() == channels.sorted())
        for (channel, result) in subs {
            let isKept = channel.string.contains("order:")
            #expect(result.recoverable == isKept && result.positioned == isKept && !result.expires)
            try conversation.publish(channel, "1")
            #expect(try conversation.heard().map { $0.push?.channel } == [channel])
            #expect(try conversation.subscribe(channel).map(\.errorCode) == [105])
            #expect(try conversation.say(.unsubscribe(channel: channel)).map(\.body) == [.unsubscribe])
            try conversation.publish(channel, "2")
            #expect(try conversation.heard().isEmpty)
        }
    }

    @Test("S13 what the token says of a room: info, data, and what it overrides", arguments: WireFormat.allCases)
    func details(_ format: WireFormat) throws {
        let claims = #"""
            {"sub":"u","info":{"n":1},"subs":{"live:1":{"info":{"i":2},"data":{"d":3},"override":{"force_recovery":{"value":true},
            "join_leave":{"value":true},"force_push_join_leave":{"value":true}}},"order:1":{"override":{"force_recovery":{"value":false},
            "force_positioning":{"value":false}}}}}
            """#
        let (conversation, replies) = try Conversation.connecting(hub, claims, format: format)
        let subs = subs(replies)
        let live = try #require(subs["live:1"])
        #expect(live.data == Array(#"{"d":3}"#.utf8) && live.recoverable && live.positioned)
        #expect(subs["order:1"] == SubscribeResult())
        var me = ClientInfo(user: "u", client: conversation.session.client)
        (me.connInfo, me.chanInfo) = (Array(#"{"n":1}"#.utf8), Array(#"{"i":2}"#.utf8))
        #expect(replies.dropFirst().map(\.push) == [Push(channel: "live:1", .join(me))])
    }

    @Test(
        "S13 what was missed stands in the connect reply when the client says where it was",
        arguments: WireFormat.allCases
    )
    func recovers(_ format: WireFormat) throws {
        let claims = #"{"sub":"u","subs":{"order:1":{},"live:1":{}}}"#
        let (first, replies) = try Conversation.connecting(hub, claims, format: format)
        let epoch = try #require(subs(replies)["order:1"]?.epoch)
        try first.publish("order:1", "1")
        first.session.end(.closed)
        for number in 2...3 { try first.publish("order:1", "\(number)") }
        func again(_ offset: UInt64, _ epoch: ByteString) throws -> SubscribeResult? {
            let position = StreamPosition(offset: offset, epoch: epoch)
            let (_, replies) = try Conversation.connecting(
                hub,
                claims,
                subs: [asking("order:1", from: position)],
                format: format
            )
            #expect(subs(replies)["live:1"] == SubscribeResult())
            return subs(replies)["order:1"]
        }
        let found = try #require(try again(1, epoch))
        #expect(found.recovered && found.wasRecovering && found.offset == 1 && found.epoch == epoch)
        #expect(found.publications.map(\.offset) == [2, 3])
        let lost = try #require(try again(1, "WrongEpo"))
        #expect(!lost.recovered && lost.wasRecovering && lost.offset == 3 && lost.publications.isEmpty)
        let (_, plain) = try Conversation.connecting(hub, claims, format: format)
        #expect(subs(plain)["order:1"]?.wasRecovering == false)
    }

    @Test("S13 a room the client asks for is given if it may be joined without a token", arguments: WireFormat.allCases)
    func asked(_ format: WireFormat) throws {
        let asked: [ByteString] = ["order:other", "closed:z", "$order:1", "live:ü", "order:other"]
        let (conversation, replies) = try Conversation.connecting(
            hub,
            #"{"sub":"u","channels":["live:1"]}"#,
            subs: asked.map { asking($0, from: StreamPosition(offset: 1, epoch: "x")) },
            format: format
        )
        let subs = subs(replies)
        #expect(subs.keys.sorted() == ["live:1", "order:other"])
        #expect(subs["order:other"]?.wasRecovering == true && subs["order:other"]?.recovered == false)
        try conversation.publish("order:other", "1")
        #expect(try conversation.heard().count == 1)
        // A room that nobody has a rule for ends the connection.
        let (other, none) = try Conversation.connecting(hub, nil, subs: [asking("nosuch:q")], format: format)
        #expect(none.isEmpty && other.session.ending == .badRequest)
    }

    @Test(
        "S13 more rooms than a connection may hold close it with 3505, however they are named",
        arguments: WireFormat.allCases
    )
    func limit(_ format: WireFormat) throws {
        func claims(_ count: Int) -> String {
            #"{"sub":"u","channels":[\#((0..<count).map { "\"live:\($0)\"" }.joined(separator: ","))]}"#
        }
        let full = try Conversation.connecting(hub, claims(128), format: format)
        #expect(subs(full.replies).count == 128)
        #expect(try full.conversation.subscribe("live:x").map(\.errorCode) == [106])
        let rows: [(String?, [NamedSubscribeRequest])] = [
            (claims(129), []), (nil, (0...128).map { asking(ByteString("live:\($0)")) }),
            (claims(128), [asking("live:x")]),
        ]
        for (claims, subs) in rows {
            let (conversation, replies) = try Conversation.connecting(hub, claims, subs: subs, format: format)
            #expect(replies.isEmpty && conversation.session.ending == .channelLimit)
        }
    }

    @Test("S13 a refused connection leaves no room behind", arguments: WireFormat.allCases)
    func refusedLeavesNothing(_ format: WireFormat) throws {
        let (_, replies) = try Conversation.connecting(hub, #"{"channels":["live:1","nosuch:1"]}"#, format: format)
        #expect(replies.map(\.errorCode) == [102])
        hub.registry.sweep(at: Conversation.start.instant)
        #expect(hub.registry.rooms.isEmpty)
    }

    @Test("S13 sub_refresh of a room that the client did not ask for is a mistake", arguments: WireFormat.allCases)
    func subRefresh(_ format: WireFormat) throws {
        let (conversation, _) = try Conversation.connecting(hub, #"{"sub":"u","channels":["live:1"]}"#, format: format)
        let token = Conversation.token(#"{"sub":"u","channel":"live:1","exp":2000}"#)
        #expect(try conversation.say(.subRefresh(channel: "live:1", token: token)).isEmpty)
        #expect(conversation.session.ending == .badRequest)
    }
}

import RoomsRuntime
import RoomsWire
import Testing

@testable import HubCore

@Suite struct HubSessionTests {
    private let hub = HubState(rules: RoomRule.recorded)

    // MARK: connect

    @Test(
        "a token that is not taken: an error and silence, or the end",
        arguments: [
            (#"{"exp":999}"#, 109, nil), (#"{"nbf":1001}"#, 109, nil), (#"{"exp":2000,"expire_at":900}"#, 110, nil),
            (#"{"channel":"order:1"}"#, nil, 3_500), ("nonsense", nil, 3_500),
        ] as [(String, UInt32?, UInt16?)]
    )
    func refused(_ claims: String, _ error: UInt32?, _ close: UInt16?) throws {
        let conversation = Conversation(hub)
        var request = ConnectRequest()
        request.token = Conversation.token(claims)
        #expect(try conversation.say(.connect(request), id: 1).map(\.errorCode) == (error.map { [$0] } ?? []))
        #expect(conversation.session.ending?.code == close)
        #expect(try conversation.subscribe("live:1").isEmpty)
        guard error != nil else { return }
        #expect(try conversation.pass(.seconds(9)).isEmpty)
        #expect(conversation.session.ending == nil)
        #expect(try conversation.pass(.seconds(1)).isEmpty)
        #expect(conversation.session.ending == .stale)
    }

    @Test("the connect reply: id, version, ping, and the expiry of the token")
    func connectReply() throws {
        let conversation = Conversation(hub)
        var request = ConnectRequest()
        request.token = Conversation.token(#"{"sub":"u","exp":1600}"#)
        let replies = try conversation.say(.connect(request), id: 7)
        guard replies.count == 1, replies[0].id == 7, case .connect(let result) = replies[0].body else {
            throw TestFailure("\(replies)")
        }
        #expect(result.client.count == 36 && result.client == conversation.session.client)
        #expect(result.version == "roomhub 0.1.0")
        #expect(result.ping == 25 && result.pong && result.expires && result.ttl == 600)
        #expect(conversation.session.user == "u")
    }

    @Test("without a token only where anonymous clients are welcome")
    func anonymous() throws {
        #expect(try Conversation.connected(hub).session.user.isEmpty)
        var settings = SessionSettings()
        settings.admitsAnonymous = false
        let conversation = Conversation(HubState(rules: RoomRule.recorded, settings: settings))
        #expect(try conversation.say(.connect(ConnectRequest()), id: 1).isEmpty)
        #expect(conversation.session.ending == .badRequest)
    }

    @Test("no connect in time is stale")
    func stale() throws {
        let conversation = Conversation(hub)
        #expect(conversation.session.deadline == conversation.moment.instant + .seconds(10))
        _ = try conversation.pass(.seconds(10))
        #expect(conversation.session.ending == .stale)
    }

    // MARK: mistakes

    @Test(
        "what a client must not say ends the connection",
        arguments: [
            ("connect again", Command(id: 2, .connect(ConnectRequest())), 3_501),
            ("no id", Command(id: 0, .unsubscribe(channel: "live:1")), 3_501),
            ("a pong nobody asked for", .pong, 3_501), ("the ping command", Command(id: 2, .ping), 3_501),
            ("nothing in it", Command(id: 2, .pong), 3_501), ("an unknown method", Command(id: 2, .unknown), 3_501),
            ("send", Command(id: 0, .send(data: [1])), 3_508),
            ("subscribe to nothing", Command(id: 2, .subscribe(SubscribeRequest())), 3_501),
            ("unsubscribe from nothing", Command(id: 2, .unsubscribe(channel: "")), 3_501),
            ("history of nothing", Command(id: 2, .history(HistoryRequest())), 3_501),
            ("refresh without a token", Command(id: 2, .refresh(token: "")), 3_501),
            ("refresh with garbage", Command(id: 2, .refresh(token: "abc")), 3_500),
            ("sub_refresh of nothing", Command(id: 2, .subRefresh(channel: "", token: "x")), 3_501),
        ] as [(String, Command, UInt16)]
    )
    func mistakes(_ name: String, _ command: Command, _ code: UInt16) throws {
        let conversation = try Conversation.connected(hub)
        conversation.session.handle(command, at: conversation.moment)
        #expect(try conversation.heard().isEmpty)
        #expect(conversation.session.ending?.code == code)
    }

    @Test(
        "before connect everything else is a mistake",
        arguments: [
            Command.pong, Command(id: 1, .unsubscribe(channel: "x")), Command(id: 1, .ping),
            Command(id: 0, .connect(ConnectRequest())), Command(id: 0, .send(data: [1])),
        ]
    )
    func beforeConnect(_ command: Command) throws {
        let conversation = Conversation(hub)
        conversation.session.handle(command, at: conversation.moment)
        #expect(conversation.session.ending == .badRequest)
        #expect(try conversation.heard().isEmpty)
    }

    // MARK: errors that leave the connection alone

    @Test(
        "errors",
        arguments: [
            ("subscribe, unknown", "subscribe nosuch:1", 102), ("subscribe, closed", "subscribe closed:1", 103),
            ("subscribe, private", "subscribe $order:1", 103), ("subscribe, not ASCII", "subscribe order:ü", 107),
            ("subscribe, twice", "subscribe order:e", 105), ("publish, unknown", "publish nosuch:1", 102),
            ("subscribe, a long name", "subscribe order:" + String(repeating: "x", count: 250), 107),
            ("publish, not allowed", "publish shop", 103), ("publish, not joined", "publish order:other", 103),
            ("history, none", "history shop", 108), ("history, not joined", "history order:notjoined", 103),
            ("history, not allowed", "history nohistory:1", 103), ("history, unknown", "history nosuch:1", 102),
            ("presence, unknown", "presence nosuch:1", 102), ("presence", "presence shop", 108),
        ]
    )
    func errors(_ name: String, _ line: String, _ code: UInt32) throws {
        let conversation = try Conversation.connected(hub, as: "u")
        _ = try conversation.joined("order:e")
        _ = try conversation.joined("nohistory:1")
        let words = line.split(separator: " ").map(String.init)
        let channel = ByteString(words[1])
        var subscribe = SubscribeRequest()
        subscribe.channel = channel
        var history = HistoryRequest()
        history.channel = channel
        let requests: [String: Request] = [
            "subscribe": .subscribe(subscribe), "publish": .publish(channel: channel, data: [0x31]),
            "history": .history(history), "presence": .presence(channel: channel),
        ]
        let request = try #require(requests[words[0]])
        let replies = try conversation.say(request, id: 33)
        #expect(replies.map(\.errorCode) == [code] && replies.map(\.id) == [33])
        #expect(conversation.session.ending == nil)
    }

    @Test("a name of 255 bytes is the longest, and so many rooms the most")
    func limits() throws {
        let conversation = try Conversation.connected(hub)
        _ = try conversation.joined(ByteString("order:" + String(repeating: "x", count: 249)))
        for number in 1..<128 { _ = try conversation.joined(ByteString("live:\(number)")) }
        #expect(try conversation.subscribe("live:128").map(\.errorCode) == [106])
        #expect(try conversation.say(.unsubscribe(channel: "live:1")).map(\.body) == [.unsubscribe])
        _ = try conversation.joined("live:128")
    }

    @Test("rpc is answered, and leaving a room one is not in is fine")
    func harmless() throws {
        let conversation = try Conversation.connected(hub)
        #expect(try conversation.say(.rpc(method: "m", data: [])).map(\.errorCode) == [108])
        #expect(try conversation.say(.unsubscribe(channel: "never:joined")).map(\.body) == [.unsubscribe])
    }

    // MARK: subscription tokens

    @Test(
        "subscription tokens",
        arguments: [
            (#"{"sub":"u","channel":"closed:1"}"#, nil, nil),
            (#"{"sub":"u","channel":"closed:1","exp":1600}"#, nil, nil),
            (#"{"sub":"u","channel":"closed:1","exp":900}"#, 109, nil),
            (#"{"sub":"u","channel":"closed:1","nbf":1100,"exp":1600}"#, 109, nil),
            (#"{"sub":"u","channel":"closed:1","exp":1600,"expire_at":900}"#, 110, nil), ("garbage", 103, nil),
            (#"{"sub":"u","channel":"closed:2"}"#, nil, 3_500), (#"{"sub":"else","channel":"closed:1"}"#, nil, 3_500),
            (#"{"sub":"","channel":"closed:1"}"#, nil, 3_500), (#"{"sub":"u"}"#, nil, 3_500),
            (#"{"sub":"u","channel":"closed:1","client":"somebody"}"#, nil, 3_500),
        ] as [(String, UInt32?, UInt16?)]
    )
    func subscriptionTokens(_ claims: String, _ error: UInt32?, _ close: UInt16?) throws {
        let conversation = try Conversation.connected(hub, as: "u")
        let replies = try conversation.subscribe("closed:1") { $0.token = Conversation.token(claims) }
        #expect(conversation.session.ending?.code == close)
        if close != nil {
            #expect(replies.isEmpty)
        } else {
            #expect(replies.map(\.errorCode) == [error])
        }
    }

    @Test("the override of a token decides about recovery and positioning, the rule where it says nothing")
    func overrides() throws {
        let conversation = try Conversation.connected(hub, as: "u")
        func join(_ channel: String, _ override: String) throws -> [Bool] {
            let token = Conversation.token(#"{"sub":"u","channel":"\#(channel)","override":\#(override)}"#)
            let result = try conversation.joined(ByteString(channel)) { $0.token = token }
            return [result.recoverable, result.positioned, !result.epoch.isEmpty]
        }
        #expect(try join("ask:1", #"{"force_recovery":{"value":true}}"#) == [true, true, true])
        #expect(try join("ask:2", #"{"force_positioning":{"value":true}}"#) == [false, true, true])
        #expect(try join("ask:3", "{}") == [false, false, false])
        #expect(try join("live:1", #"{"force_recovery":{"value":true}}"#) == [true, true, true])
        #expect(
            try join("order:1", #"{"force_recovery":{"value":false},"force_positioning":{"value":false}}"#) == [
                false, false, false,
            ]
        )
        #expect(
            try join("order:2", #"{"presence":{"value":false},"join_leave":{"value":false}}"#) == [true, true, true]
        )
    }

    @Test("what the client asks for counts where the rule lets it")
    func asked() throws {
        let conversation = try Conversation.connected(hub)
        let table: [(ByteString, Bool, Bool, recoverable: Bool, positioned: Bool)] = [
            ("ask:1", false, false, false, false), ("ask:2", true, false, false, true),
            ("ask:3", true, true, true, true),
            ("live:1", true, true, false, false), ("order:1", false, false, true, true),
            ("position:1", true, true, false, true),
        ]
        for (channel, positioned, recoverable, isRecoverable, isPositioned) in table {
            let result = try conversation.joined(channel) {
                ($0.positioned, $0.recoverable) = (positioned, recoverable)
            }
            #expect(result.recoverable == isRecoverable && result.positioned == isPositioned, "\(channel)")
        }
    }

    @Test("a room for named users only")
    func anonymousNotAdmitted() throws {
        var rule = RoomRule(pattern: "r", isPublic: true)
        rule.admitsAnonymous = false
        let hub = HubState(rules: [rule])
        #expect(try Conversation.connected(hub).subscribe("r").map(\.errorCode) == [103])
        _ = try Conversation.connected(hub, as: "u").joined("r")
    }

    // MARK: publications

    @Test("the reply to subscribe comes before any push; later ones come once, in order, to all")
    func pushes() throws {
        let first = try Conversation.connected(hub, as: "u")
        let second = try Conversation.connected(hub)
        try first.publish("order:1", "before")
        _ = try first.joined("order:1")
        _ = try second.joined("order:1")
        for number in 2...40 { try first.publish("order:1", "\(number)") }
        for conversation in [first, second] {
            let heard = try conversation.heard()
            #expect(heard.map(\.pushedOffset) == (2...40).map { UInt64($0) })
            #expect(heard.allSatisfy { $0.pushed?.epoch == "" })
        }
        _ = try second.say(.unsubscribe(channel: "order:1"))
        try first.publish("order:1", "41")
        #expect(try first.heard().count == 1)
        #expect(try second.heard().isEmpty)
    }

    @Test("the first publication of a stream carries the epoch when it is live, not in pages")
    func firstCarriesEpoch() throws {
        let conversation = try Conversation.connected(hub)
        let epoch = try conversation.joined("order:1").epoch
        for number in 1...2 { try conversation.publish("order:1", "\(number)") }
        #expect(try conversation.heard().compactMap { $0.pushed?.epoch } == [epoch, ""])
        let other = try Conversation.connected(hub)
        #expect(try other.joined("order:1") { $0.recover = true }.publications.map(\.epoch) == ["", ""])
    }

    @Test("a member's own publication comes to it before the reply, with who it is")
    func ownPublication() throws {
        let conversation = try Conversation.connected(hub, as: "u")
        _ = try conversation.joined("order:1")
        let replies = try conversation.say(.publish(channel: "order:1", data: [0xff, 0x00]), id: 5)
        #expect(replies.count == 2 && replies.last == Reply(id: 5, .publish))
        let publication = try #require(replies.first?.pushed)
        #expect(publication.data.array == [0xff, 0x00] && publication.offset == 1)
        #expect(publication.info?.user == "u" && publication.info?.client == conversation.session.client)
        #expect(try conversation.say(.publish(channel: "order:1", data: [])).map(\.errorCode) == [107])
    }

    @Test("a room that keeps nothing pushes without offset and is forgotten when empty")
    func liveOnly() throws {
        let conversation = try Conversation.connected(hub)
        _ = try conversation.joined("live:1")
        #expect(try conversation.publish("live:1", "x") == nil)
        #expect(try conversation.heard().map(\.pushedOffset) == [0])
        _ = try conversation.say(.unsubscribe(channel: "live:1"))
        #expect(hub.registry.rooms["live:1"] == nil)
        #expect(try conversation.publish("live:2", "x") == nil)
        #expect(hub.registry.rooms.isEmpty)
    }

    @Test("up to 16 messages share a frame")
    func frames() throws {
        let conversation = try Conversation.connected(hub)
        _ = try conversation.joined("live:1")
        for number in 1...40 { try conversation.publish("live:1", "\(number)") }
        var sizes: [Int] = []
        while let frame = conversation.session.outbox.takeFrame() {
            var count = 0
            try frame.withUnsafeBytes { try ProtobufCodec.decodeReplies($0) { _ in count += 1 } }
            sizes.append(count)
        }
        #expect(sizes == [16, 16, 8])
    }

    @Test("history over the protocol: limits, since, reverse, epochs")
    func history() throws {
        let conversation = try Conversation.connected(hub)
        let epoch = try conversation.joined("order:1").epoch
        for number in 1...310 { try conversation.publish("order:1", "\(number)") }
        _ = try conversation.heard()
        func page(_ limit: Int32, _ since: StreamPosition? = nil, reverse: Bool = false) throws -> Reply? {
            var request = HistoryRequest()
            (request.channel, request.limit, request.since, request.reverse) = ("order:1", limit, since, reverse)
            return try conversation.say(.history(request)).first
        }
        func offsets(_ reply: Reply?) -> [UInt64]? {
            guard case .history(let result) = reply?.body, result.offset == 310, result.epoch == epoch else {
                return nil
            }
            return result.publications.map(\.offset)
        }
        func at(_ offset: UInt64, _ epoch: ByteString) -> StreamPosition {
            StreamPosition(offset: offset, epoch: epoch)
        }
        #expect(try offsets(page(0)) == [])
        #expect(try offsets(page(-1)) == Array(1...300))
        #expect(try offsets(page(1_000)) == Array(1...300))
        #expect(try offsets(page(1_000, at(300, epoch))) == Array(301...310))
        #expect(try offsets(page(2, at(2, ""))) == [3, 4])
        #expect(try offsets(page(2, reverse: true)) == [310, 309])
        #expect(try page(2, at(2, "WrongEpo"))?.errorCode == 112)
        #expect(try page(2, at(0, epoch), reverse: true)?.errorCode == 107)
    }

    // MARK: time

    @Test("pings: the first after half to a whole interval, then each interval, an answer within the time-out")
    func pings() throws {
        for (random, first) in [(0.0, 12.5), (1.0, 25.0)] {
            let conversation = Conversation(hub, random: { random })
            _ = try conversation.say(.connect(ConnectRequest()), id: 1)
            #expect(try conversation.pass(.seconds(first) - .milliseconds(1)).isEmpty)
            #expect(try conversation.pass(.milliseconds(1)) == [.ping])
            _ = try conversation.pass(.seconds(7))
            #expect(try conversation.bytes([0]).isEmpty)
            #expect(try conversation.pass(.seconds(18)) == [.ping])
            _ = try conversation.pass(.milliseconds(7_999))
            #expect(conversation.session.ending == nil)
            _ = try conversation.pass(.milliseconds(1))
            #expect(conversation.session.ending == .noPong)
        }
    }

    @Test("a second pong to one ping is a mistake")
    func secondPong() throws {
        let conversation = try Conversation.connected(hub)
        #expect(try conversation.pass(.seconds(12.5)) == [.ping])
        _ = try conversation.bytes([0])
        #expect(conversation.session.ending == nil)
        _ = try conversation.bytes([0])
        #expect(conversation.session.ending == .badRequest)
    }

    @Test("an expired connection ends after the grace, unless it is refreshed by the same user in time")
    func refresh() throws {
        var settings = SessionSettings()
        settings.pingInterval = .zero
        let conversation = Conversation(HubState(rules: RoomRule.recorded, settings: settings))
        var request = ConnectRequest()
        request.token = Conversation.token(#"{"sub":"u","exp":1010}"#)
        _ = try conversation.say(.connect(request), id: 1)
        _ = try conversation.pass(.seconds(34))
        #expect(conversation.session.ending == nil)
        let replies = try conversation.say(.refresh(token: Conversation.token(#"{"sub":"u","exp":1100}"#)), id: 2)
        guard case .refresh(let result) = replies.first?.body else { throw TestFailure("\(replies)") }
        #expect(result.expires && result.ttl == 66)
        _ = try conversation.pass(.seconds(66 + 24))
        #expect(conversation.session.ending == nil)
        _ = try conversation.pass(.seconds(1))
        #expect(conversation.session.ending == .expired)
    }

    @Test(
        "a refresh that is not taken",
        arguments: [(#"{"sub":"u","exp":999}"#, 3_005), (#"{"sub":"else","exp":2000}"#, 3_500)] as [(String, UInt16)]
    )
    func refreshRefused(_ claims: String, _ code: UInt16) throws {
        let conversation = try Conversation.connected(hub, as: "u")
        #expect(try conversation.say(.refresh(token: Conversation.token(claims))).isEmpty)
        #expect(conversation.session.ending?.code == code)
    }

    @Test("an expired subscription ends with 2501, unless it is refreshed")
    func subscriptionExpiry() throws {
        var settings = SessionSettings()
        settings.pingInterval = .zero
        let conversation = try Conversation.connected(HubState(rules: RoomRule.recorded, settings: settings), as: "u")
        func token(_ expiry: Int) -> ByteString {
            Conversation.token(#"{"sub":"u","channel":"closed:1","exp":\#(expiry)}"#)
        }
        let result = try conversation.joined("closed:1") { $0.token = token(1_010) }
        #expect(result.expires && result.ttl == 10)
        _ = try conversation.pass(.seconds(30))
        #expect(try conversation.say(.subRefresh(channel: "closed:2", token: token(1_100))).map(\.errorCode) == [103])
        #expect(try conversation.say(.subRefresh(channel: "closed:1", token: "")).map(\.errorCode) == [107])
        let replies = try conversation.say(.subRefresh(channel: "closed:1", token: token(1_100)))
        guard case .subRefresh(let refreshed) = replies.first?.body else { throw TestFailure("\(replies)") }
        #expect(refreshed.expires && refreshed.ttl == 70)
        #expect(try conversation.pass(.seconds(94)).isEmpty)
        let push = Push(channel: "closed:1", .unsubscribe(code: 2_501, reason: "subscription expired"))
        #expect(try conversation.pass(.seconds(1)) == [Reply(id: 0, .push(push))])
        try conversation.publish("closed:1", "x")
        #expect(try conversation.heard().isEmpty)
    }

    @Test("who is gone is in no room any more")
    func leavesAtTheEnd() throws {
        let conversation = try Conversation.connected(hub)
        _ = try conversation.joined("order:1")
        _ = try conversation.joined("live:1")
        conversation.session.end(.forced)
        conversation.session.end(.shutdown)
        #expect(conversation.session.ending == .forced)
        #expect(hub.registry.rooms.values.allSatisfy { $0.members.isEmpty })
    }
}

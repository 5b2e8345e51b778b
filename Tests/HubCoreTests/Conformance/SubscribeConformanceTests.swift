import RoomsRuntime
import RoomsWire
import Testing

@testable import HubCore

/// S18, S19, S22, S23, S26, S27 and S42: joining rooms, and what is published in them.
@Suite struct SubscribeConformanceTests {
    private let hub = HubState(rules: RoomRule.recorded)

    // MARK: errors that leave the connection alone

    static let refusals: [(Command, UInt32)] = [
        (.subscribe("nosuch:1"), 102), (.subscribe("$nosuch:1"), 102), (.subscribe("nosuch:ü"), 102),
        (.subscribe("closed:1"), 103), (.subscribe("$order:1"), 103), (.subscribe("order:ü"), 107),
        (.subscribe("closed:ü"), 107), (.subscribe("order:e"), 105), (.subscribe(long(256)), 107),
        (.subscribe(ByteString("nosuch:" + String(repeating: "x", count: 300))), 107),
        (Command(id: 2, .publish(channel: "nosuch:1", data: [0x31])), 102),
        (Command(id: 2, .publish(channel: "shop", data: [0x31])), 103),
        (Command(id: 2, .publish(channel: "order:other", data: [0x31])), 103),
        (Command(id: 2, .publish(channel: "order:e", data: [])), 107),
        (Command(id: 2, .presence(channel: "nosuch:1")), 102), (Command(id: 2, .presence(channel: "shop")), 108),
        (Command(id: 2, .presenceStats(channel: "nosuch:1")), 102),
        (Command(id: 2, .presenceStats(channel: "shop")), 108),
    ]

    static func long(_ count: Int) -> ByteString { ByteString("order:" + String(repeating: "x", count: count - 6)) }

    @Test("S18 errors are answers, and the connection goes on", arguments: refusals, WireFormat.allCases)
    func errors(_ row: (Command, UInt32), _ format: WireFormat) throws {
        let conversation = try Conversation.connected(hub, as: "u", format: format)
        _ = try conversation.joined("order:e")
        let replies = try conversation.bytes(format.frame([row.0]))
        #expect(replies.map(\.errorCode) == [row.1] && replies.map(\.id) == [2])
        #expect(conversation.session.ending == nil)
    }

    @Test(
        "S18 names the real server takes are taken",
        arguments: ["order:", "order:a b", "order:a/b", "order:*", "order:a:b", "x#1", "order:\u{7f}", "order:\n"]
    )
    func names(_ name: String) throws {
        for format in WireFormat.allCases {
            let conversation = try Conversation.connected(hub, as: "u", format: format)
            _ = try conversation.joined(ByteString(name))
            try conversation.publish(ByteString(name), "1")
            #expect(try conversation.heard().map { $0.push?.channel } == [ByteString(name)])
        }
    }

    @Test("S18 a name of 255 bytes is the longest", arguments: WireFormat.allCases)
    func longestName(_ format: WireFormat) throws {
        let conversation = try Conversation.connected(hub, format: format)
        #expect(try conversation.joined(Self.long(255)).positioned)
    }

    @Test("S18 what the client asks for counts where the rule lets it", arguments: WireFormat.allCases)
    func asked(_ format: WireFormat) throws {
        let conversation = try Conversation.connected(hub, format: format)
        let table: [(ByteString, Bool, Bool, recoverable: Bool, positioned: Bool)] = [
            ("ask:1", false, false, false, false), ("ask:2", true, false, false, true),
            ("ask:3", true, true, true, true),
            ("ask:4", false, true, true, true), ("live:1", true, true, false, false),
            ("order:1", false, false, true, true),
            ("position:1", true, true, false, true),
        ]
        for (channel, positioned, recoverable, isRecoverable, isPositioned) in table {
            let result = try conversation.joined(channel) {
                ($0.positioned, $0.recoverable) = (positioned, recoverable)
            }
            #expect(result.recoverable == isRecoverable && result.positioned == isPositioned, "\(channel)")
            #expect(result.epoch.count == (isPositioned ? 8 : 0), "\(channel)")
        }
    }

    @Test("S18 a room for named users only", arguments: WireFormat.allCases)
    func anonymousNotAdmitted(_ format: WireFormat) throws {
        var rule = RoomRule(pattern: "r", isPublic: true)
        rule.admitsAnonymous = false
        let hub = HubState(rules: [rule])
        #expect(try Conversation.connected(hub, format: format).subscribe("r").map(\.errorCode) == [103])
        _ = try Conversation.connected(hub, as: "u", format: format).joined("r")
    }

    // MARK: limits

    @Test(
        "S19 the 129th room is refused with 106, whatever it is; one that is left makes place",
        arguments: WireFormat.allCases
    )
    func roomLimit(_ format: WireFormat) throws {
        let conversation = try Conversation.connected(hub, format: format)
        for number in 1...128 { _ = try conversation.joined(ByteString("live:\(number)")) }
        for name in ["live:129", "nosuch:1", "closed:1", "live:ü"] as [ByteString] {
            #expect(try conversation.subscribe(name).map(\.errorCode) == [106])
        }
        #expect(try conversation.subscribe("live:1").map(\.errorCode) == [105])
        #expect(try conversation.subscribe(Self.long(256)).map(\.errorCode) == [107])
        #expect(try conversation.say(.unsubscribe(channel: "live:1")).map(\.body) == [.unsubscribe])
        _ = try conversation.joined("live:129")
    }

    @Test("S19 the limit is what the configuration says", arguments: WireFormat.allCases)
    func configuredLimit(_ format: WireFormat) throws {
        var settings = SessionSettings()
        settings.roomLimit = 2
        let hub = HubState(rules: RoomRule.recorded, settings: settings)
        let conversation = try Conversation.connected(hub, format: format)
        for name in ["live:1", "live:2"] as [ByteString] { _ = try conversation.joined(name) }
        #expect(try conversation.subscribe("live:3").map(\.errorCode) == [106])
    }

    // MARK: publications

    @Test("S22 the reply comes before any push, later ones come once and in order", arguments: WireFormat.allCases)
    func pushes(_ format: WireFormat) throws {
        let first = try Conversation.connected(hub, as: "u", format: format)
        let second = try Conversation.connected(hub, format: format)
        try first.publish("order:1", "1")
        for conversation in [first, second] { #expect(try conversation.subscribe("order:1").map(\.id) == [9]) }
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

    @Test(
        "S22 whoever joins while others publish hears each publication once, in order",
        arguments: WireFormat.allCases
    )
    func joinsWhilePublishing(_ format: WireFormat) async throws {
        let hub = try RunningHub()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for _ in 0..<60 {
                    let commands = (0..<5).map { _ in #"{"publish":{"channel":"order:1","data":1}}"# }
                    _ = try hub.api("batch", #"{"commands":[\#(commands.joined(separator: ","))]}"#)
                }
            }
            group.addTask { try Self.comeAndGo(hub, format) }
            try await group.waitForAll()
        }
    }

    /// Joins again and again from where it was, until it has heard 300 publications.
    private static func comeAndGo(_ hub: RunningHub, _ format: WireFormat) throws {
        let client = try hub.connected(format)
        var (position, id) = (UInt64(0), UInt32(10))
        while position < 300 {
            id += 2
            try client.send(.subscribe("order:1", id: id) { ($0.recover, $0.offset) = (true, position) })
            guard case .subscribe(let result) = try client.next().body else { throw TestFailure("a push came first") }
            #expect(result.recovered && result.offset == position)
            try client.send(Command(id: id + 1, .unsubscribe(channel: "order:1")))
            var offsets = result.publications.map(\.offset)
            while true {
                let reply = try client.next()
                if reply.id == id + 1 { break }
                offsets.append(try #require(reply.pushedOffset))
            }
            #expect(offsets == Array(position + 1..<position + 1 + UInt64(offsets.count)))
            position += UInt64(offsets.count)
        }
    }

    @Test("S23 all subscribers hear the same order, whoever publishes")
    func sameOrder() async throws {
        let hub = try RunningHub()
        let clients = try [WireFormat.json, .protobuf, .json].map { try hub.connected($0, as: "u") }
        for client in clients { try client.joined("order:1") }
        for round in 0..<20 {
            for (index, client) in clients.enumerated() {
                let data = Array("[\(index),\(round)]".utf8)
                try client.send(Command(id: 50, .publish(channel: "order:1", data: data)))
            }
            _ = try hub.api("publish", #"{"channel":"order:1","data":[9,\#(round)]}"#)
        }
        var heard: [[[UInt8]]] = []
        for client in clients {
            var (pushed, replies): ([Publication], Int) = ([], 0)
            while pushed.count < 80 || replies < 20 {
                let reply = try client.next()
                if let publication = reply.pushed { pushed.append(publication) } else { replies += 1 }
            }
            #expect(pushed.map(\.offset) == Array(1...80))
            heard.append(pushed.map(\.data.array))
        }
        #expect(Set(heard).count == 1 && Set(heard[0]).count == 80)
    }

    @Test("S26 a member's own publication comes before the reply, and says who it is", arguments: WireFormat.allCases)
    func ownPublication(_ format: WireFormat) throws {
        let (conversation, _) = try Conversation.connecting(hub, #"{"sub":"u","info":{"n": 1}}"#, format: format)
        let other = try Conversation.connected(hub, format: format)
        _ = try conversation.joined("$order:1") {
            $0.token = Conversation.token(#"{"sub":"u","channel":"$order:1","info":{"c":2}}"#)
        }
        _ = try other.joined("$order:1") { $0.token = Conversation.token(#"{"channel":"$order:1"}"#) }
        let data = Array(#"{ "big":12345678901234567890,"s":"\ud800" }"#.utf8)
        let replies = try conversation.say(.publish(channel: "$order:1", data: data), id: 5)
        #expect(replies.count == 2 && replies.last == Reply(id: 5, .publish))
        var me = ClientInfo(user: "u", client: conversation.session.client)
        (me.connInfo, me.chanInfo) = (Array(#"{"n": 1}"#.utf8), Array(#"{"c":2}"#.utf8))
        for publication in [replies.first?.pushed, try other.heard().first?.pushed] {
            #expect(publication?.data.array == data && publication?.offset == 1 && publication?.info == me)
        }
        // Whoever comes later sees it in what is kept, and what the server publishes has no author.
        try conversation.publish("$order:1", "2")
        #expect(try conversation.heard().map { $0.pushed?.info } == [nil])
        let page = try other.bytes(format.frame([.history("$order:1", limit: 2)]))
        guard case .history(let result) = page.last?.body else { throw TestFailure("\(page)") }
        #expect(result.publications.map(\.info) == [me, nil])
        #expect(try conversation.say(.publish(channel: "$order:1", data: Array("null".utf8))).last?.body == .publish)
    }

    @Test("S26 publishing needs the permission and the room", arguments: WireFormat.allCases)
    func publishPermission(_ format: WireFormat) throws {
        let conversation = try Conversation.connected(hub, as: "u", format: format)
        for name in ["small:1", "live:1", "order:2"] as [ByteString] { _ = try conversation.joined(name) }
        _ = try conversation.say(.unsubscribe(channel: "order:2"))
        for name in ["small:1", "live:1", "order:2"] as [ByteString] {
            #expect(try conversation.say(.publish(channel: name, data: [0x31])).map(\.errorCode) == [103])
        }
    }

    @Test("S27 leaving a room one is not in, or that does not exist, is fine", arguments: WireFormat.allCases)
    func unsubscribe(_ format: WireFormat) throws {
        let conversation = try Conversation.connected(hub, format: format)
        for (index, name) in (["order:1", "nosuch:1", "closed:1", "order:ü"] as [ByteString]).enumerated() {
            let id = UInt32(index + 3)
            #expect(try conversation.say(.unsubscribe(channel: name), id: id) == [Reply(id: id, .unsubscribe)])
        }
        #expect(hub.registry.rooms.isEmpty)
    }

    @Test("S27 who is gone is in no room any more, and is gone for the first reason", arguments: WireFormat.allCases)
    func leavesAtTheEnd(_ format: WireFormat) throws {
        let conversation = try Conversation.connected(hub, format: format)
        for name in ["order:1", "live:1"] as [ByteString] { _ = try conversation.joined(name) }
        conversation.session.end(.forced)
        conversation.session.end(.shutdown)
        #expect(conversation.session.ending == .forced)
        #expect(hub.registry.rooms.values.allSatisfy { $0.members.isEmpty })
    }

    @Test("S27 leaving and joining again without waiting for the reply", arguments: WireFormat.allCases)
    func unsubscribeRace(_ format: WireFormat) throws {
        let conversation = try Conversation.connected(hub, format: format)
        let commands = [
            .subscribe("order:1", id: 2), Command(id: 3, .unsubscribe(channel: "order:1")),
            .subscribe("order:1", id: 4),
        ]
        let replies = try conversation.bytes(format.frame(commands))
        #expect(replies.map(\.id) == [2, 3, 4] && replies.allSatisfy { $0.errorCode == nil })
        try conversation.publish("order:1", "1")
        #expect(try conversation.heard().map(\.pushedOffset) == [1])
    }

    @Test(
        "S42 the first publication of a stream carries the epoch when it is live, not in pages",
        arguments: WireFormat.allCases
    )
    func firstCarriesEpoch(_ format: WireFormat) throws {
        let conversation = try Conversation.connected(hub, format: format)
        let epoch = try conversation.joined("order:1").epoch
        for number in 1...2 { try conversation.publish("order:1", "\(number)") }
        #expect(try conversation.heard().compactMap { $0.pushed?.epoch } == [epoch, ""])
        let other = try Conversation.connected(hub, format: format)
        #expect(try other.joined("order:1") { $0.recover = true }.publications.map(\.epoch) == ["", ""])
        let page = try other.bytes(format.frame([.history("order:1", limit: 2)]))
        guard case .history(let result) = page.first?.body else { throw TestFailure("\(page)") }
        #expect(result.publications.map(\.epoch) == ["", ""])
    }

    @Test(
        "S18 a room that keeps nothing pushes without offset and is forgotten when empty",
        arguments: WireFormat.allCases
    )
    func liveOnly(_ format: WireFormat) throws {
        let conversation = try Conversation.connected(hub, format: format)
        _ = try conversation.joined("live:1")
        #expect(try conversation.publish("live:1", "1") == nil)
        #expect(try conversation.heard().map(\.pushedOffset) == [0])
        _ = try conversation.say(.unsubscribe(channel: "live:1"))
        #expect(hub.registry.rooms["live:1"] == nil)
        #expect(try conversation.publish("live:2", "1") == nil)
        #expect(hub.registry.rooms.isEmpty)
    }
}

import RoomsRuntime
import RoomsWire
import Testing

@testable import HubCore

/// S28: who is in a room, who may ask, who hears of those who come and go.
@Suite struct PresenceConformanceTests {
    /// A room with presence that says everything (`all`), only when asked (`ask`), never (`quiet`), one whose members
    /// may not see who is there (`blind`), and one without presence (`none`).
    private let hub: HubState

    init() {
        func rule(_ pattern: RoomPattern, _ joinLeave: RoomRule.Grant, may: RoomRule.Permissions? = nil) -> RoomRule {
            RoomRule(pattern: pattern, isPublic: true, presence: true, joinLeave: joinLeave, membersMay: may)
        }
        hub = HubState(rules: [
            rule("all:{x}", .always), rule("ask:{x}", .ask), rule("quiet:{x}", .never),
            rule("blind:{x}", .ask, may: []),
            RoomRule(pattern: "none:{x}", isPublic: true),
        ])
    }

    private func presence(_ conversation: Conversation, _ channel: ByteString) throws -> [ByteString: ClientInfo] {
        let replies = try conversation.say(.presence(channel: channel))
        guard replies.count == 1, case .presence(let entries) = replies[0].body else { throw TestFailure("\(replies)") }
        return Dictionary(uniqueKeysWithValues: entries.map { ($0.key, $0.info) })
    }

    private func stats(_ conversation: Conversation, _ channel: ByteString) throws -> [UInt32] {
        let replies = try conversation.say(.presenceStats(channel: channel))
        guard case .presenceStats(let clients, let users) = replies.first?.body else { throw TestFailure("\(replies)") }
        return [clients, users]
    }

    private func token(_ channel: String, _ override: String, user: String = "u") -> ByteString {
        Conversation.token(#"{"sub":"\#(user)","channel":"\#(channel)","info":{"c":2},"override":{\#(override)}}"#)
    }

    @Test(
        "S28 presence names each connection with what its tokens say; the counts count users once",
        arguments: WireFormat.allCases
    )
    func presence(_ format: WireFormat) throws {
        let (ann, _) = try Conversation.connecting(hub, #"{"sub":"ann","info":{"n":1}}"#, format: format)
        let bob = try (0..<2).map { _ in try Conversation.connected(hub, as: "bob", format: format) }
        let nobody = try (0..<2).map { _ in try Conversation.connected(hub, format: format) }
        _ = try ann.joined("quiet:1") { $0.token = token("quiet:1", "", user: "ann") }
        var me = ClientInfo(user: "ann", client: ann.session.client)
        (me.connInfo, me.chanInfo) = (Array(#"{"n":1}"#.utf8), Array(#"{"c":2}"#.utf8))
        #expect(try presence(ann, "quiet:1") == [me.client: me])
        #expect(try stats(ann, "quiet:1") == [1, 1])
        for conversation in bob + nobody { _ = try conversation.joined("quiet:1") }
        let all = try presence(ann, "quiet:1")
        #expect(Set(all.keys) == Set(([ann] + bob + nobody).map(\.session.client)))
        #expect(all[bob[1].session.client] == ClientInfo(user: "bob", client: bob[1].session.client))
        #expect(all[nobody[0].session.client] == ClientInfo(user: "", client: nobody[0].session.client))
        #expect(try stats(ann, "quiet:1") == [5, 3])
        // Who leaves, is put out, or whose connection ends is there no longer.
        _ = try bob[0].say(.unsubscribe(channel: "quiet:1"))
        bob[1].session.end(.noPong)
        nobody[0].session.removeSubscription("quiet:1")
        #expect(try presence(ann, "quiet:1").keys.sorted() == [ann, nobody[1]].map(\.session.client).sorted())
        #expect(try stats(ann, "quiet:1") == [2, 2])
    }

    @Test("S28 only members may ask, where the rule lets them and presence is kept", arguments: WireFormat.allCases)
    func mayAsk(_ format: WireFormat) throws {
        let conversation = try Conversation.connected(hub, as: "u", format: format)
        for channel in ["quiet:1", "blind:1", "none:1"] as [ByteString] { _ = try conversation.joined(channel) }
        let table: [(ByteString, UInt32?)] = [
            ("quiet:1", nil), ("quiet:2", 103), ("blind:1", 103), ("none:1", 108), ("none:2", 108), ("other", 102),
        ]
        for (channel, code) in table {
            #expect(try conversation.say(.presence(channel: channel)).map(\.errorCode) == [code], "\(channel)")
            #expect(try conversation.say(.presenceStats(channel: channel)).map(\.errorCode) == [code], "\(channel)")
        }
    }

    @Test(
        "S28 who comes and goes is told to those who hear it, to the one who comes right behind its reply",
        arguments: WireFormat.allCases
    )
    func comesAndGoes(_ format: WireFormat) throws {
        let ann = try Conversation.connected(hub, as: "ann", format: format)
        let bob = try Conversation.connected(hub, as: "bob", format: format)
        let (annInfo, bobInfo) = (ann.session.client, bob.session.client)
        var replies = try ann.subscribe("all:1")
        #expect(replies.map(\.id) == [9, 0] && replies[1].joined?.client == annInfo)
        replies = try bob.subscribe("all:1")
        #expect(replies.map(\.id) == [9, 0] && replies[1].joined?.client == bobInfo)
        #expect(try ann.heard().map { $0.joined } == [ClientInfo(user: "bob", client: bobInfo)])
        #expect(try bob.say(.unsubscribe(channel: "all:1")).map(\.body) == [.unsubscribe])
        #expect(try ann.heard().map { $0.left } == [ClientInfo(user: "bob", client: bobInfo)])
        _ = try bob.subscribe("all:1")
        bob.session.end(.noPong)
        let heard = try ann.heard()
        #expect(heard.count == 2 && heard[0].joined?.user == "bob" && heard[1].left?.user == "bob")
        // Put out over the API: the others hear it, the one who goes hears why.
        let carol = try Conversation.connected(hub, as: "carol", format: format)
        _ = try carol.subscribe("all:1")
        carol.session.dropSubscription("all:1", code: 2_000, reason: "server unsubscribe")
        #expect(try ann.heard().last?.left?.user == "carol")
        #expect(try carol.heard().map { $0.push?.body } == [.unsubscribe(code: 2_000, reason: "server unsubscribe")])
    }

    @Test("S28 who wants to hear of others has to ask where the rule says so", arguments: WireFormat.allCases)
    func asks(_ format: WireFormat) throws {
        let table: [(ByteString, asks: Bool, hears: Bool)] = [
            ("all:1", false, true), ("all:2", true, true), ("ask:1", false, false), ("ask:2", true, true),
            ("quiet:1", true, false), ("blind:1", true, false), ("none:1", true, false),
        ]
        for (channel, asks, hears) in table {
            let conversation = try Conversation.connected(hub, as: "u", format: format)
            let own = try conversation.subscribe(channel) { $0.joinLeave = asks }
            #expect(own.count == (hears ? 2 : 1), "\(channel)")
            let other = try Conversation.connected(hub, as: "else", format: format)
            _ = try other.subscribe(channel)
            other.session.end(.closed)
            #expect(try conversation.heard().count == (hears ? 2 : 0), "\(channel)")
        }
    }

    /// What a token says of a subscription; whether its presence is kept, the others hear of it, and it hears of itself.
    static let overrideRows: [(String, String, isPresent: Bool?, isTold: Bool, hearsItself: Bool)] = [
        ("all:1", "", true, true, true), ("all:1", #""presence":{"value":false}"#, false, true, true),
        ("all:1", #""join_leave":{"value":false}"#, true, false, false),
        ("all:1", #""force_push_join_leave":{"value":false}"#, true, true, false),
        ("ask:1", #""force_push_join_leave":{"value":true}"#, true, true, true),
        ("ask:1", #""join_leave":{"value":false},"force_push_join_leave":{"value":true}"#, true, false, false),
        ("quiet:1", #""join_leave":{"value":true},"force_push_join_leave":{"value":true}"#, true, true, true),
        ("quiet:1", #""join_leave":{"value":true}"#, true, true, false),
        ("quiet:1", #""presence":{"value":false}"#, false, false, false),
        // Presence that is not kept by the rule cannot be asked for, whatever a token says.
        ("none:1", #""presence":{"value":true}"#, nil, false, false),
        ("none:1", #""join_leave":{"value":true},"force_push_join_leave":{"value":true}"#, nil, true, true),
    ]

    @Test("S28 what a token overrides", arguments: overrideRows, WireFormat.allCases)
    func overrides(
        _ row: (String, String, isPresent: Bool?, isTold: Bool, hearsItself: Bool),
        _ format: WireFormat
    ) throws {
        let channel = ByteString(row.0)
        let witness = try Conversation.connected(hub, as: "w", format: format)
        _ = try witness.subscribe(channel) {
            $0.token = token(row.0, #""force_push_join_leave":{"value":true}"#, user: "w")
        }
        let conversation = try Conversation.connected(hub, as: "u", format: format)
        let replies = try conversation.subscribe(channel) { $0.token = token(row.0, row.1) }
        #expect(replies.map(\.joined?.user) == (row.hearsItself ? [nil, "u"] : [nil]), "\(row.1)")
        #expect(try witness.heard().map(\.joined?.user) == (row.isTold ? ["u"] : []), "\(row.1)")
        if let isPresent = row.isPresent {
            #expect(try (presence(witness, channel)[conversation.session.client] != nil) == isPresent)
        } else {
            #expect(try conversation.say(.presence(channel: channel)).map(\.errorCode) == [108])
        }
        conversation.session.end(.closed)
        #expect(try witness.heard().map(\.left?.user) == (row.isTold ? ["u"] : []), "\(row.1)")
    }

    @Test("S28 rooms of a token's own are joined like others", arguments: WireFormat.allCases)
    func serverSide(_ format: WireFormat) throws {
        let ann = try Conversation.connected(hub, as: "ann", format: format)
        _ = try ann.subscribe("all:1")
        let claims = #"{"sub":"u","subs":{"all:1":{"info":{"i":1}}}}"#
        let (conversation, replies) = try Conversation.connecting(hub, claims, format: format)
        #expect(replies.count == 2 && replies[1].joined?.chanInfo == Array(#"{"i":1}"#.utf8))
        #expect(try ann.heard().map(\.joined?.user) == ["u"])
        #expect(try presence(ann, "all:1").count == 2)
        conversation.session.end(.closed)
        #expect(try ann.heard().map(\.left?.user) == ["u"])
    }

    @Test("S28 the server API sees the same, over a socket that simply ends too", arguments: WireFormat.allCases)
    func overSocket(_ format: WireFormat) async throws {
        let hub = try RunningHub(rooms: [RoomRule(pattern: "all", isPublic: true, presence: true)])
        let ann = try hub.connected(format, as: "ann")
        try ann.joined("all")
        var bob: WireClient? = try hub.connected(format, as: "bob")
        try bob?.joined("all")
        #expect(try ann.next(2).map(\.joined?.user) == ["ann", "bob"])
        #expect(
            try hub.api("presence_stats", #"{"channel":"all"}"#).body == #"{"result":{"num_clients":2,"num_users":2}}"#
        )
        let presence = try hub.api("presence", #"{"channel":"all"}"#).body
        #expect(presence.contains(#"{"user":"ann","client":""#) && presence.contains(#"{"user":"bob","client":""#))
        bob = nil
        #expect(try ann.next().left?.user == "bob")
        #expect(
            try hub.api("presence_stats", #"{"channel":"all"}"#).body == #"{"result":{"num_clients":1,"num_users":1}}"#
        )
    }
}

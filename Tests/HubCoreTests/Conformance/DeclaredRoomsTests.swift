import RoomsRuntime
import RoomsWire
import Testing

@testable import HubCore

/// What a rule says of its rooms, in a configuration and in what an app declares while the hub runs.
@Suite struct DeclaredRoomsTests {
    static let taken = #"{"result":{}}"#

    private func hub(_ rooms: String) throws -> HubState {
        let configuration = try HubConfiguration.parse(Array(#"{"rooms":\#(rooms)}"#.utf8))
        return HubState(
            registry: RoomRegistry(rules: configuration.rooms, makeEpoch: { "OurEpoch" }),
            verifier: TokenVerifier(secret: Conversation.secret),
            settings: SessionSettings()
        )
    }

    /// The offsets that are kept.
    private func kept(_ hub: HubState, _ room: String, at moment: Moment = Conversation.start) throws -> [UInt64] {
        let body = hub.call("history", #"{"channel":"\#(room)","limit":-1}"#, at: moment)
        return body.matches(of: /"offset":(\d+)/).compactMap { UInt64($0.1) }.dropLast()
    }

    // MARK: what a rule says

    @Test("a room keeps as many as its rule says, for as long; 30 minutes without a word, and never longer")
    func keeps() throws {
        let hub = try hub(#"[{"pattern":"a","history":3,"keep":"2s"},{"pattern":"b","history":2}]"#)
        let conversation = try Conversation.connected(hub)
        for number in 1...5 { for room in ["a", "b"] as [ByteString] { try conversation.publish(room, "\(number)") } }
        #expect(try kept(hub, "a") == [3, 4, 5] && kept(hub, "b") == [4, 5])
        _ = try conversation.pass(.seconds(2) - .milliseconds(1))
        #expect(try kept(hub, "a", at: conversation.moment) == [3, 4, 5])
        _ = try conversation.pass(.milliseconds(1))
        #expect(try kept(hub, "a", at: conversation.moment) == [])
        _ = try conversation.pass(.seconds(1_798) - .milliseconds(1))
        #expect(try kept(hub, "b", at: conversation.moment) == [4, 5])
        _ = try conversation.pass(.milliseconds(1))
        #expect(try kept(hub, "b", at: conversation.moment) == [])
        #expect(throws: HubConfigurationError.self) { try self.hub(#"[{"pattern":"a","history":3,"keep":"31m"}]"#) }
        let answer = hub.declare("app", #"[{"pattern":"c","history":3,"keep":"31m"}]"#)
        #expect(
            answer.contains(#""code":107"#) && answer.contains("rooms[0].keep: is longer than a room keeps anything")
        )
    }

    @Test(
        "one user more than max_members is refused with 450 full; connections of a user count once",
        arguments: WireFormat.allCases
    )
    func full(_ format: WireFormat) throws {
        let hub = try hub(#"[{"pattern":"r","public":true,"max_members":2}]"#)
        let ann = try Conversation.connected(hub, as: "ann", format: format)
        _ = try ann.joined("r")
        let again = try Conversation.connected(hub, as: "ann", format: format)
        _ = try again.joined("r")
        let bob = try Conversation.connected(hub, as: "bob", format: format)
        _ = try bob.joined("r")
        let carol = try Conversation.connected(hub, as: "carol", format: format)
        let full = [Reply(id: 9, .error(ErrorReply(code: 450, message: "full")))]
        #expect(try carol.subscribe("r") == full)
        #expect(try Conversation.connected(hub, format: format).subscribe("r") == full)
        // One more of somebody who is in it is no more.
        _ = try Conversation.connected(hub, as: "bob", format: format).joined("r")
        _ = try ann.say(.unsubscribe(channel: "r"))
        #expect(try carol.subscribe("r") == full)
        again.session.end(.closed)
        _ = try carol.joined("r")
        #expect(try Conversation.connected(hub, as: "dan", format: format).subscribe("r") == full)
        // The room of a token is as full as any.
        let (dan, replies) = try Conversation.connecting(hub, #"{"sub":"dan","channels":["r"]}"#, format: format)
        #expect(replies.map(\.errorCode) == [450] && dan.session.ending == nil)
    }

    @Test("each connection without a user counts in max_members", arguments: WireFormat.allCases)
    func fullOfNobody(_ format: WireFormat) throws {
        let hub = try hub(#"[{"pattern":"r","public":true,"max_members":2}]"#)
        let nobody = try (0..<3).map { _ in try Conversation.connected(hub, format: format) }
        for conversation in nobody[..<2] { _ = try conversation.joined("r") }
        #expect(try nobody[2].subscribe("r").map(\.errorCode) == [450])
    }

    @Test("members may publish where the rule says so", arguments: WireFormat.allCases)
    func publish(_ format: WireFormat) throws {
        let hub = try hub(
            #"[{"pattern":"yes","public":true,"members_may":["publish"]},{"pattern":"no","public":true,"history":5}]"#
        )
        let conversation = try Conversation.connected(hub, as: "u", format: format)
        let publish = { (room: ByteString) in try conversation.say(.publish(channel: room, data: [0x31])) }
        #expect(try publish("yes").map(\.errorCode) == [103])
        for room in ["yes", "no"] as [ByteString] { _ = try conversation.joined(room) }
        #expect(try publish("yes").last?.body == .publish)
        #expect(try publish("no").map(\.errorCode) == [103])
        // Without a word members may see what is kept.
        #expect(try conversation.bytes(format.frame([.history("no", limit: 1)])).first?.errorCode == nil)
    }

    @Test("a name that nobody has a rule for is 102, everywhere", arguments: WireFormat.allCases)
    func noRule(_ format: WireFormat) throws {
        let hub = try hub(#"[{"pattern":"order:{id}","public":true}]"#)
        let conversation = try Conversation.connected(hub, as: "u", format: format)
        for room in ["order", "order:", "order:1:2", "shop", "Order:1"] as [ByteString] {
            let token = Conversation.token(#"{"sub":"u","channel":"\#(room)"}"#)
            #expect(try conversation.subscribe(room).map(\.errorCode) == [102], "\(room)")
            #expect(try conversation.subscribe(room) { $0.token = token }.map(\.errorCode) == [102], "\(room)")
            let answer = hub.call("publish", #"{"channel":"\#(room)","data":1}"#)
            #expect(answer == #"{"error":{"code":102,"message":"unknown channel"}}"#)
        }
        _ = try conversation.joined("order:1")
    }

    @Test("a room that is not public needs a token", arguments: WireFormat.allCases)
    func needsToken(_ format: WireFormat) throws {
        let hub = try hub(#"[{"pattern":"r"},{"pattern":"p","public":true}]"#)
        let conversation = try Conversation.connected(hub, as: "u", format: format)
        #expect(try conversation.subscribe("r").map(\.errorCode) == [103])
        _ = try conversation.joined("r") { $0.token = Conversation.token(#"{"sub":"u","channel":"r"}"#) }
        _ = try conversation.joined("p")
    }

    @Test("the most bytes that stand for themselves win; two patterns with the same number are a mistake")
    func specific() throws {
        let hub = try hub(
            #"[{"pattern":"{all*}","history":1},{"pattern":"o:{id}","history":2},{"pattern":"o:vip{id}","history":3},"#
                + #"{"pattern":"o:vip1","history":4}]"#
        )
        for (room, size) in [("o:vip1", 4), ("o:vip2", 3), ("o:7", 2), ("o:7:8", 1), ("x", 1)] {
            for number in 1...5 { _ = hub.call("publish", #"{"channel":"\#(room)","data":\#(number)}"#) }
            #expect(try kept(hub, room).count == size, "\(room)")
        }
        #expect {
            try self.hub(#"[{"pattern":"order:{id}"}, {"pattern":"order:{no}"}]"#)
        } throws: { error in
            "\((error as? HubConfigurationError)?.issues.first?.description ?? "")".contains(
                "rooms[1]: some names fit both order:{id} and order:{no}"
            )
        }
        let answer = hub.declare("app", #"[{"pattern":"q:{id}"},{"pattern":"q:{no}"}]"#)
        #expect(answer.contains(#""code":107"#) && answer.contains("some names fit both q:{id} and q:{no}"))
    }

    // MARK: declare_rooms

    @Test(
        "what an app declares is in force at once, and replaces what it declared before",
        arguments: WireFormat.allCases
    )
    func replaces(_ format: WireFormat) throws {
        let hub = try hub("[]")
        let conversation = try Conversation.connected(hub, format: format)
        func codes() throws -> [UInt32?] {
            try (["a", "b", "c"] as [ByteString]).map { room in
                defer { _ = try? conversation.say(.unsubscribe(channel: room)) }
                return try conversation.subscribe(room).first?.errorCode
            }
        }
        let (a, b, c) = (#"{"pattern":"a","public":true}"#, #"{"pattern":"b","public":true}"#, #"{"pattern":"c"}"#)
        #expect(try codes() == [102, 102, 102])
        #expect(hub.declare("one", "[\(a)]") == Self.taken)
        #expect(hub.declare("two", "[\(c)]") == Self.taken)
        #expect(try codes() == [nil, 102, 103])
        // As often as the app likes.
        for _ in 0..<3 { #expect(hub.declare("one", "[\(a)]") == Self.taken) }
        #expect(hub.declare("one", "[\(b)]") == Self.taken)
        #expect(try codes() == [102, nil, 103])
        #expect(hub.declare("one", "[]") == Self.taken)
        #expect(try codes() == [102, 102, 103])
        #expect(hub.declare("three", "[]") == Self.taken)
    }

    @Test("a clash with the configuration or another app is 113 that says with what, and changes nothing")
    func clashes() throws {
        let hub = try hub(#"[{"pattern":"order:{id}","history":2}]"#)
        #expect(hub.declare("one", #"[{"pattern":"chat:{a}"}]"#) == Self.taken)
        let own = hub.declare("two", #"[{"pattern":"fine"},{"pattern":"order:{no}"}]"#)
        #expect(
            own.contains(#""code":113"#)
                && own.contains("some names fit both order:{no} and order:{id} of the hub's configuration")
        )
        let other = hub.declare("two", #"[{"pattern":"chat:{b}"}]"#)
        #expect(other.contains(#""code":113"#) && other.contains("chat:{b} and chat:{a} of the app one"))
        #expect(hub.call("publish", #"{"channel":"fine","data":1}"#).contains("102"))
        // Its own earlier list is no obstacle, nor is a pattern of another weight.
        #expect(hub.declare("one", #"[{"pattern":"chat:{b}"},{"pattern":"order:vip{x}"}]"#) == Self.taken)
        #expect(hub.declare("two", #"[{"pattern":"chat:{a}"}]"#).contains(#""code":113"#))
        #expect(hub.declare("one", "[]") == Self.taken)
        #expect(hub.declare("two", #"[{"pattern":"chat:{a}"}]"#) == Self.taken)
    }

    static let badDeclarations: [(String, String)] = [
        ("{}", "app is missing"), (#"{"app":"","rooms":[]}"#, "app is missing"), (#"{"app":"a"}"#, "rooms is missing"),
        (#"{"app":"a","rooms":{}}"#, "1:20: rooms: is not a list, write [ … ]"),
        (#"{"app":"a","rooms":[{}]}"#, "1:21: rooms[0]: has no pattern, say which rooms:"),
        (#"{"app":"a","rooms":[{"pattern":"a","histroy":1}]}"#, "rooms[0].histroy: nothing is called so, did you mean"),
        (
            #"{"app":"a","rooms":[{"pattern":"a","max_members":0}]}"#,
            "rooms[0].max_members: is 0, and nobody could join"
        ),
        (#"{"app":"a","rooms":[{"pattern":"a:{b"}]}"#, "rooms[0].pattern: a { without a }"),
        (#"{"app":"a","rooms":[{"pattern":"a","history":-1}]}"#, "rooms[0].history: is not a whole number"),
    ]

    @Test(
        "a declaration with a mistake is 107 that says where, what, and what would be right",
        arguments: badDeclarations
    )
    func mistakes(_ body: String, _ reason: String) throws {
        let hub = try hub(#"[{"pattern":"r"}]"#)
        let answer = hub.call("declare_rooms", body)
        #expect(answer.hasPrefix(#"{"error":{"code":107,"message":"bad request: "#), "\(answer)")
        #expect(answer.replacing("\\\"", with: "\"").contains(reason), "\(answer)")
    }

    @Test("the rules of the standard configuration give way to what an app declares, until it declares nothing")
    func fallback() throws {
        let hub = HubState(
            registry: RoomRegistry(rules: HubConfiguration.standard.rooms),
            verifier: TokenVerifier(secret: Conversation.secret),
            settings: SessionSettings()
        )
        let conversation = try Conversation.connected(hub, as: "u")
        #expect(try conversation.subscribe("order:1").map(\.errorCode) == [103])
        // The same weight, and one that takes the names of others in.
        #expect(hub.declare("app", #"[{"pattern":"order:{no}","public":true},{"pattern":"{x*}"}]"#) == Self.taken)
        _ = try conversation.joined("order:1")
        #expect(try conversation.subscribe("shop").map(\.errorCode) == [103])
        _ = try conversation.say(.unsubscribe(channel: "order:1"))
        #expect(hub.declare("app", "[]") == Self.taken)
        #expect(try conversation.subscribe("order:1").map(\.errorCode) == [103])
        _ = try conversation.joined("shop")
    }

    @Test(
        "a room that is there follows its new rule: the newest stay, with their epoch and offsets",
        arguments: WireFormat.allCases
    )
    func resized(_ format: WireFormat) throws {
        let hub = try hub("[]")
        let rule = { (size: Int, keep: String) in
            hub.declare("app", #"[{"pattern":"r","public":true,"history":\#(size),"keep":"\#(keep)"}]"#)
        }
        #expect(rule(5, "10s") == Self.taken)
        let conversation = try Conversation.connected(hub, format: format)
        let epoch = try conversation.joined("r").epoch
        for number in 1...7 { try conversation.publish("r", "\(number)") }
        #expect(try kept(hub, "r") == Array(3...7))
        #expect(rule(3, "10s") == Self.taken)
        #expect(try kept(hub, "r") == [5, 6, 7])
        #expect(try conversation.publish("r", "8") == StreamPosition(offset: 8, epoch: epoch))
        #expect(try kept(hub, "r") == [6, 7, 8])
        #expect(rule(10, "10s") == Self.taken)
        for number in 9...20 { try conversation.publish("r", "\(number)") }
        #expect(try kept(hub, "r") == Array(11...20))
        #expect(try conversation.heard().map(\.pushedOffset) == Array(1...20))
        // The time of what is kept is counted anew.
        _ = try conversation.pass(.seconds(9))
        let longer = #"[{"pattern":"r","public":true,"history":10,"keep":"20s"}]"#
        #expect(hub.declare("app", longer, at: conversation.moment) == Self.taken)
        _ = try conversation.pass(.seconds(9))
        #expect(try kept(hub, "r", at: conversation.moment) == Array(11...20))
        let again = try Conversation.connected(hub, format: format)
        #expect(try again.joined("r") { ($0.recover, $0.offset, $0.epoch) = (true, 15, epoch) }.publications.count == 5)
    }

    @Test("other things that a rule says hold for a room that is there, too", arguments: WireFormat.allCases)
    func follows(_ format: WireFormat) throws {
        let hub = try hub("[]")
        #expect(hub.declare("app", #"[{"pattern":"r","public":true}]"#) == Self.taken)
        let ann = try Conversation.connected(hub, as: "ann", format: format)
        _ = try ann.joined("r")
        #expect(
            hub.declare("app", #"[{"pattern":"r","public":true,"max_members":1,"members_may":["publish"]}]"#)
                == Self.taken
        )
        #expect(try Conversation.connected(hub, as: "bob", format: format).subscribe("r").map(\.errorCode) == [450])
        #expect(try ann.say(.publish(channel: "r", data: [0x31])).last?.body == .publish)
        #expect(hub.declare("app", #"[{"pattern":"r"}]"#) == Self.taken)
        #expect(try Conversation.connected(hub, as: "bob", format: format).subscribe("r").map(\.errorCode) == [103])
        #expect(try ann.say(.publish(channel: "r", data: [0x31])).map(\.errorCode) == [103])
    }

    @Test("a room without a history gets one, and its members' first offset is 1", arguments: WireFormat.allCases)
    func historyComes(_ format: WireFormat) throws {
        let hub = try hub("[]")
        #expect(hub.declare("app", #"[{"pattern":"r","public":true}]"#) == Self.taken)
        let conversation = try Conversation.connected(hub, format: format)
        #expect(try conversation.joined("r") == SubscribeResult())
        try conversation.publish("r", "1")
        #expect(hub.declare("app", #"[{"pattern":"r","public":true,"history":5}]"#) == Self.taken)
        try conversation.publish("r", "2")
        #expect(try conversation.heard().map(\.pushedOffset) == [0, 1])
    }

    @Test(
        "a history that is taken away: whoever counted on its positions is told with 2500",
        arguments: WireFormat.allCases
    )
    func historyGoes(_ format: WireFormat) throws {
        let hub = try hub("[]")
        #expect(hub.declare("app", #"[{"pattern":"r","public":true,"history":5}]"#) == Self.taken)
        let conversation = try Conversation.connected(hub, format: format)
        let (serverSide, _) = try Conversation.connecting(hub, #"{"sub":"u","channels":["r"]}"#, format: format)
        #expect(try conversation.joined("r").positioned)
        try conversation.publish("r", "1")
        _ = try conversation.heard()
        _ = try serverSide.heard()
        #expect(hub.declare("app", #"[{"pattern":"r","public":true}]"#) == Self.taken)
        let push = Push(channel: "r", .unsubscribe(code: 2_500, reason: "insufficient state"))
        #expect(try conversation.heard() == [Reply(id: 0, .push(push))])
        #expect(serverSide.session.ending == .insufficientState)
        #expect(try conversation.joined("r") { $0.recover = true }.wasRecovering)
        try conversation.publish("r", "2")
        #expect(try conversation.heard().map(\.pushedOffset) == [0])
    }

    @Test(
        "a room whose rule is taken away goes on until it is empty, and is then no room any more",
        arguments: WireFormat.allCases
    )
    func ruleGoes(_ format: WireFormat) throws {
        for history in ["", #","history":5"#] {
            let hub = try hub("[]")
            #expect(
                hub.declare("app", #"[{"pattern":"r","public":true\#(history)},{"pattern":"s"\#(history)}]"#)
                    == Self.taken
            )
            let conversation = try Conversation.connected(hub, format: format)
            _ = try conversation.joined("r")
            _ = hub.call("publish", #"{"channel":"s","data":1}"#)
            #expect(hub.declare("app", "[]") == Self.taken)
            try conversation.publish("r", "1")
            #expect(try conversation.heard().count == 1)
            #expect(hub.call("publish", #"{"channel":"s","data":1}"#).contains(#""code":102"#))
            _ = try conversation.say(.unsubscribe(channel: "r"))
            #expect(try conversation.subscribe("r").map(\.errorCode) == [102], "\(history)")
            #expect(hub.registry.rooms.isEmpty)
        }
    }
}

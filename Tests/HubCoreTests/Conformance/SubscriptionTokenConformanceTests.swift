import RoomsRuntime
import RoomsWire
import Testing

@testable import HubCore

/// S16 and S17, and what a subscription token gives.
@Suite struct SubscriptionTokenConformanceTests {
    private static var hub: HubState {
        var settings = SessionSettings()
        settings.pingInterval = .zero
        return HubState(rules: RoomRule.recorded, settings: settings)
    }

    private static func token(_ claims: String, channel: String = "$order:1") -> ByteString {
        Conversation.token(#"{"sub":"u","channel":"\#(channel)"\#(claims.isEmpty ? "" : ",")\#(claims)}"#)
    }

    /// Claims, and the error or the close they lead to; with neither they are good.
    static let tokenRows: [(String, UInt32?, UInt16?)] = [
        (#"{"sub":"u","channel":"closed:1"}"#, nil, nil), (#"{"sub":"u","channel":"closed:1","exp":1600}"#, nil, nil),
        (#"{"sub":"u","channel":"closed:1","client":""}"#, nil, nil),
        (#"{"sub":"u","channel":"closed:1","exp":900}"#, 109, nil),
        (#"{"sub":"u","channel":"closed:1","nbf":1100,"exp":1600}"#, 109, nil),
        (#"{"sub":"u","channel":"closed:1","exp":1600,"expire_at":900}"#, 110, nil), ("garbage", 103, nil),
        (#"{"sub":"u","channel":"closed:2"}"#, nil, 3_500), (#"{"sub":"else","channel":"closed:1"}"#, nil, 3_500),
        (#"{"sub":"","channel":"closed:1"}"#, nil, 3_500), (#"{"channel":"closed:1"}"#, nil, 3_500),
        (#"{"sub":"u","channel":"closed:1","client":"somebody"}"#, nil, 3_500),
        // A connection token names no room.
        (#"{"sub":"u"}"#, 103, nil),
    ]

    @Test("S18 each token of [subscription-tokens]", arguments: tokenRows, WireFormat.allCases)
    func tokens(_ row: (String, UInt32?, UInt16?), _ format: WireFormat) throws {
        let (claims, error, close) = row
        let conversation = try Conversation.connected(Self.hub, as: "u", format: format)
        let replies = try conversation.subscribe("closed:1") { $0.token = Conversation.token(claims) }
        #expect(conversation.closeCode == close)
        #expect(replies.count == (close == nil ? 1 : 0))
        #expect(replies.first?.errorCode == error)
        // The connection itself is not the worse for an error.
        if close == nil { #expect(try conversation.joined("live:1") == SubscribeResult()) }
    }

    @Test("S18 a token under another key, and one bound to this connection", arguments: WireFormat.allCases)
    func keys(_ format: WireFormat) throws {
        let conversation = try Conversation.connected(Self.hub, as: "u", format: format)
        let forged = Conversation.token(#"{"sub":"u","channel":"closed:1"}"#, secret: Secret("another"))
        #expect(try conversation.subscribe("closed:1") { $0.token = forged }.map(\.errorCode) == [103])
        let bound = Self.token(#""client":"\#(conversation.session.client)""#)
        #expect(try conversation.joined("$order:1") { $0.token = bound }.recoverable)
        // Of somebody without a name.
        let nobody = try Conversation.connected(Self.hub, format: format)
        for claims in [#"{"channel":"closed:1"}"#, #"{"sub":"","channel":"closed:1"}"#] {
            #expect(try nobody.joined("closed:1") { $0.token = Conversation.token(claims) } == SubscribeResult())
            _ = try nobody.say(.unsubscribe(channel: "closed:1"))
        }
    }

    @Test("S18 info, data and times of a token", arguments: WireFormat.allCases)
    func details(_ format: WireFormat) throws {
        let conversation = try Conversation.connected(Self.hub, as: "u", format: format)
        let plain = try conversation.joined("$order:1") {
            $0.token = Self.token(#""info":{"x":1},"data":{"y":2},"exp":1600"#)
        }
        #expect(plain.data == Array(#"{"y":2}"#.utf8) && plain.expires && plain.ttl == 600)
        let pushed = try conversation.say(.publish(channel: "$order:1", data: [0x31])).compactMap(\.pushed)
        #expect(pushed.first?.info?.chanInfo == Array(#"{"x":1}"#.utf8))
        _ = try conversation.say(.unsubscribe(channel: "$order:1"))
        let encoded = try conversation.joined("$order:1") {
            $0.token = Self.token(#""b64data":"eyJ6IjozfQ==","exp":1600,"expire_at":0"#)
        }
        #expect(encoded.data == Array(#"{"z":3}"#.utf8) && !encoded.expires && encoded.ttl == 0)
    }

    @Test(
        "S18 the override decides about recovery and positioning, the rule where it says nothing",
        arguments: WireFormat.allCases
    )
    func overrides(_ format: WireFormat) throws {
        let conversation = try Conversation.connected(Self.hub, as: "u", format: format)
        let table: [(String, String, recoverable: Bool, positioned: Bool)] = [
            ("ask:1", #"{"force_recovery":{"value":true}}"#, true, true),
            ("ask:2", #"{"force_positioning":{"value":true}}"#, false, true), ("ask:3", "{}", false, false),
            ("live:1", #"{"force_recovery":{"value":true}}"#, true, true),
            ("order:1", #"{"force_recovery":{"value":false},"force_positioning":{"value":false}}"#, false, false),
            ("order:2", #"{"force_recovery":{"value":false}}"#, false, false),
            ("order:3", #"{"presence":{"value":false},"join_leave":{"value":false}}"#, true, true),
            ("position:1", #"{"force_recovery":{"value":true}}"#, true, true), ("order:4", "null", true, true),
        ]
        for (channel, override, recoverable, positioned) in table {
            let token = Self.token(#""override":\#(override)"#, channel: channel)
            let result = try conversation.joined(ByteString(channel)) { $0.token = token }
            #expect(result.recoverable == recoverable && result.positioned == positioned, "\(channel) \(override)")
            #expect(result.epoch.isEmpty == !positioned, "\(channel)")
        }
    }

    // MARK: S16

    /// What comes of a `sub_refresh` on a connection of `u` that is in `$order:1` until 1010.
    enum Outcome: Sendable {
        case ttl(UInt32?)
        case error(UInt32)
        case close(UInt16)
    }

    static let refreshes: [(String, channel: String, token: ByteString, Outcome)] = [
        ("good", "$order:1", token(#""exp":1100"#), .ttl(100)), ("no exp", "$order:1", token(""), .ttl(nil)),
        ("expire_at 0", "$order:1", token(#""exp":1100,"expire_at":0"#), .ttl(nil)),
        ("expire_at", "$order:1", token(#""exp":1100,"expire_at":1050"#), .ttl(50)),
        ("no channel", "", token(#""exp":1100"#), .close(3_501)),
        ("not joined", "$order:zz", token(#""exp":1100"#, channel: "$order:zz"), .error(103)),
        ("not joined, no token", "$order:zz", "", .error(103)),
        ("not joined, no rule", "nosuch:1", token("", channel: "nosuch:1"), .error(103)),
        ("empty token", "$order:1", "", .error(107)),
        ("expired token", "$order:1", token(#""exp":900"#), .close(3_006)),
        ("not yet good", "$order:1", token(#""nbf":1050,"exp":1100"#), .close(3_006)),
        ("expire_at past", "$order:1", token(#""exp":1100,"expire_at":900"#), .close(3_006)),
        ("other channel", "$order:1", token(#""exp":1100"#, channel: "order:q"), .close(3_500)),
        ("garbage", "$order:1", "abc", .close(3_500)),
        (
            "other user", "$order:1", Conversation.token(#"{"sub":"else","channel":"$order:1","exp":1100}"#),
            .close(3_500)
        ),
        ("other client", "$order:1", token(#""client":"x","exp":1100"#), .close(3_500)),
        (
            "wrong key", "$order:1", Conversation.token(#"{"sub":"u","channel":"$order:1"}"#, secret: Secret("x")),
            .close(3_500)
        ),
        ("connection token", "$order:1", Conversation.token(#"{"sub":"u","exp":1100}"#), .close(3_500)),
    ]

    @Test("S16 sub_refresh, every outcome", arguments: refreshes, WireFormat.allCases)
    func subRefresh(_ row: (String, channel: String, token: ByteString, Outcome), _ format: WireFormat) throws {
        let conversation = try Conversation.connected(Self.hub, as: "u", format: format)
        let joined = try conversation.joined("$order:1") { $0.token = Self.token(#""exp":1010"#) }
        #expect(joined.expires && joined.ttl == 10)
        let replies = try conversation.say(.subRefresh(channel: ByteString(row.channel), token: row.token), id: 3)
        switch row.3 {
        case .ttl(let ttl):
            var expected = RefreshResult()
            (expected.expires, expected.ttl) = (ttl != nil, ttl ?? 0)
            #expect(replies == [Reply(id: 3, .subRefresh(expected))])
            _ = try conversation.pass(.seconds((ttl ?? 100_000) + 24))
            #expect(try conversation.pass(.seconds(1)).count == (ttl == nil ? 0 : 1))
        case .error(let code): #expect(replies.map(\.errorCode) == [code])
        case .close(let code): #expect(replies.isEmpty && conversation.closeCode == code)
        }
    }

    @Test("S16 a room that was joined without a token may be given a time", arguments: WireFormat.allCases)
    func subRefreshOfPlain(_ format: WireFormat) throws {
        let conversation = try Conversation.connected(Self.hub, as: "u", format: format)
        _ = try conversation.joined("live:1")
        let token = Self.token(#""exp":1050"#, channel: "live:1")
        let replies = try conversation.say(.subRefresh(channel: "live:1", token: token), id: 3)
        guard case .subRefresh(let result) = replies.first?.body else { throw TestFailure("\(replies)") }
        #expect(result.expires && result.ttl == 50)
        #expect(try conversation.pass(.seconds(75)).count == 1)
    }

    // MARK: S17

    @Test(
        "S17 a subscription ends with 2501 25 s after its time, and the connection goes on",
        arguments: WireFormat.allCases
    )
    func expires(_ format: WireFormat) throws {
        let conversation = try Conversation.connected(Self.hub, as: "u", format: format)
        for (channel, exp) in [("$order:1", 1_010), ("$order:2", 1_020)] {
            _ = try conversation.joined(ByteString(channel)) {
                $0.token = Self.token(#""exp":\#(exp)"#, channel: channel)
            }
        }
        #expect(try conversation.pass(.seconds(35) - .milliseconds(1)).isEmpty)
        func push(_ channel: ByteString) -> Reply {
            Reply(id: 0, .push(Push(channel: channel, .unsubscribe(code: 2_501, reason: "subscription expired"))))
        }
        #expect(try conversation.pass(.milliseconds(1)) == [push("$order:1")])
        try conversation.publish("$order:1", "1")
        try conversation.publish("$order:2", "2")
        #expect(try conversation.heard().map { $0.push?.channel } == ["$order:2"])
        #expect(try conversation.pass(.seconds(10)) == [push("$order:2")])
        // It is in neither room now, and may come again.
        let fresh = Self.token(#""exp":2000"#)
        #expect(try conversation.say(.subRefresh(channel: "$order:1", token: fresh)).map(\.errorCode) == [103])
        #expect(try conversation.joined("$order:1") { $0.token = fresh }.offset == 1)
        #expect(conversation.session.ending == nil)
    }

    @Test("S17 one that the client did not ask for ends the connection with 3006", arguments: WireFormat.allCases)
    func serverSideExpires(_ format: WireFormat) throws {
        let conversation = try Conversation.connected(Self.hub, as: "u", format: format)
        var subscription = ServerSubscription(channel: "live:1")
        subscription.expiry = 1_010
        try conversation.session.join(subscription, at: conversation.moment)
        _ = try conversation.heard()
        _ = try conversation.pass(.seconds(35) - .milliseconds(1))
        #expect(conversation.session.ending == nil)
        #expect(try conversation.pass(.milliseconds(1)).isEmpty)
        #expect(conversation.session.ending == .subscriptionExpired)
    }
}

import RoomsRuntime
import RoomsWire
import Testing

@testable import HubCore

/// S07, S08 and S11 to S15: how a connection begins, how long it lasts.
@Suite struct ConnectConformanceTests {
    private let hub = HubState(rules: RoomRule.recorded)

    /// A hub whose connections hear no pings.
    private static func quiet(_ change: (inout SessionSettings) -> Void = { _ in }) -> HubState {
        var settings = SessionSettings()
        settings.pingInterval = .zero
        change(&settings)
        return HubState(rules: RoomRule.recorded, settings: settings)
    }

    // MARK: time

    @Test("S07 no connect in 10 s is stale", arguments: WireFormat.allCases)
    func stale(_ format: WireFormat) throws {
        let conversation = Conversation(hub, format: format)
        #expect(conversation.session.deadline == conversation.moment.instant + .seconds(10))
        #expect(try conversation.pass(.seconds(10) - .milliseconds(1)).isEmpty)
        #expect(conversation.session.ending == nil)
        #expect(try conversation.pass(.milliseconds(1)).isEmpty)
        #expect(conversation.session.ending == .stale)
    }

    @Test(
        "S08 the first ping comes after half to a whole interval, then each interval; an answer in time",
        arguments: WireFormat.allCases
    )
    func pings(_ format: WireFormat) throws {
        for (random, first) in [(0.0, 12.5), (0.5, 18.75), (1.0, 25.0)] {
            let conversation = Conversation(hub, format: format, random: { random })
            _ = try conversation.say(.connect(ConnectRequest()), id: 1)
            #expect(try conversation.pass(.seconds(first) - .milliseconds(1)).isEmpty)
            #expect(try conversation.pass(.milliseconds(1)) == [.ping])
            _ = try conversation.pass(.seconds(7))
            #expect(try conversation.bytes(format.frame([.pong])).isEmpty)
            #expect(try conversation.pass(.seconds(18)) == [.ping])
            _ = try conversation.pass(.milliseconds(7_999))
            #expect(conversation.session.ending == nil)
            _ = try conversation.pass(.milliseconds(1))
            #expect(conversation.session.ending == .noPong)
        }
    }

    @Test("S08 a ping is the empty message", arguments: [(WireFormat.json, Array("{}".utf8)), (.protobuf, [0])])
    func emptyPing(_ format: WireFormat, _ bytes: [UInt8]) throws {
        let conversation = try Conversation.connected(hub, format: format)
        conversation.moment.instant = conversation.moment.instant + .seconds(12.5)
        conversation.session.tick(at: conversation.moment)
        #expect(conversation.frames() == [bytes])
        #expect(format.frame([.pong]) == bytes)
    }

    @Test("S08 a pong nobody asked for, and a second one, are mistakes", arguments: WireFormat.allCases)
    func pongs(_ format: WireFormat) throws {
        let early = try Conversation.connected(hub, format: format)
        #expect(try early.bytes(format.frame([.pong])).isEmpty)
        #expect(early.session.ending == .badRequest)
        let twice = try Conversation.connected(hub, format: format)
        #expect(try twice.pass(.seconds(12.5)) == [.ping])
        _ = try twice.bytes(format.frame([.pong]))
        #expect(twice.session.ending == nil)
        _ = try twice.bytes(format.frame([.pong]))
        #expect(twice.session.ending == .badRequest)
    }

    // MARK: tokens

    static let badTokens: [(String, UInt32?, UInt16?)] = [
        (#"{"exp":999}"#, 109, nil), (#"{"exp":1000}"#, 109, nil), (#"{"nbf":1001}"#, 109, nil),
        (#"{"nbf":1001,"exp":2000}"#, 109, nil), (#"{"exp":2000,"expire_at":900}"#, 110, nil),
        (#"{"exp":999,"expire_at":0}"#, 109, nil), (#"{"channels":["nosuch:1"]}"#, 102, nil),
        (#"{"subs":{"nosuch:1":{}}}"#, 102, nil), (#"{"channel":"order:1"}"#, nil, 3_500), ("nonsense", nil, 3_500),
        (#"{"sub":7}"#, nil, 3_500),
    ]

    @Test("S11 a token that is not taken: an error and silence, or the end", arguments: badTokens, WireFormat.allCases)
    func refused(_ row: (String, UInt32?, UInt16?), _ format: WireFormat) throws {
        let (claims, error, close) = row
        let (conversation, replies) = try Conversation.connecting(hub, claims, format: format)
        #expect(replies.map(\.errorCode) == (error.map { [$0] } ?? []))
        #expect(conversation.closeCode == close)
        // Whatever is said now is not answered.
        #expect(try conversation.subscribe("live:1").isEmpty)
        #expect(try conversation.say(.connect(ConnectRequest()), id: 2).isEmpty)
        guard error != nil else { return }
        #expect(try conversation.pass(.seconds(9)).isEmpty)
        #expect(conversation.session.ending == nil)
        #expect(try conversation.pass(.seconds(1)).isEmpty)
        #expect(conversation.session.ending == .stale)
    }

    @Test("S11 a wrong signature, another algorithm and garbage are invalid", arguments: WireFormat.allCases)
    func signatures(_ format: WireFormat) throws {
        let claims = #"{"sub":"u"}"#
        let tokens = [
            Conversation.token(claims, secret: Secret("another")),
            Conversation.token(claims, header: #"{"alg":"none"}"#),
            Conversation.token(claims, header: #"{"alg":"HS512"}"#), "abc", "a.b.c",
        ]
        for token in tokens {
            let conversation = Conversation(hub, format: format)
            var request = ConnectRequest()
            request.token = token
            #expect(try conversation.say(.connect(request), id: 1).isEmpty)
            #expect(conversation.session.ending == .invalidToken, "\(token)")
        }
    }

    @Test("S11 without a token only where anonymous clients are welcome", arguments: WireFormat.allCases)
    func anonymous(_ format: WireFormat) throws {
        #expect(try Conversation.connected(hub, format: format).session.user.isEmpty)
        let closed = HubState(rules: RoomRule.recorded, settings: Self.quiet { $0.admitsAnonymous = false }.settings)
        let (conversation, replies) = try Conversation.connecting(closed, nil, format: format)
        #expect(replies.isEmpty && conversation.session.ending == .badRequest)
        // A token without a user is a token.
        #expect(try Conversation.connecting(closed, "{}", format: format).replies.count == 1)
    }

    @Test(
        "S12 the connect reply: an id of its own, version, ping, pong, and the expiry of the token",
        arguments: WireFormat.allCases
    )
    func connectReply(_ format: WireFormat) throws {
        var clients: Set<ByteString> = []
        let table: [(String?, expires: Bool, ttl: UInt32)] = [
            (#"{"sub":"u","exp":1600}"#, true, 600), (#"{"sub":"u"}"#, false, 0), (nil, false, 0),
            (#"{"sub":"u","exp":1600,"expire_at":0}"#, false, 0),
            (#"{"sub":"u","exp":1600,"expire_at":1005}"#, true, 5),
            (#"{"sub":"u","exp":99999999999}"#, true, 31_536_000), (#"{"sub":"u","exp":1600.9}"#, true, 600),
        ]
        for (claims, expires, ttl) in table {
            let (conversation, replies) = try Conversation.connecting(hub, claims, format: format)
            guard replies.count == 1, replies[0].id == 1, case .connect(let result) = replies[0].body else {
                throw TestFailure("\(replies)")
            }
            #expect(result.expires == expires && result.ttl == ttl, "\(claims ?? "no token")")
            #expect(result.client == conversation.session.client && clients.insert(result.client).inserted)
            #expect(
                result.client.string.wholeMatch(
                    of: /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/
                ) != nil
            )
            #expect(result.version == ByteString("roomhub \(HubVersion.text)") && result.ping == 25 && result.pong)
            #expect(result.time == 0 && result.subs.isEmpty)
            #expect(conversation.session.user == (claims == nil ? "" : "u"))
        }
        let telling = Self.quiet { ($0.tellsTime, $0.pingInterval) = (true, .milliseconds(100)) }
        let (_, replies) = try Conversation.connecting(telling, nil, format: format)
        guard case .connect(let result) = replies.first?.body else { throw TestFailure("\(replies)") }
        #expect(result.time == 1_000_000 && result.ping == 1 && result.pong)
        let (_, silent) = try Conversation.connecting(Self.quiet(), nil, format: format)
        guard case .connect(let plain) = silent.first?.body else { throw TestFailure("\(silent)") }
        #expect(plain.ping == 0 && !plain.pong)
    }

    @Test(
        "S12 one connection more than a user may have closes with 3504; nobody has no limit",
        arguments: WireFormat.allCases
    )
    func connectionLimit(_ format: WireFormat) throws {
        let hub = Self.quiet { $0.userConnectionLimit = 2 }
        let first = try Conversation.connected(hub, as: "u", format: format)
        let second = try Conversation.connected(hub, as: "u")
        let (third, replies) = try Conversation.connecting(hub, #"{"sub":"u"}"#, format: format)
        #expect(replies.isEmpty && third.session.ending == .connectionLimit)
        _ = try Conversation.connected(hub, as: "else", format: format)
        let nobody = try (0..<3).map { _ in try Conversation.connected(hub, format: format) }
        first.session.end(.closed)
        _ = try Conversation.connected(hub, as: "u", format: format)
        _ = (second, nobody)
    }

    // MARK: refresh

    private func refreshed(_ conversation: Conversation, _ claims: String) throws -> Reply? {
        try conversation.say(.refresh(token: Conversation.token(claims)), id: 2).first
    }

    @Test(
        "S14 a refresh moves the expiry, twice in a row too; one without a time leaves it",
        arguments: WireFormat.allCases
    )
    func refresh(_ format: WireFormat) throws {
        func result(_ reply: Reply?) -> RefreshResult? {
            guard case .refresh(let result) = reply?.body else { return nil }
            return result
        }
        let (conversation, _) = try Conversation.connecting(Self.quiet(), #"{"sub":"u","exp":1010}"#, format: format)
        _ = try conversation.pass(.seconds(34))
        #expect(conversation.session.ending == nil)
        let first = try #require(try result(refreshed(conversation, #"{"sub":"u","exp":1100}"#)))
        #expect(first.expires && first.ttl == 66 && first.client.isEmpty && first.version.isEmpty)
        #expect(try result(refreshed(conversation, #"{"sub":"u","exp":1200}"#))?.ttl == 166)
        #expect(try result(refreshed(conversation, #"{"sub":"u"}"#)) == RefreshResult())
        #expect(try result(refreshed(conversation, #"{"sub":"u","exp":1100,"expire_at":0}"#)) == RefreshResult())
        #expect(try refreshed(conversation, #"{"sub":"u","exp":1100,"expire_at":900}"#)?.errorCode == 110)
        _ = try conversation.pass(.seconds(166 + 24))
        #expect(conversation.session.ending == nil)
        _ = try conversation.pass(.seconds(1))
        #expect(conversation.session.ending == .expired)
        // A connection that never expires may be refreshed, and expires then; one without a user too.
        for (claims, user) in [(#"{"sub":"u"}"#, "u"), (nil, "")] as [(String?, String)] {
            let (other, _) = try Conversation.connecting(Self.quiet(), claims, format: format)
            #expect(try result(refreshed(other, #"{"sub":"\#(user)","exp":1100}"#))?.ttl == 100)
            _ = try other.pass(.seconds(125))
            #expect(other.session.ending == .expired)
        }
    }

    static let badRefreshes: [(String, UInt16)] = [
        (#"{"sub":"u","exp":999}"#, 3_005), (#"{"sub":"u","nbf":1001,"exp":2000}"#, 3_005),
        (#"{"sub":"else","exp":2000}"#, 3_500), (#"{"exp":2000}"#, 3_500), (#"{"sub":"u","channel":"order:1"}"#, 3_500),
        ("nonsense", 3_500), (#"{"sub":"u","channels":["live:1"]}"#, 3_010),
    ]

    @Test("S14 a refresh that is not taken ends the connection", arguments: badRefreshes, WireFormat.allCases)
    func notRefreshed(_ row: (String, UInt16), _ format: WireFormat) throws {
        let conversation = try Conversation.connected(hub, as: "u", format: format)
        #expect(try conversation.say(.refresh(token: Conversation.token(row.0))).isEmpty)
        #expect(conversation.closeCode == row.1)
        let other = try Conversation.connected(hub, as: "u", format: format)
        #expect(try other.say(.refresh(token: "")).isEmpty)
        #expect(other.closeCode == 3_501)
    }

    @Test(
        "S15 a connection that is not refreshed ends with 3005, 25 s after its time or as set",
        arguments: WireFormat.allCases
    )
    func expires(_ format: WireFormat) throws {
        for grace in [25, 1] {
            let hub = Self.quiet { $0.expiryGrace = .seconds(grace) }
            let (conversation, _) = try Conversation.connecting(hub, #"{"sub":"u","exp":1010}"#, format: format)
            #expect(try conversation.pass(.seconds(10 + grace) - .milliseconds(1)).isEmpty)
            #expect(conversation.session.ending == nil)
            #expect(try conversation.pass(.milliseconds(1)).isEmpty)
            #expect(conversation.session.ending == .expired)
        }
    }

    @Test("S15 a token without a time, or with expire_at 0, never ends a connection", arguments: WireFormat.allCases)
    func neverExpires(_ format: WireFormat) throws {
        for claims in [#"{"sub":"u"}"#, #"{"sub":"u","exp":1010,"expire_at":0}"#] {
            let (conversation, _) = try Conversation.connecting(Self.quiet(), claims, format: format)
            _ = try conversation.pass(.seconds(1_000_000))
            #expect(conversation.session.ending == nil)
            #expect(conversation.session.deadline == .distantFuture)
        }
    }
}

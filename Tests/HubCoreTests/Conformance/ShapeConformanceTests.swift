import RoomsRuntime
import RoomsWire
import Testing

@testable import HubCore

/// S04 and S30: which fields a message has, to the byte.
@Suite struct ShapeConformanceTests {
    /// What is said, and the messages that come of it in both formats; `ME` is the id of the connection.
    struct Shape: Sendable, CustomStringConvertible {
        var name: String
        var say: Request
        var json: [String]
        var protobuf: [[UInt8]]

        init(_ name: String, _ say: Request, json: String..., protobuf: [UInt8]...) {
            (self.name, self.say, self.json, self.protobuf) = (name, say, json, protobuf)
        }

        var description: String { name }
    }

    /// A protobuf field with a number in it, written here once more so that the hub's own writer is not its judge.
    private static func number(_ field: UInt8, _ value: UInt8) -> [UInt8] { [field << 3, value] }

    private static func field(_ field: UInt8, _ parts: [UInt8]...) -> [UInt8] {
        let bytes = parts.flatMap { $0 }
        return [field << 3 | 2, UInt8(bytes.count)] + bytes
    }

    private static func field(_ number: UInt8, _ text: String) -> [UInt8] { field(number, Array(text.utf8)) }

    /// A length below 16384.
    private static func length(_ count: Int) -> [UInt8] {
        count < 128 ? [UInt8(count)] : [UInt8(count & 0x7f | 0x80), UInt8(count >> 7)]
    }

    private static let me = "MEMEMEME-MEME-MEME-MEME-MEMEMEMEMEME"
    private static let epoch = "OurEpoch"

    private static func refreshed(_ claims: String) -> ByteString {
        Conversation.token(#"{"channel":"order:2",\#(claims)}"#)
    }

    /// In this order on one connection, with the ids from 2; `order:1` has kept one publication, `42`.
    static let shapes = [
        Shape(
            "a plain subscription is empty",
            Command.subscribe("live:1").request,
            json: #"{"id":2,"subscribe":{}}"#,
            protobuf: number(1, 2) + field(6)
        ),
        Shape(
            "a recoverable one at offset 0, with a time and data",
            Command.subscribe("order:2") {
                $0.token = refreshed(#""exp":1600,"data":[1],"override":{"presence":{"value":false}}"#)
            }.request,
            json:
                #"{"id":3,"subscribe":{"expires":true,"ttl":600,"recoverable":true,"epoch":"OurEpoch","positioned":true,"data":[1]}}"#,
            protobuf: number(1, 3)
                + field(
                    6,
                    number(1, 1) + [2 << 3, 0xd8, 4],
                    number(3, 1) + field(6, epoch) + number(10, 1) + field(11, "[1]")
                )
        ),
        Shape(
            "one that recovers from offset 0",
            Command.subscribe("order:1") { $0.recover = true }.request,
            json:
                #"{"id":4,"subscribe":{"recoverable":true,"epoch":"OurEpoch","publications":[{"data":42,"offset":1}],"#
                + #""recovered":true,"positioned":true,"was_recovering":true}}"#,
            protobuf: number(1, 4)
                + field(
                    6,
                    number(3, 1) + field(6, epoch),
                    field(7, field(4, "42"), number(6, 1)),
                    number(8, 1) + number(10, 1) + number(12, 1)
                )
        ),
        Shape(
            "an error",
            Command.subscribe("live:1").request,
            json: #"{"id":5,"error":{"code":105,"message":"already subscribed"}}"#,
            protobuf: number(1, 5) + field(2, number(1, 105), field(2, "already subscribed"))
        ),
        Shape(
            "the position of a stream without publications: in JSON all three fields stand there",
            Command.history("order:2", limit: 0).request,
            json: #"{"id":6,"history":{"publications":[],"epoch":"OurEpoch","offset":0}}"#,
            protobuf: number(1, 6) + field(11, field(2, epoch))
        ),
        Shape(
            "a page",
            Command.history("order:1", limit: 5).request,
            json: #"{"id":7,"history":{"publications":[{"data":42,"offset":1}],"epoch":"OurEpoch","offset":1}}"#,
            protobuf: number(1, 7) + field(11, field(1, field(4, "42"), number(6, 1)), field(2, epoch), number(3, 1))
        ),
        Shape(
            "counts of nobody: in JSON both stand there",
            .presenceStats(channel: "order:2"),
            json: #"{"id":8,"presence_stats":{"num_clients":0,"num_users":0}}"#,
            protobuf: number(1, 8) + field(10)
        ),
        Shape(
            "the presence of nobody: in JSON the map stands there",
            .presence(channel: "order:2"),
            json: #"{"id":9,"presence":{"presence":{}}}"#,
            protobuf: number(1, 9) + field(9)
        ),
        Shape(
            "the presence of somebody without a name: in JSON user and client stand there",
            .presence(channel: "order:1"),
            json: #"{"id":10,"presence":{"presence":{"\#(me)":{"user":"","client":"\#(me)"}}}}"#,
            protobuf: number(1, 10) + field(9, field(1, field(1, me), field(2, field(2, me))))
        ),
        Shape(
            "publish, behind the client's own publication",
            .publish(channel: "live:1", data: Array(#"{"a":"<"}"#.utf8)),
            json: #"{"push":{"channel":"live:1","pub":{"data":{"a":"<"},"info":{"user":"","client":"\#(me)"}}}}"#,
            #"{"id":11,"publish":{}}"#,
            protobuf: field(
                4,
                field(2, "live:1"),
                field(4, field(4, #"{"a":"<"}"#), field(5, field(2, me)))
            ),
            number(1, 11) + field(8)
        ),
        Shape(
            "the first publication of a stream",
            .publish(channel: "order:2", data: Array("1".utf8)),
            json:
                #"{"push":{"channel":"order:2","pub":{"data":1,"info":{"user":"","client":"\#(me)"},"offset":1,"epoch":"OurEpoch"}}}"#,
            #"{"id":12,"publish":{}}"#,
            protobuf: field(
                4,
                field(2, "order:2"),
                field(4, field(4, "1") + field(5, field(2, me)) + number(6, 1) + field(14, epoch))
            ),
            number(1, 12) + field(8)
        ),
        Shape(
            "unsubscribe",
            .unsubscribe(channel: "live:1"),
            json: #"{"id":13,"unsubscribe":{}}"#,
            protobuf: number(1, 13) + field(7)
        ),
        Shape(
            "refresh without a time",
            .refresh(token: Conversation.token("{}")),
            json: #"{"id":14,"refresh":{}}"#,
            protobuf: number(1, 14) + field(14)
        ),
        Shape(
            "refresh with a time",
            .refresh(token: Conversation.token(#"{"exp":1100}"#)),
            json: #"{"id":15,"refresh":{"expires":true,"ttl":100}}"#,
            protobuf: number(1, 15) + field(14, number(3, 1), number(4, 100))
        ),
        Shape(
            "sub_refresh with a time",
            .subRefresh(channel: "order:2", token: refreshed(#""exp":1100"#)),
            json: #"{"id":16,"sub_refresh":{"expires":true,"ttl":100}}"#,
            protobuf: number(1, 16) + field(15, number(1, 1), number(2, 100))
        ),
        Shape(
            "sub_refresh without one",
            .subRefresh(channel: "order:2", token: refreshed(#""iat":1"#)),
            json: #"{"id":17,"sub_refresh":{}}"#,
            protobuf: number(1, 17) + field(15)
        ),
    ]

    private func conversation(_ format: WireFormat) throws -> Conversation {
        let may: RoomRule.Permissions = [.history, .presence, .publish]
        let rules = [
            RoomRule(
                pattern: "order:{x*}",
                history: 10,
                isPublic: true,
                presence: true,
                joinLeave: .never,
                membersMay: may
            ),
            RoomRule(pattern: "live:{x*}", isPublic: true, membersMay: may),
        ]
        let conversation = try Conversation.connected(HubState(rules: rules, makeEpoch: { "OurEpoch" }), format: format)
        try conversation.publish("order:1", "42")
        return conversation
    }

    @Test("S04 zero values are left out, but for those that always stand there: JSON")
    func json() throws {
        let conversation = try conversation(.json)
        for (index, shape) in Self.shapes.enumerated() {
            let frame = WireFormat.json.frame([Command(id: UInt32(index + 2), shape.say)])
            let heard = conversation.text(String(decoding: frame, as: UTF8.self)).flatMap { $0.split(separator: "\n") }
            let me = conversation.session.client.string
            #expect(heard.map(String.init) == shape.json.map { $0.replacing(Self.me, with: me) }, "\(shape)")
        }
    }

    @Test("S04 zero values are left out: protobuf")
    func protobuf() throws {
        let conversation = try conversation(.protobuf)
        for (index, shape) in Self.shapes.enumerated() {
            let frame = WireFormat.protobuf.frame([Command(id: UInt32(index + 2), shape.say)])
            frame.withUnsafeBytes { conversation.session.receive($0, at: conversation.moment) }
            let expected = shape.protobuf.flatMap { [UInt8($0.count)] + $0 }
            let me = conversation.session.client.bytes
            let heard = conversation.frames().flatMap { $0 }.replacing(me, with: Array(Self.me.utf8))
            #expect(heard == expected, "\(shape)")
        }
    }

    @Test("S04 the connect reply says ping and pong, and what the token gives", arguments: WireFormat.allCases)
    func connect(_ format: WireFormat) throws {
        let hub = HubState(rules: RoomRule.recorded, makeEpoch: { "OurEpoch" })
        let conversation = Conversation(hub, format: format)
        var request = ConnectRequest()
        request.token = Conversation.token(#"{"sub":"u","exp":1100,"subs":{"live:1":{},"order:1":{}}}"#)
        let frame = format.frame([Command(id: 1, .connect(request))])
        frame.withUnsafeBytes { conversation.session.receive($0, at: conversation.moment) }
        let heard = conversation.frames().flatMap { $0 }.replacing(
            conversation.session.client.bytes,
            with: Array(Self.me.utf8)
        )
        let version = "roomhub \(HubVersion.text)"
        let recoverable = Self.number(3, 1) + Self.field(6, Self.epoch) + Self.number(10, 1)
        let result =
            Self.field(1, Self.me) + Self.field(2, version) + Self.number(3, 1) + Self.number(4, 100)
            + Self.field(6, Self.field(1, "live:1"), Self.field(2))
            + Self.field(6, Self.field(1, "order:1"), Self.field(2, recoverable)) + Self.number(7, 25)
            + Self.number(8, 1)
        let message = Self.number(1, 1) + [5 << 3 | 2] + Self.length(result.count) + result
        let json =
            #"{"id":1,"connect":{"client":"\#(Self.me)","version":"\#(version)","expires":true,"ttl":100,"#
            + #""subs":{"live:1":{},"order:1":{"recoverable":true,"epoch":"OurEpoch","positioned":true}},"#
            + #""ping":25,"pong":true}}"#
        switch format {
        case .json: #expect(String(decoding: heard, as: UTF8.self) == json)
        case .protobuf: #expect(heard == Self.length(message.count) + message)
        }
    }

    @Test("S04 pushes about rooms and about the connection", arguments: WireFormat.allCases)
    func pushes(_ format: WireFormat) throws {
        let rules = [RoomRule(pattern: "r", isPublic: true, presence: true)]
        let hub = HubState(rules: rules)
        let (conversation, _) = try Conversation.connecting(hub, #"{"sub":"u","info":{"n": 1}}"#, format: format)
        _ = try conversation.joined("r")
        let other = try Conversation.connected(hub)
        _ = try other.joined("r")
        other.session.end(.closed)
        conversation.session.refresh(until: 1_100, at: conversation.moment)
        conversation.session.refresh(until: 0, at: conversation.moment)
        conversation.session.push("", .unsubscribe(code: 2_000, reason: "server unsubscribe"))
        let you = other.session.client.string
        let heard = conversation.frames().flatMap { $0 }
        switch format {
        case .json:
            let expected = [
                #"{"push":{"channel":"r","join":{"info":{"user":"","client":"\#(you)"}}}}"#,
                #"{"push":{"channel":"r","leave":{"info":{"user":"","client":"\#(you)"}}}}"#,
                #"{"push":{"refresh":{"expires":true,"ttl":100}}}"#, #"{"push":{"refresh":{}}}"#,
                #"{"push":{"unsubscribe":{"code":2000,"reason":"server unsubscribe"}}}"#,
            ]
            #expect(String(decoding: heard, as: UTF8.self) == expected.joined(separator: "\n"))
        case .protobuf:
            let info = Self.field(1, Self.field(2, you))
            let messages = [
                Self.field(4, Self.field(2, "r"), Self.field(5, info)),
                Self.field(4, Self.field(2, "r"), Self.field(6, info)),
                Self.field(4, Self.field(12, Self.number(1, 1), Self.number(2, 100))), Self.field(4, Self.field(12)),
                Self.field(4, Self.field(7, [2 << 3, 0xd0, 0x0f], Self.field(3, "server unsubscribe"))),
            ]
            #expect(heard == messages.flatMap { [UInt8($0.count)] + $0 })
        }
    }

    @Test("S30 no publication carries a time", arguments: WireFormat.allCases)
    func noTime(_ format: WireFormat) throws {
        let conversation = try conversation(format)
        _ = try conversation.joined("order:1") { $0.recover = true }
        let pushed = try conversation.say(.publish(channel: "order:1", data: [0x31])).compactMap(\.pushed)
        let page = try conversation.bytes(format.frame([.history("order:1", limit: 9)]))
        guard case .history(let result) = page.first?.body else { throw TestFailure("\(page)") }
        #expect(pushed.count == 1 && result.publications.count == 2)
        #expect((pushed + result.publications).allSatisfy { $0.time == 0 })
    }
}

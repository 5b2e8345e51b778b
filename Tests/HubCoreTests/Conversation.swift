import RoomsRuntime
import RoomsWire
import Testing

@testable import HubCore

/// A session without a socket: commands in, the messages that came of them out; time is what the test says.
final class Conversation {
    static let secret = Secret("token-secret-for-tests")

    let registry: RoomRegistry
    let session: HubSession
    var moment: Moment

    init(
        _ registry: RoomRegistry,
        settings: SessionSettings = SessionSettings(),
        at moment: Moment = Moment(instant: Instant(nanoseconds: 1_000_000_000), seconds: 1_000),
        random: @escaping () -> Double = { 0 }
    ) {
        self.registry = registry
        self.moment = moment
        session = HubSession(
            registry: registry,
            verifier: TokenVerifier(secret: Self.secret),
            settings: settings,
            at: moment,
            random: random
        )
    }

    /// Rooms and sessions hold each other until a session ends.
    deinit { session.end(.forced) }

    /// Connected, as `user` or anonymously.
    static func connected(
        _ registry: RoomRegistry,
        as user: String? = nil,
        settings: SessionSettings = SessionSettings()
    ) throws -> Conversation {
        let conversation = Conversation(registry, settings: settings)
        var request = ConnectRequest()
        if let user { request.token = token("{\"sub\":\"\(user)\"}") }
        let replies = try conversation.say(.connect(request), id: 1)
        guard case .connect = replies.first?.body else { throw TestFailure("not connected: \(replies)") }
        return conversation
    }

    @discardableResult
    func say(_ request: Request, id: UInt32 = 9) throws -> [Reply] {
        session.handle(Command(id: id, request), at: moment)
        return try heard()
    }

    func bytes(_ frame: [UInt8]) throws -> [Reply] {
        frame.withUnsafeBytes { session.receive($0, at: moment) }
        return try heard()
    }

    func subscribe(_ channel: ByteString, _ change: (inout SubscribeRequest) -> Void = { _ in }) throws -> [Reply] {
        var request = SubscribeRequest()
        request.channel = channel
        change(&request)
        return try say(.subscribe(request))
    }

    /// The result of a subscription that must succeed.
    func joined(
        _ channel: ByteString,
        _ change: (inout SubscribeRequest) -> Void = { _ in }
    ) throws -> SubscribeResult {
        let replies = try subscribe(channel, change)
        guard case .subscribe(let result) = replies.first?.body else { throw TestFailure("\(replies)") }
        return result
    }

    func pass(_ duration: Duration) throws -> [Reply] {
        moment.instant = moment.instant + duration
        moment.seconds += duration.components.seconds
        session.tick(at: moment)
        return try heard()
    }

    /// What waits to be sent.
    func heard() throws -> [Reply] {
        var replies: [Reply] = []
        while let frame = session.outbox.takeFrame() {
            try frame.withUnsafeBytes { try ProtobufCodec.decodeReplies($0) { replies.append($0) } }
        }
        return replies
    }

    @discardableResult
    func publish(_ channel: ByteString, _ data: String) throws -> StreamPosition? {
        try registry.publish(Publication(data: Payload(data)), in: channel, at: moment.instant)
    }

    /// An HS256 token of those claims.
    static func token(_ claims: String, secret: Secret = secret, header: String = #"{"alg":"HS256"}"#) -> ByteString {
        let signed = Base64.encodeURL(Array(header.utf8)) + [0x2e] + Base64.encodeURL(Array(claims.utf8))
        let signature = MessageAuthenticator(key: secret).authenticate(signed)
        return ByteString(signed + [0x2e] + Base64.encodeURL(signature))
    }
}

struct TestFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

extension Reply {
    /// The code of an error reply.
    var errorCode: UInt32? {
        guard case .error(let error) = body else { return nil }
        return error.code
    }

    /// The offset of a pushed publication.
    var pushedOffset: UInt64? { pushed?.offset }

    var pushed: Publication? {
        guard case .push(let push) = body, case .publication(let publication) = push.body else { return nil }
        return publication
    }
}

extension RoomRule {
    /// The rules that stand for the namespaces of the recordings' server.
    static var recorded: [RoomRule] {
        func rule(
            _ pattern: RoomPattern,
            _ history: Int = 0,
            _ recovery: Grant = .never,
            _ position: Grant = .never
        )
            -> RoomRule
        {
            RoomRule(
                pattern: pattern,
                history: history,
                keep: .seconds(300),
                isPublic: true,
                recovery: recovery,
                position: position,
                membersMay: []
            )
        }
        var order = rule("order:{x*}", 1_000, .always)
        order.membersMay = [.history, .publish]
        var small = rule("small:{x*}", 10, .always)
        small.membersMay = .history
        var closed = rule("closed:{x*}")
        closed.isPublic = false
        var privateOrder = order
        privateOrder.pattern = "$order:{x*}"
        return [
            order, small, closed, privateOrder, rule("nohistory:{x*}", 10, .always),
            rule("position:{x*}", 10, .never, .always), rule("ask:{x*}", 10, .ask, .ask), rule("live:{x*}"),
            rule("cache:{x*}", 10, .always), rule("{x}"),
        ]
    }
}

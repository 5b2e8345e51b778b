import RoomsRuntime
import RoomsWire
import Testing

@testable import HubCore

/// A session without a socket: commands in, the messages that came of them out; time is what the test says.
final class Conversation {
    static let secret = Secret("token-secret-for-tests")

    static let start = Moment(instant: Instant(nanoseconds: 1_000_000_000), milliseconds: 1_000_000)

    let hub: HubState
    let session: HubSession
    var moment: Moment

    init(
        _ hub: HubState,
        format: WireFormat = .protobuf,
        at moment: Moment = start,
        random: @escaping () -> Double = { 0 }
    ) {
        self.hub = hub
        self.moment = moment
        session = HubSession(hub, format: format, at: moment, random: random)
    }

    /// Rooms and sessions hold each other until a session ends.
    deinit { session.end(.forced) }

    /// Connected, as `user` or anonymously.
    static func connected(
        _ hub: HubState,
        as user: String? = nil,
        format: WireFormat = .protobuf
    ) throws -> Conversation {
        let conversation = Conversation(hub, format: format)
        var request = ConnectRequest()
        if let user { request.token = token("{\"sub\":\"\(user)\"}") }
        let replies = try conversation.say(.connect(request), id: 1)
        guard case .connect = replies.first?.body else { throw TestFailure("not connected: \(replies)") }
        return conversation
    }

    @discardableResult
    func say(_ request: Request, id: UInt32 = 9) throws -> [Reply] {
        try bytes(session.format.frame([Command(id: id, request)]))
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
        moment.milliseconds += duration.wholeMilliseconds
        session.tick(at: moment)
        return try heard()
    }

    /// What waits to be sent.
    func heard() throws -> [Reply] {
        try frames().flatMap { try session.format.replies(in: $0) }
    }

    @discardableResult
    func publish(_ channel: ByteString, _ data: String) throws -> StreamPosition? {
        try hub.registry.publish(Publication(data: Payload(data)), in: channel, at: moment.instant)
    }

    /// An HS256 token of those claims.
    static func token(_ claims: String, secret: Secret = secret, header: String = #"{"alg":"HS256"}"#) -> ByteString {
        let signed = Base64.encodeURL(Array(header.utf8)) + [0x2e] + Base64.encodeURL(Array(claims.utf8))
        let signature = MessageAuthenticator(key: secret).authenticate(signed)
        return ByteString(signed + [0x2e] + Base64.encodeURL(signature))
    }
}

extension HubState {
    /// A hub with those rooms and the secret of the tests.
    convenience init(
        rules: [RoomRule],
        settings: SessionSettings = SessionSettings(),
        makeEpoch: @escaping () -> ByteString = RoomRegistry.randomEpoch
    ) {
        self.init(
            registry: RoomRegistry(rules: .configured(rules), makeEpoch: makeEpoch),
            verifier: TokenVerifier(secret: Conversation.secret),
            settings: settings
        )
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

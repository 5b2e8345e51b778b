package import RoomsRuntime
package import RoomsWire

/// One client's side of the conversation: its commands in, its messages out.
///
/// No I/O: what it has to say waits in `outbox` until the connection takes it, and `ending` says when it is over.
/// Belongs to the loop of its registry.
package final class HubSession {
    private enum Phase {
        /// Nothing said yet: `connect` or the stale delay.
        case fresh
        /// `connect` was answered with an error: silence until the stale delay.
        case refused
        case connected
        case ended
    }

    let registry: RoomRegistry
    let verifier: TokenVerifier
    let settings: SessionSettings
    private let random: () -> Double

    private var phase = Phase.fresh
    package private(set) var client = ByteString.empty
    package private(set) var user = ByteString.empty
    private(set) var info: [UInt8] = []
    var subscriptions: [ByteString: Subscription] = [:]

    private var staleAt: Instant
    private var pingAt = Instant.distantFuture
    private var pongBy: Instant?
    private var expiresAt = Instant.distantFuture

    var outbox = Outbox()
    /// Set once, when the session is over; what `outbox` holds then is still to be sent.
    package private(set) var ending: HubClose?
    /// Called when there is something to send, or the session ended; `bytes` is the size of a reply, 0 for a push.
    var onOutput: ((_ replyBytes: Int) -> Void)?

    /// `random` gives numbers from 0 to 1: when the first ping comes.
    package init(
        registry: RoomRegistry,
        verifier: TokenVerifier,
        settings: SessionSettings,
        at moment: Moment,
        random: @escaping () -> Double = { Double.random(in: 0...1) }
    ) {
        self.registry = registry
        self.verifier = verifier
        self.settings = settings
        self.random = random
        staleAt = moment.instant + settings.staleDelay
    }

    // MARK: what the client sends

    /// One whole frame of the client.
    package func receive(_ frame: UnsafeRawBufferPointer, at moment: Moment) {
        do {
            try ProtobufCodec.decodeCommands(frame) { handle($0, at: moment) }
        } catch {
            end(.badRequest)
        }
    }

    package func handle(_ command: Command, at moment: Moment) {
        switch phase {
        case .ended, .refused: return
        case .fresh:
            guard case .connect(let request) = command.request, command.id > 0 else { return end(.badRequest) }
            connect(command.id, request, at: moment)
        case .connected:
            if case .send = command.request { return end(.notAvailable) }
            // Whatever has no id is taken for the pong.
            guard command.id > 0 else { return pong() }
            dispatch(command, at: moment)
        }
    }

    private func dispatch(_ command: Command, at moment: Moment) {
        let id = command.id
        switch command.request {
        case .subscribe(let request): subscribe(id, request, at: moment)
        case .unsubscribe(let channel): unsubscribe(id, channel)
        case .publish(let channel, let data): publish(id, channel, data, at: moment)
        case .history(let request): history(id, request, at: moment)
        case .presence(let channel), .presenceStats(let channel): presence(id, channel)
        case .refresh(let token): refresh(id, token, at: moment)
        case .subRefresh(let channel, let token): refreshSubscription(id, channel, token, at: moment)
        case .rpc: reply(id, .error(HubError.notAvailable.reply))
        case .connect, .ping, .pong, .send, .unknown: end(.badRequest)
        }
    }

    private func connect(_ id: UInt32, _ request: ConnectRequest, at moment: Moment) {
        var result = ConnectResult()
        if request.token.isEmpty {
            guard settings.admitsAnonymous else { return end(.badRequest) }
        } else {
            do {
                let token = try verifier.connection(request.token, at: moment.seconds)
                user = token.user
                info = token.info
                if let expiry = token.expiry {
                    guard expiry > moment.seconds else { return refuse(id, .expired) }
                    result.expires = true
                    result.ttl = moment.timeToLive(until: expiry)
                    expiresAt = moment.instant(of: expiry) + settings.expiryGrace
                }
            } catch {
                return error == .expired ? refuse(id, .tokenExpired) : end(.invalidToken)
            }
        }
        client = Self.makeClientID()
        phase = .connected
        result.client = client
        result.version = ByteString("roomhub " + HubVersion.text)
        if settings.pingInterval > .zero {
            result.ping = UInt32(clamping: max(1, settings.pingInterval.wholeMilliseconds / 1_000))
            result.pong = true
            pingAt = moment.instant + settings.pingInterval * (0.5 + random() / 2)
        }
        reply(id, .connect(result))
    }

    private func refuse(_ id: UInt32, _ error: HubError) {
        phase = .refused
        reply(id, .error(error.reply))
    }

    private func pong() {
        guard pongBy != nil else { return end(.badRequest) }
        pongBy = nil
    }

    private func refresh(_ id: UInt32, _ token: ByteString, at moment: Moment) {
        guard !token.isEmpty else { return end(.badRequest) }
        do {
            let token = try verifier.connection(token, at: moment.seconds)
            guard token.user == user else { return end(.invalidToken) }
            var result = RefreshResult()
            if let expiry = token.expiry {
                guard expiry > moment.seconds else { return reply(id, .error(HubError.expired.reply)) }
                result.expires = true
                result.ttl = moment.timeToLive(until: expiry)
                expiresAt = moment.instant(of: expiry) + settings.expiryGrace
            }
            reply(id, .refresh(result))
        } catch {
            end(error == .expired ? .expired : .invalidToken)
        }
    }

    // MARK: time

    /// When `tick` has something to do; changes with each event.
    package var deadline: Instant {
        switch phase {
        case .fresh, .refused: return staleAt
        case .ended: return .distantFuture
        case .connected:
            let own = min(pingAt, pongBy ?? .distantFuture, expiresAt)
            return subscriptions.values.reduce(own) { min($0, $1.expiresAt) }
        }
    }

    package func tick(at moment: Moment) {
        let now = moment.instant
        switch phase {
        case .ended: return
        case .fresh, .refused:
            if now >= staleAt { end(.stale) }
        case .connected:
            if let pongBy, now >= pongBy { return end(.noPong) }
            if now >= expiresAt { return end(.expired) }
            for (channel, subscription) in subscriptions where now >= subscription.expiresAt {
                dropSubscription(channel, code: 2501, reason: "subscription expired")
            }
            guard now >= pingAt else { return }
            pingAt = now + settings.pingInterval
            if pongBy == nil { pongBy = now + settings.pongTimeout }
            push { ProtobufCodec.encode(.ping, into: &$0) }
        }
    }

    // MARK: what the client gets

    /// A push that was encoded for all members of a room.
    func deliver(_ message: [UInt8]) {
        push { $0.append(contentsOf: message) }
    }

    func push(_ encode: (inout [UInt8]) -> Void) {
        guard phase != .ended else { return }
        outbox.append(encode)
        onOutput?(0)
    }

    func reply(_ id: UInt32, _ body: ReplyBody) {
        guard phase != .ended else { return }
        let before = outbox.count
        outbox.append { ProtobufCodec.encode(Reply(id: id, body), into: &$0) }
        onOutput?(outbox.count - before)
    }

    /// Ends the session and leaves all rooms; only the first call counts.
    package func end(_ close: HubClose) {
        guard phase != .ended else { return }
        phase = .ended
        ending = close
        if close.dropsQueue { outbox.removeAll() }
        for subscription in subscriptions.values { registry.leave(subscription.room, self) }
        subscriptions = [:]
        onOutput?(0)
    }

    /// A random UUID (RFC 9562, version 4).
    private static func makeClientID() -> ByteString {
        var bytes = Digest.randomBytes(16)
        bytes[6] = bytes[6] & 0x0f | 0x40
        bytes[8] = bytes[8] & 0x3f | 0x80
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        for (index, byte) in bytes.enumerated() {
            if [4, 6, 8, 10].contains(index) { text.append(UInt8(ascii: "-")) }
            text += [digits[Int(byte >> 4)], digits[Int(byte & 15)]]
        }
        return ByteString(text)
    }
}

package import RoomsRuntime
package import RoomsWire

/// One client's side of the conversation: its commands in, its messages out.
///
/// No I/O: what it has to say waits in `outbox` until the connection takes it, and `ending` says when it is over.
/// Belongs to the hub's loop.
package final class HubSession: RoomMember {
    enum Phase {
        /// Nothing said yet: `connect` or the stale delay.
        case fresh
        /// `connect` was answered with an error: silence until the stale delay.
        case refused
        case connected
        case ended
    }

    let state: HubState
    let format: WireFormat
    private let random: () -> Double

    var phase = Phase.fresh
    package var client = ByteString.empty
    package var user = ByteString.empty
    var info: [UInt8] = []
    /// The rooms that its token put it into.
    var tokenChannels: Set<ByteString> = []
    private(set) var subscriptions: [ByteString: Subscription] = [:]

    private var staleAt: Instant
    private var pingAt = Instant.distantFuture
    private var pongBy: Instant?
    var expiresAt = Instant.distantFuture
    /// No subscription ends before.
    private var subscriptionsExpireAt = Instant.distantFuture

    var outbox: Outbox
    /// Set once, when the session is over; what `outbox` holds then is still to be sent.
    package private(set) var ending: HubClose?
    /// Called when there is something to send, or the session ended; `bytes` is the size of a reply, 0 for a push.
    var onOutput: ((_ replyBytes: Int) -> Void)?

    /// `random` gives numbers from 0 to 1: when the first ping comes.
    package init(
        _ state: HubState,
        format: WireFormat,
        at moment: Moment,
        random: @escaping () -> Double = { Double.random(in: 0...1) }
    ) {
        self.state = state
        self.format = format
        self.random = random
        outbox = Outbox(format: format, messagesPerFrame: state.settings.messagesPerFrame)
        staleAt = moment.instant + state.settings.staleDelay
    }

    var registry: RoomRegistry { state.registry }
    var settings: SessionSettings { state.settings }

    // MARK: what the client sends

    /// One whole frame of the client.
    package func receive(_ frame: UnsafeRawBufferPointer, at moment: Moment) {
        do {
            switch format {
            case .protobuf: try ProtobufCodec.decodeCommands(frame) { handle($0, at: moment) }
            case .json: try JSONCodec.decodeCommands(frame) { handle($0, at: moment) }
            }
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
        case .presence(let channel):
            answerPresence(id, channel) { room in
                .presence(clients: room.present.map { PresenceEntry(key: $0.client, info: $0) })
            }
        case .presenceStats(let channel):
            answerPresence(id, channel) { room in
                let (clients, users) = room.presenceCounts
                return .presenceStats(clients: UInt32(clamping: clients), users: UInt32(clamping: users))
            }
        case .refresh(let token): refresh(id, token, at: moment)
        case .subRefresh(let channel, let token): refreshSubscription(id, channel, token, at: moment)
        case .rpc: reply(id, .error(HubError.notAvailable.reply))
        case .connect, .ping, .pong, .send, .unknown: end(.badRequest)
        }
    }

    private func pong() {
        guard pongBy != nil else { return end(.badRequest) }
        pongBy = nil
    }

    // MARK: subscriptions

    func add(_ subscription: Subscription, to channel: ByteString) {
        subscriptions[channel] = subscription
        subscriptionsExpireAt = min(subscriptionsExpireAt, subscription.expiresAt)
    }

    /// Also out of the room.
    @discardableResult
    func removeSubscription(_ channel: ByteString) -> Subscription? {
        guard let subscription = subscriptions.removeValue(forKey: channel) else { return nil }
        registry.leave(subscription.room, self)
        return subscription
    }

    private func expireSubscriptions(at now: Instant) {
        guard now >= subscriptionsExpireAt else { return }
        for (channel, subscription) in subscriptions where now >= subscription.expiresAt {
            // One that the client did not ask for cannot be taken from it alone.
            if subscription.isServerSide { return end(.subscriptionExpired) }
            dropSubscription(channel, code: 2501, reason: "subscription expired")
        }
        subscriptionsExpireAt = subscriptions.values.map(\.expiresAt).min() ?? .distantFuture
    }

    // MARK: time

    func startPings(at now: Instant) {
        guard settings.pingInterval > .zero else { return }
        pingAt = now + settings.pingInterval * (0.5 + random() / 2)
    }

    /// When `tick` has something to do; changes with each event.
    package var deadline: Instant {
        switch phase {
        case .fresh, .refused: staleAt
        case .ended: .distantFuture
        case .connected: min(pingAt, pongBy ?? .distantFuture, expiresAt, subscriptionsExpireAt)
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
            expireSubscriptions(at: now)
            guard now >= pingAt else { return }
            pingAt = now + settings.pingInterval
            if pongBy == nil { pongBy = now + settings.pongTimeout }
            say(.ping)
        }
    }

    // MARK: what the client gets

    func deliver(_ broadcast: inout Broadcast) {
        guard phase != .ended else { return }
        guard let message = broadcast.message(in: format) else { return end(.inappropriateProtocol) }
        outbox.append { bytes in
            bytes.append(contentsOf: message)
            return true
        }
        onOutput?(0)
    }

    func push(_ channel: ByteString, _ body: PushBody) {
        say(Reply(id: 0, .push(Push(channel: channel, body))))
    }

    func reply(_ id: UInt32, _ body: ReplyBody) {
        let before = outbox.count
        say(Reply(id: id, body)) { outbox.count - before }
    }

    private func say(_ reply: Reply, replyBytes: () -> Int = { 0 }) {
        guard phase != .ended else { return }
        let isCarried = outbox.append { bytes in
            switch format {
            case .protobuf:
                ProtobufCodec.encode(reply, into: &bytes)
                return true
            case .json: return JSONCodec.encode(reply, into: &bytes)
            }
        }
        guard isCarried else { return end(.inappropriateProtocol) }
        onOutput?(replyBytes())
    }

    /// Ends the session and leaves all rooms; only the first call counts.
    package func end(_ close: HubClose) {
        guard phase != .ended else { return }
        phase = .ended
        ending = close
        if close.dropsQueue { outbox.removeAll() }
        let rooms = subscriptions.values.map(\.room)
        subscriptions = [:]
        for room in rooms { registry.leave(room, self) }
        state.directory.leave(self)
        onOutput?(0)
    }
}

internal import RoomsRuntime
internal import RoomsWire

/// A room that a session has joined.
struct Subscription {
    let room: Room
    let terms: SubscriptionTerms
    /// The client did not ask for it.
    let isServerSide: Bool
    /// When it ends unless it is refreshed.
    var expiresAt = Instant.distantFuture
    /// What its token says about the member in this room.
    var info: [UInt8] = []
}

/// A subscription that may begin, and what the client is told of it.
struct Admission {
    var subscription: Subscription
    var result: SubscribeResult
}

/// How a subscription begins and ends.
extension HubSession {
    /// The longest name of a room.
    static let nameLimit = 255
    /// Bit 1 of `SubscribeRequest.flag`: an error in place of recovered=false.
    private static let rejectUnrecovered: Int64 = 2

    func subscribe(_ id: UInt32, _ request: SubscribeRequest, at moment: Moment) {
        guard !request.channel.isEmpty else { return end(.badRequest) }
        if state.answerFaults != nil, failsSubscribe(id, request.channel) { return }
        do {
            guard let admission = try admit(request, at: moment) else { return end(.invalidToken) }
            add(admission.subscription, to: request.channel)
            // The reply before the room: nothing that is published later may overtake it.
            reply(id, .subscribe(admission.result))
            enter(admission.subscription)
        } catch {
            reply(id, .error(error.reply))
        }
    }

    /// Into the room, unless the session ended over its reply.
    func enter(_ subscription: Subscription) {
        guard subscriptions[subscription.room.name] != nil else { return }
        let membership = Membership(member: self, info: author(subscription.info), terms: subscription.terms)
        registry.join(subscription.room, membership)
    }

    /// What others see of this connection.
    func author(_ roomInfo: [UInt8]) -> ClientInfo {
        var author = ClientInfo(user: user, client: client)
        author.connInfo = info
        author.chanInfo = roomInfo
        return author
    }

    /// Rooms that clients name themselves are called in ASCII.
    static func isASCII(_ name: ByteString) -> Bool {
        name.bytes.allSatisfy { $0 < 0x80 }
    }

    /// True when the room may be joined without a token.
    func isOpen(_ channel: ByteString, _ rule: RoomRule) -> Bool {
        rule.isPublic && (rule.admitsAnonymous || !user.isEmpty) && channel.bytes.first != UInt8(ascii: "$")
    }

    /// Nil when the token is for somebody else, which ends the connection.
    private func admit(_ request: SubscribeRequest, at moment: Moment) throws(HubError) -> Admission? {
        let name = request.channel
        guard name.count <= Self.nameLimit else { throw .badRequest }
        guard subscriptions[name] == nil else { throw .alreadySubscribed }
        guard subscriptions.count < settings.roomLimit else { throw .limitExceeded }
        let rule = try rule(for: name)
        var details = ServerSubscription(channel: name)
        if request.token.isEmpty {
            guard isOpen(name, rule) else { throw .permissionDenied }
        } else {
            let token = try token(request.token, at: moment)
            guard isMine(token, channel: name) else { return nil }
            details = token.details
        }
        guard !request.hasTagsFilter else { throw .badRequest }
        return try admit(details, request, isServerSide: false, at: moment)
    }

    private func token(_ text: ByteString, at moment: Moment) throws(HubError) -> SubscriptionToken {
        do {
            return try state.verifier.subscription(text, at: moment.seconds)
        } catch {
            throw error == .expired ? .tokenExpired : .permissionDenied
        }
    }

    func isMine(_ token: SubscriptionToken, channel: ByteString) -> Bool {
        token.details.channel == channel && token.user == user && (token.client.isEmpty || token.client == client)
    }

    /// Whether the room takes the session in, and what of it the session has missed.
    func admit(
        _ details: ServerSubscription,
        _ request: SubscribeRequest,
        isServerSide: Bool = true,
        at moment: Moment
    ) throws(HubError) -> Admission {
        var result = SubscribeResult()
        var expiresAt = Instant.distantFuture
        if let expiry = details.expiry {
            guard expiry > moment.seconds else { throw .expired }
            result.expires = !isServerSide
            result.ttl = isServerSide ? 0 : moment.timeToLive(until: expiry)
            expiresAt = moment.instant(of: expiry) + settings.expiryGrace
        }
        guard let room = registry.room(details.channel) else { throw .unknownChannel }
        guard !room.isFull(for: user) else { throw .full }
        let terms = SubscriptionTerms(rule: room.rule, override: details.override, request: request)
        result.data = details.data
        result.recoverable = terms.isRecoverable
        result.positioned = terms.isPositioned
        result.wasRecovering = request.recover
        var subscription = Subscription(room: room, terms: terms, isServerSide: isServerSide)
        (subscription.expiresAt, subscription.info) = (expiresAt, details.info)
        try recover(request, in: room, &result, at: moment.instant)
        return Admission(subscription: subscription, result: result)
    }

    /// The position, and what was missed as far as that is certain.
    private func recover(
        _ request: SubscribeRequest,
        in room: Room,
        _ result: inout SubscribeResult,
        at now: Instant
    ) throws(HubError) {
        guard result.positioned else { return }
        let stream = registry.stream(of: room, at: now)
        result.epoch = stream.epoch
        result.offset = stream.top
        guard request.recover, result.recoverable else { return }
        let position = StreamPosition(offset: request.offset, epoch: request.epoch)
        if let missed = stream.recover(from: position, limit: settings.recoveryLimit) {
            result.recovered = true
            result.publications = missed
            result.offset = request.offset
        } else if request.flag & Self.rejectUnrecovered != 0 {
            throw .unrecoverablePosition
        }
    }

    /// Puts the session into a room that it did not ask for.
    ///
    /// With a position to recover from the client is told that one, and gets nothing of what it missed: so does the
    /// real server.
    func join(_ details: ServerSubscription, at moment: Moment) throws(HubError) {
        guard subscriptions[details.channel] == nil else { throw .internalError }
        if let expiry = details.expiry, expiry <= moment.seconds { throw .internalError }
        guard subscriptions.count < settings.roomLimit else { return end(.channelLimit) }
        var request = SubscribeRequest()
        if let since = details.recoverSince {
            (request.recover, request.offset, request.epoch) = (true, since.offset, since.epoch)
        }
        let admission = try admit(details, request, at: moment)
        add(admission.subscription, to: details.channel)
        var body = SubscribePush()
        body.recoverable = admission.result.recoverable
        body.positioned = admission.result.positioned
        body.epoch = admission.result.epoch
        body.offset = admission.result.offset
        body.data = admission.result.data
        push(details.channel, .subscribe(body))
        enter(admission.subscription)
    }

    func unsubscribe(_ id: UInt32, _ channel: ByteString) {
        guard !channel.isEmpty else { return end(.badRequest) }
        removeSubscription(channel)
        reply(id, .unsubscribe)
    }

    /// Takes the session out of a room and tells it why.
    func dropSubscription(_ channel: ByteString, code: UInt32, reason: ByteString) {
        guard removeSubscription(channel) != nil else { return }
        push(channel, .unsubscribe(code: code, reason: reason))
    }

    /// What the real server says when the position of a member does not fit the stream.
    func losePosition(in channel: ByteString) {
        guard let subscription = subscriptions[channel] else { return }
        if subscription.isServerSide { return end(.insufficientState) }
        dropSubscription(channel, code: 2500, reason: "insufficient state")
    }

    func refreshSubscription(_ id: UInt32, _ channel: ByteString, _ token: ByteString, at moment: Moment) {
        guard !channel.isEmpty else { return end(.badRequest) }
        guard var subscription = subscriptions[channel] else {
            return reply(id, .error(HubError.permissionDenied.reply))
        }
        guard !subscription.isServerSide else { return end(.badRequest) }
        guard !token.isEmpty else { return reply(id, .error(HubError.badRequest.reply)) }
        do {
            let token = try state.verifier.subscription(token, at: moment.seconds)
            guard isMine(token, channel: channel) else { return end(.invalidToken) }
            var result = RefreshResult()
            subscription.expiresAt = .distantFuture
            if let expiry = token.details.expiry {
                guard expiry > moment.seconds else { return end(.subscriptionExpired) }
                result.expires = true
                result.ttl = moment.timeToLive(until: expiry)
                subscription.expiresAt = moment.instant(of: expiry) + settings.expiryGrace
            }
            subscription.info = token.details.info
            add(subscription, to: channel)
            reply(id, .subRefresh(result))
        } catch {
            end(error == .expired ? .subscriptionExpired : .invalidToken)
        }
    }
}

internal import RoomsRuntime
internal import RoomsWire

/// A room that a session has joined.
struct Subscription {
    let room: Room
    /// When it ends unless it is refreshed.
    var expiresAt = Instant.distantFuture
    /// What its token says about the member in this room.
    var info: [UInt8] = []
}

/// A subscription that may begin, and its reply but for the position.
private struct Admission {
    var result: SubscribeResult
    var subscription: Subscription
}

extension HubSession {
    /// The longest name of a room.
    static let nameLimit = 255
    /// Bit 1 of `SubscribeRequest.flag`: an error in place of recovered=false.
    private static let rejectUnrecovered: Int64 = 2

    func subscribe(_ id: UInt32, _ request: SubscribeRequest, at moment: Moment) {
        let name = request.channel
        guard !name.isEmpty else { return end(.badRequest) }
        do {
            guard let admission = try admit(request, at: moment) else { return end(.invalidToken) }
            let result = try recover(request, admission, at: moment.instant)
            subscriptions[name] = admission.subscription
            // The reply before the room: nothing that is published later may overtake it.
            reply(id, .subscribe(result))
            guard subscriptions[name] != nil else { return }
            admission.subscription.room.join(self)
        } catch {
            reply(id, .error(error.reply))
        }
    }

    /// Nil when the token is for somebody else, which ends the connection.
    private func admit(_ request: SubscribeRequest, at moment: Moment) throws(HubError) -> Admission? {
        let name = request.channel
        guard name.count <= Self.nameLimit else { throw .badRequest }
        guard subscriptions[name] == nil else { throw .alreadySubscribed }
        guard subscriptions.count < settings.roomLimit else { throw .limitExceeded }
        guard let rule = registry.rule(for: name) else { throw .unknownChannel }
        guard name.bytes.allSatisfy({ $0 < 0x80 }) else { throw .badRequest }
        let token = try token(for: request, rule, at: moment)
        if let token {
            guard token.channel == name, token.user == user, token.client.isEmpty || token.client == client else {
                return nil
            }
        }
        var result = SubscribeResult()
        var expiresAt = Instant.distantFuture
        if let expiry = token?.expiry {
            guard expiry > moment.seconds else { throw .expired }
            result.expires = true
            result.ttl = moment.timeToLive(until: expiry)
            expiresAt = moment.instant(of: expiry) + settings.expiryGrace
        }
        result.data = token?.data ?? []
        result.recoverable = token?.forceRecovery ?? isGranted(rule.recovery, asked: request.recoverable)
        let isPositioned = token?.forcePositioning ?? isGranted(rule.position, asked: request.positioned)
        result.positioned = isPositioned || result.recoverable
        result.wasRecovering = request.recover
        guard let room = registry.room(name) else { throw .unknownChannel }
        let subscription = Subscription(room: room, expiresAt: expiresAt, info: token?.info ?? [])
        return Admission(result: result, subscription: subscription)
    }

    private func token(
        for request: SubscribeRequest,
        _ rule: RoomRule,
        at moment: Moment
    ) throws(HubError) -> SubscriptionToken? {
        if request.token.isEmpty {
            let isPrivate = request.channel.bytes.first == UInt8(ascii: "$")
            guard !isPrivate, rule.isPublic, rule.admitsAnonymous || !user.isEmpty else { throw .permissionDenied }
            return nil
        }
        do {
            return try verifier.subscription(request.token, at: moment.seconds)
        } catch {
            throw error == .expired ? .tokenExpired : .permissionDenied
        }
    }

    private func isGranted(_ grant: RoomRule.Grant, asked: Bool) -> Bool {
        switch grant {
        case .always: true
        case .ask: asked
        case .never: false
        }
    }

    /// The reply: the position, and what was missed as far as that is certain.
    private func recover(
        _ request: SubscribeRequest,
        _ admission: Admission,
        at now: Instant
    ) throws(HubError) -> SubscribeResult {
        var result = admission.result
        guard result.positioned else { return result }
        let stream = registry.stream(of: admission.subscription.room, at: now)
        result.epoch = stream.epoch
        result.offset = stream.top
        guard request.recover, result.recoverable else { return result }
        let position = StreamPosition(offset: request.offset, epoch: request.epoch)
        if let missed = stream.recover(from: position, limit: settings.recoveryLimit) {
            result.recovered = true
            result.publications = missed
            result.offset = request.offset
        } else if request.flag & Self.rejectUnrecovered != 0 {
            throw .unrecoverablePosition
        }
        return result
    }

    func unsubscribe(_ id: UInt32, _ channel: ByteString) {
        guard !channel.isEmpty else { return end(.badRequest) }
        if let subscription = subscriptions.removeValue(forKey: channel) { registry.leave(subscription.room, self) }
        reply(id, .unsubscribe)
    }

    /// Takes the session out of a room and tells it why.
    func dropSubscription(_ channel: ByteString, code: UInt32, reason: ByteString) {
        guard let subscription = subscriptions.removeValue(forKey: channel) else { return }
        registry.leave(subscription.room, self)
        let body = PushBody.unsubscribe(code: code, reason: reason)
        push { ProtobufCodec.encode(Reply(id: 0, .push(Push(channel: channel, body))), into: &$0) }
    }

    func publish(_ id: UInt32, _ channel: ByteString, _ data: [UInt8], at moment: Moment) {
        guard !channel.isEmpty else { return end(.badRequest) }
        do throws(HubError) {
            guard let rule = registry.rule(for: channel) else { throw HubError.unknownChannel }
            guard rule.membersMay.contains(.publish), let subscription = subscriptions[channel] else {
                throw HubError.permissionDenied
            }
            guard !data.isEmpty else { throw HubError.badRequest }
            var author = ClientInfo(user: user, client: client)
            author.connInfo = info
            author.chanInfo = subscription.info
            let publication = Publication(data: Payload(data), info: author)
            _ = try registry.publish(publication, in: channel, at: moment.instant)
            reply(id, .publish)
        } catch {
            reply(id, .error(error.reply))
        }
    }

    func history(_ id: UInt32, _ request: HistoryRequest, at moment: Moment) {
        guard !request.channel.isEmpty else { return end(.badRequest) }
        do throws(HubError) {
            guard let rule = registry.rule(for: request.channel) else { throw HubError.unknownChannel }
            guard rule.history > 0 else { throw HubError.notAvailable }
            guard rule.membersMay.contains(.history), let subscription = subscriptions[request.channel] else {
                throw HubError.permissionDenied
            }
            guard !request.reverse || request.since?.offset != 0 else { throw HubError.badRequest }
            let limit = request.limit < 0 ? settings.historyLimit : min(Int(request.limit), settings.historyLimit)
            let page = try registry.page(
                of: subscription.room,
                since: request.since,
                limit: limit,
                isReverse: request.reverse,
                at: moment.instant
            )
            reply(id, .history(page))
        } catch {
            reply(id, .error(error.reply))
        }
    }

    /// This hub keeps no presence.
    func presence(_ id: UInt32, _ channel: ByteString) {
        guard !channel.isEmpty else { return end(.badRequest) }
        let error = registry.rule(for: channel) == nil ? HubError.unknownChannel : .notAvailable
        reply(id, .error(error.reply))
    }

    func refreshSubscription(_ id: UInt32, _ channel: ByteString, _ token: ByteString, at moment: Moment) {
        guard !channel.isEmpty else { return end(.badRequest) }
        guard subscriptions[channel] != nil else { return reply(id, .error(HubError.permissionDenied.reply)) }
        guard !token.isEmpty else { return reply(id, .error(HubError.badRequest.reply)) }
        do {
            let token = try verifier.subscription(token, at: moment.seconds)
            guard token.channel == channel, token.user == user, token.client.isEmpty || token.client == client else {
                return end(.invalidToken)
            }
            var result = RefreshResult()
            if let expiry = token.expiry {
                guard expiry > moment.seconds else { return reply(id, .error(HubError.expired.reply)) }
                result.expires = true
                result.ttl = moment.timeToLive(until: expiry)
                subscriptions[channel]?.expiresAt = moment.instant(of: expiry) + settings.expiryGrace
            } else {
                subscriptions[channel]?.expiresAt = .distantFuture
            }
            subscriptions[channel]?.info = token.info
            reply(id, .subRefresh(result))
        } catch {
            end(error == .expired ? .subscriptionExpired : .invalidToken)
        }
    }
}

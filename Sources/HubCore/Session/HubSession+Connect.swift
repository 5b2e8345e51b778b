internal import RoomsRuntime
internal import RoomsWire

/// How a connection begins, and how it goes on beyond its expiry.
extension HubSession {
    func connect(_ id: UInt32, _ request: ConnectRequest, at moment: Moment) {
        if state.answerFaults != nil, failsConnect(id) { return }
        var result = ConnectResult()
        var wanted: [ServerSubscription] = []
        if request.token.isEmpty {
            guard settings.admitsAnonymous else { return end(.badRequest) }
        } else {
            do {
                let token = try state.verifier.connection(request.token, at: moment.seconds)
                (user, info, wanted) = (token.user, token.info, token.subscriptions)
                tokenChannels = Set(wanted.map(\.channel))
                if let expiry = token.expiry {
                    guard let ttl = setExpiry(expiry, at: moment) else { return refuse(id, .expired) }
                    (result.expires, result.ttl) = (true, ttl)
                }
            } catch {
                switch error {
                case .expired: return refuse(id, .tokenExpired)
                case .notBase64: return refuse(id, .internalError)
                case .invalid: return end(.invalidToken)
                }
            }
        }
        if settings.userConnectionLimit > 0, !user.isEmpty,
            state.directory.connectionCount(of: user) >= settings.userConnectionLimit
        {
            return end(.connectionLimit)
        }
        client = UniqueID.make()
        guard let joining = serverSubscriptions(id, wanted, request.subs, at: moment) else { return }
        phase = .connected
        state.directory.enter(self)
        result.client = client
        result.version = ByteString("roomhub " + HubVersion.text)
        result.subs = joining.map { NamedSubscribeResult(channel: $0.subscription.room.name, result: $0.result) }
        if settings.pingInterval > .zero {
            result.ping = UInt32(clamping: max(1, settings.pingInterval.wholeMilliseconds / 1_000))
            result.pong = true
        }
        if settings.tellsTime { result.time = moment.milliseconds }
        startPings(at: moment.instant)
        for admission in joining { add(admission.subscription, to: admission.subscription.room.name) }
        reply(id, .connect(result))
        for admission in joining { enter(admission.subscription) }
    }

    /// The rooms that the token puts the connection into, and those that the client asks for and may have; nil when
    /// the connection cannot begin.
    private func serverSubscriptions(
        _ id: UInt32,
        _ wanted: [ServerSubscription],
        _ asked: [NamedSubscribeRequest],
        at moment: Moment
    ) -> [Admission]? {
        var positions: [ByteString: SubscribeRequest] = [:]
        for entry in asked { positions[entry.channel] = entry.request }
        var known: Set<ByteString> = [.empty]
        // A room that is named twice is one room.
        var wanted = wanted.filter { known.insert($0.channel).inserted }
        for entry in asked where known.insert(entry.channel).inserted {
            guard let rule = registry.rule(for: entry.channel) else {
                end(.badRequest)
                return nil
            }
            // What may not be joined without a token is passed over.
            guard isOpen(entry.channel, rule), Self.isASCII(entry.channel) else { continue }
            wanted.append(ServerSubscription(channel: entry.channel))
        }
        guard wanted.count <= settings.roomLimit else {
            end(.channelLimit)
            return nil
        }
        var joining: [Admission] = []
        for subscription in wanted {
            do {
                let request = positions[subscription.channel] ?? SubscribeRequest()
                joining.append(try admit(subscription, request, at: moment))
            } catch {
                refuse(id, error)
                return nil
            }
        }
        return joining
    }

    func refuse(_ id: UInt32, _ error: HubError) {
        phase = .refused
        reply(id, .error(error.reply))
    }

    func refresh(_ id: UInt32, _ token: ByteString, at moment: Moment) {
        guard !token.isEmpty else { return end(.badRequest) }
        do {
            let token = try state.verifier.connection(token, at: moment.seconds)
            guard token.user == user else { return end(.invalidToken) }
            guard Set(token.subscriptions.map(\.channel)) == tokenChannels else { return end(.insufficientState) }
            var result = RefreshResult()
            if let expiry = token.expiry {
                guard let ttl = setExpiry(expiry, at: moment) else {
                    return reply(id, .error(HubError.expired.reply))
                }
                (result.expires, result.ttl) = (true, ttl)
            }
            reply(id, .refresh(result))
        } catch {
            switch error {
            case .expired: end(.expired)
            case .notBase64: reply(id, .error(HubError.internalError.reply))
            case .invalid: end(.invalidToken)
            }
        }
    }

    /// Moves the expiry, as the server API asks; 0: it does not expire any more.
    func refresh(until expiry: Int64, at moment: Moment) {
        guard expiry > 0 else {
            expiresAt = .distantFuture
            return push(.empty, .refresh(expires: false, ttl: 0))
        }
        guard let ttl = setExpiry(expiry, at: moment) else { return end(.expired) }
        push(.empty, .refresh(expires: true, ttl: ttl))
    }

    /// Seconds until then; nil when that time has passed.
    func setExpiry(_ expiry: Int64, at moment: Moment) -> UInt32? {
        guard expiry > moment.seconds else { return nil }
        expiresAt = moment.instant(of: expiry) + settings.expiryGrace
        return moment.timeToLive(until: expiry)
    }
}

internal import RoomsRuntime
internal import RoomsWire

/// What the methods of the server API do.
///
/// Belongs to the hub's loop.
final class APIMethods {
    private let state: HubState
    private let node: () -> NodeFacts
    private var registry: RoomRegistry { state.registry }

    init(_ state: HubState, node: @escaping () -> NodeFacts) {
        self.state = state
        self.node = node
    }

    func perform(_ method: APIMethod, _ body: APIRequest, at moment: Moment) throws(APIFault) -> APIResult {
        switch method {
        case .publish: return .published(try publish(body, in: body.channel(), at: moment.instant))
        case .broadcast:
            return .broadcast(
                try body.channels().map { channel in
                    do throws(APIFault) {
                        guard !channel.isEmpty else { throw .refused(.badRequest) }
                        return .success(try publish(body, in: channel, at: moment.instant))
                    } catch {
                        return .failure(error.answer)
                    }
                }
            )
        case .history: return .history(try history(body, at: moment.instant))
        case .historyRemove:
            let room = try roomWithHistory(body.channel())
            room.history?.removeAll()
        case .presence: return .presence(try roomWithPresence(body.channel())?.present ?? [])
        case .presenceStats:
            let (clients, users) = try roomWithPresence(body.channel())?.presenceCounts ?? (0, 0)
            return .presenceStats(clients: clients, users: users)
        case .channels: return .channels(try channels(body))
        case .info: return .node(node())
        case .rpc: throw .refused(try body.string("method").isEmpty ? .badRequest : .notFound)
        case .batch: throw .malformed
        case .subscribe: try subscribe(body, at: moment)
        case .unsubscribe: try unsubscribe(body)
        case .disconnect: try disconnect(body)
        case .refresh: try refresh(body, at: moment)
        case .declareRooms: try declareRooms(body, at: moment.instant)
        }
        return .empty
    }

    // MARK: rooms

    private func publish(
        _ body: APIRequest,
        in channel: ByteString,
        at now: Instant
    ) throws(APIFault) -> StreamPosition? {
        let publication = try body.publication()
        let (isKept, key) = (try body.isKept(), try body.publicationKey())
        do {
            return try registry.publish(publication, in: channel, isKept: isKept, key: key, at: now)
        } catch {
            throw .refused(error)
        }
    }

    private func rule(for channel: ByteString) throws(APIFault) -> RoomRule {
        guard let rule = registry.rule(for: channel) else { throw .refused(.unknownChannel) }
        return rule
    }

    private func roomWithHistory(_ channel: ByteString) throws(APIFault) -> Room {
        guard try rule(for: channel).history > 0, let room = registry.room(channel) else {
            throw .refused(.notAvailable)
        }
        return room
    }

    /// Nil when nobody is in it.
    private func roomWithPresence(_ channel: ByteString) throws(APIFault) -> Room? {
        guard try rule(for: channel).presence else { throw .refused(.notAvailable) }
        return registry.rooms[channel]
    }

    private func history(_ body: APIRequest, at now: Instant) throws(APIFault) -> HistoryResult {
        let room = try roomWithHistory(body.channel())
        let query = try body.historyQuery()
        // The server API says 100 where a client hears 107.
        guard !query.isReverse || query.since?.offset != 0 else { throw .refused(.internalError) }
        do {
            return try registry.page(
                of: room,
                since: query.since,
                limit: query.limit,
                isReverse: query.isReverse,
                at: now
            )
        } catch {
            throw .refused(error)
        }
    }

    /// The rooms that somebody is in, in the order of their names.
    private func channels(_ body: APIRequest) throws(APIFault) -> [(name: ByteString, clients: Int)] {
        let text = try body.string("pattern")
        let pattern: Glob
        do throws(HubError) { pattern = try Glob(text) } catch { throw .refused(error) }
        return registry.rooms.values
            .filter { !$0.members.isEmpty && pattern.matches($0.name) }
            .map { ($0.name, $0.members.count) }
            .sorted { $0.name < $1.name }
    }

    private func declareRooms(_ body: APIRequest, at now: Instant) throws(APIFault) {
        let app = try body.string("app")
        guard !app.isEmpty else { throw .refused(.badRequest, because: "app is missing, name the one that declares") }
        guard let node = body["rooms"] else {
            throw .refused(.badRequest, because: "rooms is missing, write \"rooms\": [ … ]")
        }
        let rules: [RoomRule]
        do throws(HubConfigurationError) {
            rules = try ConfigurationReader.read { $0.rooms(node, "rooms") }
        } catch {
            throw .refused(.badRequest, because: error.issues.map(\.description).joined(separator: "; "))
        }
        do throws(RoomRuleClash) {
            try registry.declare(rules, by: app, at: now)
        } catch {
            throw .refused(.conflict, because: error.description)
        }
    }

    // MARK: connections

    private func subscribe(_ body: APIRequest, at moment: Moment) throws(APIFault) {
        let subscription = try body.subscription()
        _ = try rule(for: subscription.channel)
        for session in try body.sessions(in: state.directory) {
            do throws(HubError) {
                try session.join(subscription, at: moment)
            } catch {
                throw .refused(error)
            }
        }
    }

    /// A connection hears of it whether it is in the room or not, as with the real server.
    private func unsubscribe(_ body: APIRequest) throws(APIFault) {
        let channel = try body.string("channel")
        if !channel.isEmpty { _ = try rule(for: channel) }
        for session in try body.sessions(in: state.directory) {
            session.removeSubscription(channel)
            session.push(channel, .unsubscribe(code: 2000, reason: "server unsubscribe"))
        }
    }

    private func disconnect(_ body: APIRequest) throws(APIFault) {
        var close = HubClose.forced
        if let wanted = try body.object("disconnect") {
            let code: UInt32? = try wanted.number("code")
            // 0 is as little sayable as what does not fit.
            close = HubClose(UInt16(exactly: code ?? 0) ?? 0, try wanted.string("reason"))
        }
        let spared = Set(try body.strings("whitelist"))
        for session in try body.sessions(in: state.directory) where !spared.contains(session.client) {
            session.end(close)
        }
    }

    private func refresh(_ body: APIRequest, at moment: Moment) throws(APIFault) {
        let isExpired = try body.flag("expired")
        let expiry: Int64? = try body.number("expire_at")
        for session in try body.sessions(in: state.directory) {
            if isExpired { session.end(.expired) } else { session.refresh(until: expiry ?? 0, at: moment) }
        }
    }
}

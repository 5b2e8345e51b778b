internal import RoomsRuntime
internal import RoomsWire

/// What a client does in a room, and asks about it.
extension HubSession {
    /// Names that a client gives are ASCII.
    func rule(for channel: ByteString) throws(HubError) -> RoomRule {
        guard let rule = registry.rule(for: channel) else { throw .unknownChannel }
        guard Self.isASCII(channel) else { throw .badRequest }
        return rule
    }

    func publish(_ id: UInt32, _ channel: ByteString, _ data: [UInt8], at moment: Moment) {
        guard !channel.isEmpty else { return end(.badRequest) }
        do throws(HubError) {
            let rule = try rule(for: channel)
            guard rule.membersMay.contains(.publish), let subscription = subscriptions[channel] else {
                throw HubError.permissionDenied
            }
            guard !data.isEmpty else { throw HubError.badRequest }
            let publication = Publication(data: Payload(data), info: author(subscription.info))
            _ = try registry.publish(publication, in: channel, at: moment.instant)
            reply(id, .publish)
        } catch {
            reply(id, .error(error.reply))
        }
    }

    func history(_ id: UInt32, _ request: HistoryRequest, at moment: Moment) {
        guard !request.channel.isEmpty else { return end(.badRequest) }
        do throws(HubError) {
            let rule = try rule(for: request.channel)
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

    /// `describe` says what is known of who is in the room.
    func answerPresence(_ id: UInt32, _ channel: ByteString, _ describe: (Room) -> ReplyBody) {
        guard !channel.isEmpty else { return end(.badRequest) }
        do throws(HubError) {
            let rule = try rule(for: channel)
            guard rule.presence else { throw HubError.notAvailable }
            guard rule.membersMay.contains(.presence), let subscription = subscriptions[channel] else {
                throw HubError.permissionDenied
            }
            reply(id, describe(subscription.room))
        } catch {
            reply(id, .error(error.reply))
        }
    }
}

package import RoomsRuntime
package import RoomsWire

/// All rooms of the hub: which rule a name falls under, what was published, who hears it.
///
/// Belongs to one loop. No I/O: sessions gather what they have to say themselves.
package final class RoomRegistry {
    private var rules: RoomRules
    private let makeEpoch: () -> ByteString
    private(set) var rooms: [ByteString: Room] = [:]
    /// What came of publications that may be sent again by mistake.
    private var outcomes = PublicationOutcomes()
    /// How long an empty room without members keeps its epoch and its offset.
    package static let streamKeep = Duration.seconds(86_400)

    package init(rules: RoomRules, makeEpoch: @escaping () -> ByteString = RoomRegistry.randomEpoch) {
        self.rules = rules
        self.makeEpoch = makeEpoch
    }

    /// Eight random letters.
    package static func randomEpoch() -> ByteString {
        let letters = Array("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ".utf8)
        var generator = SystemRandomNumberGenerator()
        return ByteString((0..<8).map { _ in letters[Int.random(in: letters.indices, using: &generator)] })
    }

    func rule(for name: ByteString) -> RoomRule? {
        rooms[name]?.rule ?? rules.rule(for: name)
    }

    /// Puts `new` in place of what `app` declared before; rooms that are there already follow their new rule.
    ///
    /// A room that no rule fits any more goes on as it was until it is empty.
    func declare(_ new: [RoomRule], by app: ByteString, at now: Instant) throws(RoomRuleClash) {
        guard try rules.declare(new, by: app) else { return }
        for room in rooms.values {
            guard let rule = rules.rule(for: room.name) else {
                if room.members.isEmpty { rooms[room.name] = nil }
                continue
            }
            room.rule = rule
            room.history?.resize(to: rule.history, keep: rule.keep, at: now)
            if rule.history == 0, room.history != nil {
                room.history = nil
                for membership in room.members where membership.terms.isPositioned {
                    membership.member.losePosition(in: room.name)
                }
            }
            dropIfIdle(room)
        }
    }

    /// The rooms whose rules name them and let anybody in, in the order of their names.
    var publicNames: [ByteString] {
        Set(rules.all.compactMap(\.pattern.name)).filter { rules.rule(for: $0)?.isPublic == true }.sorted()
    }

    /// The room of that name, made when a rule has it; nil without one.
    func room(_ name: ByteString) -> Room? {
        if let room = rooms[name] { return room }
        guard let rule = rule(for: name) else { return nil }
        let room = Room(name: name, rule: rule)
        rooms[name] = room
        return room
    }

    /// The stream of the room as it is now, made with a fresh epoch when it has none.
    func stream(of room: Room, at now: Instant) -> History {
        if var history = room.history {
            history.expire(at: now)
            room.history?.expire(at: now)
            return history
        }
        let history = History(size: room.rule.history, keep: room.rule.keep, epoch: makeEpoch())
        room.history = history
        return history
    }

    /// A part of what the room keeps, and its position.
    func page(
        of room: Room,
        since: StreamPosition?,
        limit: Int,
        isReverse: Bool,
        at now: Instant
    ) throws(HubError) -> HistoryResult {
        let stream = stream(of: room, at: now)
        if let since, !since.epoch.isEmpty, since.epoch != stream.epoch { throw .unrecoverablePosition }
        var result = HistoryResult()
        result.publications = stream.page(since: since?.offset, limit: limit, isReverse: isReverse)
        result.epoch = stream.epoch
        result.offset = stream.top
        return result
    }

    /// Keeps the publication and tells the members; the position it got, nil where the room keeps nothing.
    ///
    /// A second one with the same `key` within five minutes is not published and gets the position of the first.
    package func publish(
        _ publication: Publication,
        in name: ByteString,
        isKept: Bool = true,
        key: ByteString = .empty,
        at now: Instant
    ) throws(HubError) -> StreamPosition? {
        if !key.isEmpty, let position = outcomes.position(of: key, in: name, at: now) { return position }
        guard let room = room(name) else { throw .unknownChannel }
        var publication = publication
        var position: StreamPosition?
        if room.rule.history > 0, isKept {
            if room.history == nil { _ = stream(of: room, at: now) }
            room.history?.append(&publication, at: now)
            position = room.history?.position
        }
        tell(room, publication, position)
        if room.history == nil { dropIfIdle(room) }
        if !key.isEmpty { outcomes.add(position, of: key, in: name, at: now) }
        return position
    }

    private func tell(_ room: Room, _ publication: Publication, _ position: StreamPosition?) {
        guard !room.members.isEmpty || room.faults != nil else { return }
        var publication = publication
        if let position, position.offset == 1 { publication.epoch = position.epoch }
        var broadcast = Broadcast(Push(channel: room.name, .publication(publication)))
        if let faults = room.faults { return push(&broadcast, in: room, faults) }
        for membership in room.members { membership.member.deliver(&broadcast) }
    }

    /// Tells those who want to know that somebody came or went.
    private func announce(_ body: PushBody, in room: Room) {
        var broadcast = Broadcast(Push(channel: room.name, body))
        for membership in room.members where membership.terms.hearsOthers { membership.member.deliver(&broadcast) }
    }

    /// Empties the streams and forgets the outcomes and rooms whose time has come; how many things it let go.
    @discardableResult
    func sweep(at now: Instant) -> Int {
        var count = outcomes.expire(at: now)
        for room in rooms.values {
            let kept = room.history?.count ?? 0
            room.history?.expire(at: now)
            count += kept - (room.history?.count ?? 0)
            dropIfIdle(room)
            guard room.members.isEmpty, room.history?.count == 0 else {
                room.idleSince = nil
                continue
            }
            if let since = room.idleSince, now >= since + Self.streamKeep {
                rooms[room.name] = nil
                count += 1
            } else if room.idleSince == nil {
                room.idleSince = now
            }
        }
        return count
    }

    /// From here on the member hears what happens in the room, first of all that it came.
    func join(_ room: Room, _ membership: Membership) {
        room.add(membership)
        if membership.terms.isAnnounced { announce(.join(membership.info), in: room) }
    }

    func leave(_ room: Room, _ member: any RoomMember) {
        guard let membership = room.remove(member) else { return }
        if room.faults != nil { room.forgetMisplaced(member) }
        if membership.terms.isAnnounced { announce(.leave(membership.info), in: room) }
        dropIfIdle(room)
        if room.members.isEmpty, rooms[room.name] != nil, rules.rule(for: room.name) == nil { rooms[room.name] = nil }
    }

    /// A room with a stream stays for `streamKeep`, so that its epoch does.
    func dropIfIdle(_ room: Room) {
        if room.history == nil, room.members.isEmpty, room.faults == nil { rooms[room.name] = nil }
    }
}

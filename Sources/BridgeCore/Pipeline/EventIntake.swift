internal import BridgeModel
internal import Rooms
internal import RoomsRuntime
internal import RoomsWire

/// Turns what one server's connection reports into records for the store.
///
/// Works on the rooms loop and never holds anything back: what it is given is in the store's inbox when `take` returns.
final class EventIntake: EventSink {
    /// A room as the store and the routes know it; parallel to the connection's specifications.
    struct Room: Sendable {
        var id: RoomID
        var name: ByteString
        var routes: RoomRoutes
        /// All that get anything of it.
        var endpoints: [EndpointID] = []
        /// Nothing of it was ever committed: where it begins has to be.
        var isFresh: Bool
    }

    private struct State: Sendable {
        var isAdmitted = true
        var needsBaseline: [Bool]
        var isJoined: [Bool]
        var attendance: RoomAttendance
        /// Since the process began: the first time is worth a line.
        var wasJoined: [Bool]
        var isConnected = false
    }

    private let rooms: [Room]
    private let routes: [RouteID]
    private let append: @Sendable ([AppendRecord]) -> Bool
    private let changed: @Sendable () -> Void
    private let wallClock: @Sendable () -> Int64
    private let logger: Logger
    private let state: Lock<State>
    /// What the connection said of itself and its rooms.
    private let news = Lock(ConnectionNews())

    /// `routes` are parallel to those of the plan; `changed` is called when `summary` may have.
    init(
        rooms: [Room],
        routes: [RouteID],
        logger: Logger,
        wallClock: @escaping @Sendable () -> Int64 = { SystemClock.wallMilliseconds },
        append: @escaping @Sendable ([AppendRecord]) -> Bool,
        changed: @escaping @Sendable () -> Void = {}
    ) {
        self.rooms = rooms
        self.routes = routes
        self.logger = logger
        self.wallClock = wallClock
        self.append = append
        self.changed = changed
        let none = rooms.map { _ in false }
        state = Lock(
            State(
                needsBaseline: rooms.map(\.isFresh),
                isJoined: none,
                attendance: RoomAttendance(endpoints: rooms.map(\.endpoints)),
                wasJoined: none
            )
        )
    }

    /// Whether the store has room; said before the connection is told to go on.
    func admit(_ isAdmitted: Bool) {
        state.withLock { $0.isAdmitted = isAdmitted }
    }

    /// Which rooms are to be left for now, or joined again, since an endpoint holds too much of the buffer or does not any
    /// more.
    func endpoint(_ endpoint: EndpointID, isCrowded: Bool) -> [RoomAttendance.Change] {
        let changes = state.withLock { state in
            let changes = state.attendance.endpoint(endpoint, isCrowded: isCrowded)
            for change in changes where change.isResting { state.isJoined[change.room] = false }
            return changes
        }
        if !changes.isEmpty { changed() }
        return changes
    }

    struct Summary: Equatable, Sendable {
        var joined: Int
        var rooms: Int
        var isConnected: Bool
    }

    var summary: Summary {
        state.withLock {
            Summary(joined: $0.isJoined.count { $0 }, rooms: rooms.count, isConnected: $0.isConnected)
        }
    }

    /// For the status.
    struct Report: Sendable {
        var connection: ConnectionStatus
        /// Since when it is connected or is not, and when that changed last; milliseconds since 1970.
        var since: Int64
        var changedAt: Int64
        var rooms: Int
        var joined: Int
        var left: Int
        var troubles: [(room: ByteString, code: UInt32, reason: ByteString)]
    }

    var report: Report {
        let (summary, news) = (summary, news.withLock { $0 })
        let left = state.withLock { state in rooms.indices.count { state.attendance.isResting($0) } }
        return Report(
            connection: news.status,
            since: news.since,
            changedAt: news.changedAt,
            rooms: summary.rooms,
            joined: summary.joined,
            left: left,
            troubles: news.troubles.sorted { $0.key < $1.key }.map { (rooms[$0].name, $1.code, $1.reason) }
        )
    }

    private func note(_ items: [SinkItem]) {
        let wall = wallClock()
        news.withLock { news in for item in items { news.note(item, wall) } }
    }

    func take(_ items: [SinkItem]) -> Intake {
        var records: [AppendRecord] = []
        records.reserveCapacity(items.count)
        var hasChanged = false
        for item in items {
            switch item {
            case .event(let room, let publication, let position, let isReplayed):
                records.append(record(rooms[room], publication, position, isReplayed))
            case .gap(let room, let gap, let position):
                records.append(record(rooms[room], gap, position))
            case .joined(let room, let position, _):
                if let record = joined(room, position) { records.append(record) }
                tell(.state, of: room, in: &records) { RoomNotice.joined }
                hasChanged = true
            case .failed(let room, let code, let reason):
                failed(room)
                tell(.state, of: room, in: &records) { RoomNotice.failed(code, reason) }
                hasChanged = true
            case .member(let room, let info, let isHere, let isOurs) where !isOurs:
                tell(.member, of: room, in: &records) { RoomNotice.member(info, isHere: isHere) }
            case .count(let room, let users):
                tell(.count, of: room, in: &records) { RoomNotice.count(users) }
            case .connection(let status):
                connectionChanged(status)
                if case .waiting(let code, let reason, _, isTerminal: true) = status {
                    for room in rooms.indices {
                        tell(.state, of: room, in: &records) { RoomNotice.failed(code, reason) }
                    }
                }
                hasChanged = true
            // Our own coming and going is no news, the rest nothing that is kept.
            case .delayed, .member, .answer: break
            }
        }
        let hasRoom = records.isEmpty || append(records)
        if hasChanged {
            note(items)
            changed()
        }
        // The store calls `admit` before it lets the connection go on, so an old answer cannot stop it for good.
        return hasRoom && state.withLock({ $0.isAdmitted }) ? .open : .paused
    }

    // MARK: records

    private func record(
        _ room: Room,
        _ publication: Publication,
        _ position: RoomPosition?,
        _ isReplayed: Bool
    ) -> AppendRecord {
        let tags = publication.tags
        let envelope = publication.data.withBytes { bytes in
            EventEnvelope.read(
                payload: bytes,
                tagEvent: tags.first { $0.key == "event" }?.value,
                tagAt: tags.first { $0.key == "at" }?.value
            )
        }
        let shape: PayloadShape =
            switch envelope.content {
            case .json(let range): .json(range)
            case .sealed(let range): .sealed(range)
            case .binary: .binary
            }
        let event = EventRecord(
            payload: publication.data,
            epoch: position?.epoch ?? .empty,
            offset: position?.offset ?? 0,
            incarnation: position?.incarnation ?? 0,
            shape: shape,
            name: envelope.name,
            from: publication.info?.user,
            at: envelope.at ?? wallClock(),
            isReplayed: isReplayed,
            tags: tags.isEmpty ? nil : Self.object(tags)
        )
        return AppendRecord(
            room: room.id,
            body: .event(event),
            position: position.map(Position.init),
            route: room.routes.route(of: envelope.name).map { routes[$0] }
        )
    }

    private func record(_ room: Room, _ gap: RoomGap, _ position: RoomPosition) -> AppendRecord {
        AppendRecord(
            room: room.id,
            body: .gap(Gap(gap), at: wallClock()),
            position: Position(position),
            route: room.routes.all.map { routes[$0] }
        )
    }

    /// Where anybody asks for it.
    private func tell(
        _ kind: RoomNotice.Kind,
        of index: Int,
        in records: inout [AppendRecord],
        _ text: () -> [UInt8]
    ) {
        let room = rooms[index]
        guard let route = room.routes.notices[kind] else { return }
        let notice = RoomNotice(kind: kind, text: Payload(text()), at: wallClock())
        records.append(AppendRecord(room: room.id, body: .notice(notice), position: nil, route: routes[route]))
    }

    private static func object(_ tags: [Tag]) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            for tag in tags {
                writer.key(tag.key)
                writer.string(tag.value)
            }
        }
        return writer.bytes
    }

    // MARK: changes (the connection itself logs its troubles and those of its rooms)

    /// The record that fixes where a fresh room begins.
    private func joined(_ index: Int, _ position: RoomPosition?) -> AppendRecord? {
        let (isFirst, needsBaseline) = state.withLock { state in
            defer {
                // One that begins is joined all the same, and left at once.
                state.isJoined[index] = !state.attendance.isResting(index)
                state.wasJoined[index] = true
                if position != nil { state.needsBaseline[index] = false }
            }
            return (!state.wasJoined[index], state.needsBaseline[index])
        }
        if isFirst { logJoined(rooms[index], position) }
        guard needsBaseline, let position else { return nil }
        return AppendRecord(room: rooms[index].id, body: .baseline, position: Position(position), route: nil)
    }

    /// The session warns of a room that the server keeps nothing of.
    private func logJoined(_ room: Room, _ position: RoomPosition?) {
        guard let position else { return logger.notice("room joined", LogField(.room, room.name)) }
        logger.notice(
            "room joined",
            LogField(.room, room.name),
            LogField(.epoch, position.epoch),
            LogField(.offset, position.offset)
        )
    }

    private func failed(_ index: Int) {
        state.withLock { $0.isJoined[index] = false }
    }

    private func connectionChanged(_ status: ConnectionStatus) {
        state.withLock { state in
            state.isConnected = status == .connected
            if !state.isConnected { state.isJoined = state.isJoined.map { _ in false } }
        }
    }
}

extension Position {
    init(_ position: RoomPosition) {
        self.init(epoch: position.epoch, offset: position.offset, incarnation: position.incarnation)
    }
}

extension RoomPosition {
    init(_ position: Position) {
        self.init(epoch: position.epoch, offset: position.offset, incarnation: position.incarnation)
    }
}

extension Gap {
    init(_ gap: RoomGap) {
        let reason: GapReason =
            switch gap.reason {
            case .trimmed: .trimmed
            case .epochChanged: .epochChanged
            case .wentBack: .wentBack
            case .notPermitted: .notPermitted
            case .tooLarge: .tooLarge
            case .invalidated: .invalidated
            case .filtered: .filtered
            case .retention: .retention
            case .damaged: .damaged
            }
        self.init(reason: reason, epoch: gap.epoch, from: gap.from, to: gap.to, incarnation: gap.incarnation)
    }
}

package import RoomsRuntime
package import RoomsTransport
package import RoomsWire

/// Where a pool hands what happens: called on its loop.
package protocol PoolSink: AnyObject {
    /// `room` in the items is the pool's number; connections are told apart in `connectionChanged`.
    func take(_ items: [SinkItem]) -> Intake
    /// What became of the connection that holds `rooms`.
    func connectionChanged(_ status: ConnectionStatus, rooms: [Int])
}

/// Rooms spread over as many connections as they need: up to `roomsPerConnection` on each, in the order in which they
/// came, so that a restart finds the same rooms together.
///
/// A room that a connection has no place for (error 106) goes to another one; a user who may have fewer connections
/// (close 3504) gets more rooms on each, up to what servers allow. What no connection takes has failed, and is tried
/// again after a long pause. On its loop's thread.
package final class ConnectionPool {
    /// A server's own limit, unless it was changed.
    private static let mostRooms = 128

    private struct Entry {
        var specification: RoomSpecification
        var position: RoomPosition?
        var isAnchored = false
        /// Nil: nowhere, until there is a place.
        var place: (member: Int, room: Int)?
    }

    private let transport: TransportLoop
    private let options: ConnectionOptions
    private let logger: Logger
    private weak var sink: (any PoolSink)?
    private var roomsPerConnection: Int
    /// How many connections the server lets this user have; learnt when one too many is refused.
    private var mostConnections = Int.max
    /// Rooms that are nowhere are tried again then.
    private var retry: TimerID?
    /// One connection more than was last allowed is being tried.
    private var isTrying = false

    private var entries: [Entry?] = []
    private var freeEntries: [Int] = []
    /// By their numbers.
    private var members: [Int: PoolMember] = [:]
    /// The numbers of all connections, in their order.
    private var numbers: [Int] = []
    /// Connections with lower numbers are full.
    private var firstOpen = 0
    private var isStopped = false

    package init(
        transport: TransportLoop,
        options: ConnectionOptions,
        roomsPerConnection: Int = 100,
        sink: any PoolSink,
        logger: Logger
    ) {
        self.transport = transport
        self.options = options
        self.roomsPerConnection = max(1, roomsPerConnection)
        self.sink = sink
        self.logger = logger
    }

    // MARK: rooms

    /// The room's number, in the items and for `remove`; the name must not be in the pool already.
    package func add(_ specification: RoomSpecification) -> Int {
        let room = freeEntries.popLast() ?? entries.count
        let entry = Entry(specification: specification)
        if room == entries.count { entries.append(entry) } else { entries[room] = entry }
        if !place(room, besides: nil) {
            // Later: who adds it does not know its number yet.
            transport.loop.schedule(after: .zero) { [weak self] in self?.reportHomeless(room) }
        }
        return room
    }

    package func remove(_ room: Int) {
        guard let entry = entries[room] else { return }
        entries[room] = nil
        freeEntries.append(room)
        if let place = entry.place, let member = members[place.member] {
            member.remove(place.room)
            firstOpen = min(firstOpen, place.member)
            if member.count == 0 { retireEmpty() }
        }
    }

    /// The answer comes as an item of that number; at once and empty where the room is on no connection.
    package func ask(_ request: Request, in room: Int, number: UInt64) {
        guard let place = entries[room]?.place, let member = members[place.member] else {
            _ = sink?.take([.answer(number, nil)])
            return
        }
        member.driver.ask(AppRequest(number: number, request: request))
    }

    package func tokensArrived() {
        for member in members.values { member.driver.tokensArrived() }
    }

    /// Closes every connection and makes it anew at once: they were made for somebody else.
    package func reconnect() {
        for member in members.values { member.driver.reconnect() }
    }

    package func resumeIntake() {
        for member in members.values { member.driver.resumeIntake() }
    }

    package func stop(_ done: @escaping () -> Void) {
        isStopped = true
        var open = members.count
        guard open > 0 else { return done() }
        for member in members.values {
            member.driver.stop {
                open -= 1
                if open == 0 { done() }
            }
        }
    }

    /// Our own id on the connection that holds the room; empty while there is none.
    package func client(of room: Int) -> ByteString {
        entries[room]?.place.flatMap { members[$0.member]?.driver.client } ?? .empty
    }

    package var connectionCount: Int { members.count }

    // MARK: places

    /// False when no connection can take it.
    private func place(_ room: Int, besides old: Int?) -> Bool {
        guard let number = openMember(besides: old) ?? newMember(), let member = members[number],
            let entry = entries[room]
        else {
            entries[room]?.place = nil
            return false
        }
        var specification = entry.specification
        if let position = entry.position, entry.isAnchored { specification.start = .resume(position) }
        entries[room]?.place = (number, member.add(specification, as: room))
        return true
    }

    private func openMember(besides old: Int?) -> Int? {
        for number in numbers where number >= firstOpen && number != old {
            guard let member = members[number], member.count < member.limit(roomsPerConnection) else { continue }
            if old == nil { firstOpen = number }
            return number
        }
        return nil
    }

    private func newMember() -> Int? {
        guard members.count < mostConnections else { return nil }
        let number = (0...members.count).first { members[$0] == nil } ?? members.count
        let member = PoolMember(transport: transport, options: options, number: number, logger: logger) {
            [weak self] in self?.took($0, from: number) ?? .open
        }
        members[number] = member
        numbers = members.keys.sorted()
        firstOpen = min(firstOpen, number)
        member.driver.start()
        return number
    }

    /// The first connection stays, so that joining and leaving one room does not dial each time; but not one that is
    /// between two attempts, since the next room is to be tried at once.
    private func retireEmpty() {
        for (number, member) in members where member.count == 0 && (number > 0 || member.driver.isWaiting) {
            members[number] = nil
            member.driver.stop {}
        }
        numbers = members.keys.sorted()
    }

    // MARK: what connections say

    private func took(_ items: [SinkItem], from number: Int) -> Intake {
        guard let member = members[number], let sink else { return .open }
        var mine: [SinkItem] = []
        mine.reserveCapacity(items.count)
        var intake = Intake.open
        for item in items {
            if case .connection(let status) = item {
                // What came before the change is told before it.
                if !mine.isEmpty, sink.take(mine) == .paused { intake = .paused }
                mine.removeAll(keepingCapacity: true)
                changed(status, number)
            } else if let translated = translate(item, member) {
                mine.append(translated)
            }
        }
        if !mine.isEmpty, sink.take(mine) == .paused { intake = .paused }
        return intake
    }

    private func translate(_ item: SinkItem, _ member: PoolMember) -> SinkItem? {
        switch item {
        case .event(let local, let publication, let position, let isReplayed):
            guard let room = member.rooms[local] else { return nil }
            if let position { entries[room]?.position = position }
            return .event(room: room, publication, position: position, isReplayed: isReplayed)
        case .gap(let local, let gap, let position):
            guard let room = member.rooms[local] else { return nil }
            entries[room]?.position = position
            return .gap(room: room, gap, position: position)
        case .joined(let local, let position, let isDurable):
            guard let room = member.rooms[local] else { return nil }
            entries[room]?.position = position
            entries[room]?.isAnchored = position != nil
            return .joined(room: room, position: position, isDurable: isDurable)
        case .member(let local, let info, let isHere, let isOurs):
            return member.rooms[local].map { .member(room: $0, info, isHere: isHere, isOurs: isOurs) }
        case .count(let local, let users):
            return member.rooms[local].map { .count(room: $0, users: users) }
        case .failed(let local, let code, let reason):
            guard let room = member.rooms[local] else { return nil }
            if code == 106, move(room, local, from: member) { return nil }
            return .failed(room: room, code: code, reason: reason)
        case .delayed(let local, let code, let reason):
            return member.rooms[local].map { .delayed(room: $0, code: code, reason: reason) }
        case .answer, .connection: return item
        }
    }

    /// The connection has no place for the room: another one may have, unless this one holds nothing else.
    ///
    /// Each refusal lowers what a connection is known to hold, so the search ends.
    private func move(_ room: Int, _ local: Int, from member: PoolMember) -> Bool {
        guard member.refuse(local) else { return false }
        // Later: the machine that said so is in the middle of its turn.
        transport.loop.schedule(after: .zero) { [weak self] in
            guard let self, let place = entries[room]?.place, place == (member.number, local) else { return }
            member.remove(local)
            firstOpen = min(firstOpen, member.number)
            if !self.place(room, besides: member.number) { reportHomeless(room, code: 106, "limit exceeded") }
        }
        return true
    }

    private func changed(_ status: ConnectionStatus, _ number: Int) {
        guard let member = members[number] else { return }
        if case .waiting(UInt32(CloseCode.connectionLimit), _, _, _) = status, members.count > 1, !isStopped {
            transport.loop.schedule(after: .zero) { [weak self] in self?.give(up: number) }
            return
        }
        sink?.connectionChanged(status, rooms: member.rooms.values.sorted())
        guard status == .connected, isTrying else { return }
        transport.loop.schedule(after: .zero) { [weak self] in self?.tryMore() }
    }

    /// The user has one connection too many: its rooms go to the others, more on each.
    private func give(up number: Int) {
        guard let member = members.removeValue(forKey: number) else { return }
        numbers = members.keys.sorted()
        firstOpen = 0
        mostConnections = members.count
        isTrying = false
        member.driver.stop {}
        let total = entries.count { $0 != nil }
        roomsPerConnection = max(roomsPerConnection, min(Self.mostRooms, (total + members.count - 1) / members.count))
        logger.warning(
            "the server allows this user fewer connections: more rooms on each",
            LogField(.count, members.count)
        )
        for room in member.rooms.values.sorted() where !place(room, besides: nil) { reportHomeless(room) }
    }

    // MARK: rooms that are nowhere

    private func reportHomeless(
        _ room: Int,
        code: UInt32 = UInt32(CloseCode.connectionLimit),
        _ reason: ByteString = "the server allows this user no connection for it"
    ) {
        guard let entry = entries[room], entry.place == nil else { return }
        _ = sink?.take([.failed(room: room, code: code, reason: reason)])
        retryLater()
    }

    private func retryLater() {
        guard retry == nil, !isStopped else { return }
        retry = transport.loop.schedule(after: options.policy.slowRetry) { [weak self] in
            self?.retry = nil
            self?.tryMore()
        }
    }

    /// The server may have counted a connection that was over already, or its limit is another one now.
    private func tryMore() {
        guard !isStopped, let first = entries.firstIndex(where: { $0 != nil && $0?.place == nil }) else {
            isTrying = false
            return
        }
        isTrying = true
        if mostConnections < .max { mostConnections += 1 }
        for room in entries.indices[first...] where entries[room] != nil && entries[room]?.place == nil {
            guard place(room, besides: nil) else { return retryLater() }
        }
    }
}

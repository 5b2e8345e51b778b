internal import RoomsRuntime
internal import RoomsTransport
internal import RoomsWire

/// What the public objects hold: the way onto the loop, and the rooms by name.
final class RealtimeHandle: Sendable {
    private enum End: Sendable {
        case none
        /// With those who wait for it.
        case underway([CheckedContinuation<Void, Never>])
        case over
    }

    private struct State: Sendable {
        var rooms: [ByteString: Room] = [:]
        /// Nothing is joined any more.
        var isOver = false
        var end = End.none
        var lastRequest: UInt64 = 0
    }

    private let transport: TransportLoop
    private let core: LoopBound<RealtimeCore>
    private let reader: EventReader
    private let budget: DeliveryBudget
    private let state = Lock(State())
    private let log: LogQueue?

    /// Servers close on a frame of more than 64 KiB, with all rooms of its connection; the command's own fields need some.
    private static let mostPublished = 65_000

    /// What a client needs at once: its loop and the log's, and a connection with what looks its address up.
    private static let descriptors = 12

    init(url: String, options: RealtimeOptions) throws(RoomError) {
        let settings = try RealtimeSettings(url: url, options: options)
        guard ProcessSettings.hasDescriptors(Self.descriptors) else {
            throw RoomError(
                .unavailable,
                "this process has no descriptors left: a higher limit (ulimit -n) would be right"
            )
        }
        let transport = TransportLoop(name: "rooms-loop")
        self.transport = transport
        let reader = EventReader(settings)
        self.reader = reader
        log = options.log.map { LogQueue(sink: AppLogSink(write: $0)) }
        let logger = log.map { Logger(queue: $0, level: .debug) } ?? .off
        let core = LoopBound(
            RealtimeCore(settings, transport: transport, reader: reader, logger: logger),
            on: transport.loop
        )
        self.core = core
        budget = DeliveryBudget { transport.loop.post { core.value.deliveriesRelieved() } }
        transport.loop.start()
        let budget = budget
        transport.loop.post { core.value.start(budget) }
    }

    // MARK: rooms

    func join(_ name: String, after id: String?, _ handlers: (Room) -> Void) -> Room {
        let key = ByteString(name)
        let (room, isNew, isOver) = state.withLock { state in
            if let room = state.rooms[key] { return (room, false, false) }
            let room = Room(name: name, inbox: RoomInbox(name: key, reader: reader, budget: budget), core: self)
            if !state.isOver { state.rooms[key] = room }
            return (room, true, state.isOver)
        }
        handlers(room)
        guard isNew else { return room }
        if isOver { room.inbox.left() }
        let (core, inbox) = (core, room.inbox)
        do throws(RoomError) {
            // A server closes the connection on it, with all other rooms.
            guard !name.isEmpty else {
                throw RoomError(.badRequest, "a room has a name, such as order:1042")
            }
            let start = try Self.start(after: id)
            transport.loop.post { core.value.join(inbox, start) }
        } catch {
            inbox.failed(error)
        }
        return room
    }

    /// What is no position is not taken for none: events would be missing, and nobody would know.
    private static func start(after id: String?) throws(RoomError) -> RoomStart {
        guard let id, !id.isEmpty else { return .now }
        guard let position = RoomPosition(id: id) else { throw noID(id) }
        return .resume(position)
    }

    func room(_ name: ByteString) -> Room? {
        state.withLock { $0.rooms[name] }
    }

    func leave(_ room: Room) {
        let isIn = state.withLock { state in
            guard state.rooms[room.inbox.name] === room else { return false }
            state.rooms[room.inbox.name] = nil
            return true
        }
        guard isIn else { return }
        let (core, inbox) = (core, room.inbox)
        inbox.left()
        transport.loop.post { core.value.leave(inbox) }
    }

    // MARK: requests

    func history(of room: Room, before id: String?, limit: Int) async throws(RoomError) -> HistoryPage {
        var request = HistoryRequest()
        request.channel = room.inbox.name
        // One more than is wanted, to see whether there are older ones.
        request.limit = Int32(limit + 1)
        request.reverse = true
        if let id {
            guard let position = RoomPosition(id: id) else { throw Self.noID(id) }
            guard position.offset > 1 else { return HistoryPage(events: [], more: false) }
            request.since = StreamPosition(offset: position.offset, epoch: position.epoch)
        }
        let answer: ReplyBody
        do throws(RoomError) {
            answer = try await ask(.history(request), in: room)
        } catch {
            // The stream is another one now: what was before that event is gone.
            if error.protocolCode == 112 { return HistoryPage(events: [], more: false) }
            throw error
        }
        guard case .history(let page) = answer else {
            throw RoomError(.unavailable, "the server answered something else")
        }
        return self.page(page, of: room, before: request.since, limit)
    }

    /// Of what a server answers only that which belongs there, so that paging back goes back and ends.
    private func page(_ page: HistoryResult, of room: Room, before since: StreamPosition?, _ limit: Int) -> HistoryPage
    {
        let isSameStream = since.map { $0.epoch == page.epoch } ?? true
        var bound = since?.offset ?? .max
        var found: [Publication] = []
        for publication in page.publications where isSameStream && publication.offset > 0 && publication.offset < bound
        {
            found.append(publication)
            bound = publication.offset
        }
        let now = SystemClock.wallMilliseconds
        var events: [RoomEvent] = []
        for publication in found.prefix(limit).reversed() {
            let position = RoomPosition(epoch: page.epoch, offset: publication.offset)
            // What cannot be opened is told where it came as an event; a page leaves it out.
            guard let event = try? reader.read(publication, position, true, now, room.inbox.name) else { continue }
            events.append(event)
        }
        // Without an event there is no id to go on from: an app would begin anew.
        return HistoryPage(events: events, more: found.count > limit && !events.isEmpty)
    }

    private static func noID(_ id: String) -> RoomError {
        let shown = ByteString(Array(id.utf8.prefix(64)))
        return RoomError(.badRequest, "\(shown) is not the id of an event, the meta.id of one would be right")
    }

    func publish(_ event: String, _ data: JSONValue, in room: Room) async throws(RoomError) {
        var writer = JSONWriter()
        writer.object { writer in
            writer.key(literal: "event")
            writer.string(event)
            writer.key(literal: "data")
            writer.raw(data.json)
        }
        guard writer.bytes.count <= Self.mostPublished else {
            let size = "\(writer.bytes.count) bytes, at most \(Self.mostPublished) would be right"
            throw RoomError(.tooLarge, "what is published makes \(size)")
        }
        _ = try await ask(.publish(channel: room.inbox.name, data: writer.bytes), in: room)
    }

    private func ask(_ request: Request, in room: Room) async throws(RoomError) -> ReplyBody {
        let number = state.withLock { state in
            state.lastRequest += 1
            return state.lastRequest
        }
        let (core, inbox, loop) = (core, room.inbox, transport.loop)
        // The answer crosses threads under a lock: the thread sanitizer does not see what a continuation orders.
        let place = Lock<(waiter: CheckedContinuation<Void, Never>?, answer: ReplyBody?)>((nil, nil))
        await withCheckedContinuation { continuation in
            place.withLock { $0.waiter = continuation }
            let answer: @Sendable (ReplyBody?) -> Void = { body in
                let waiter = place.withLock { place in
                    defer { place.waiter = nil }
                    if place.waiter != nil { place.answer = body }
                    return place.waiter
                }
                waiter?.resume()
            }
            loop.post { core.value.ask(request, inbox, number, answer) }
            // The loop may have ended before it came to that.
            if state.withLock({ $0.isOver }) { answer(nil) }
        }
        switch place.withLock({ $0.answer }) {
        case nil where room.state == .left: throw RoomError.left
        case nil: throw RoomError(.unavailable, "the link to the server was lost before its answer")
        case .error(let error): throw RoomError(protocolCode: error.code, reason: error.message)
        case .some(let answer): return answer
        }
    }

    // MARK: end

    /// Who calls it while it is under way waits as well.
    func close() async {
        endRooms()
        await withCheckedContinuation { continuation in
            let (isFirst, isOver) = state.withLock { state in
                switch state.end {
                case .over: return (false, true)
                case .none: state.end = .underway([continuation])
                case .underway(let others):
                    state.end = .underway(others + [continuation])
                    return (false, false)
                }
                return (true, false)
            }
            if isOver { continuation.resume() }
            if isFirst { stop() }
        }
    }

    /// The same for one that nobody waits for.
    func shutDown() {
        endRooms()
        let isFirst = state.withLock { state in
            guard case .none = state.end else { return false }
            state.end = .underway([])
            return true
        }
        if isFirst { stop() }
    }

    private func stop() {
        let (core, loop, log) = (core, transport.loop, log)
        loop.post { [state] in
            core.value.stop {
                // What was said last is told before `close` returns.
                log?.close()
                loop.stop()
                let waiting = state.withLock { state in
                    defer { state.end = .over }
                    if case .underway(let waiting) = state.end { return waiting }
                    return []
                }
                for waiter in waiting { waiter.resume() }
            }
        }
        loop.detach()
    }

    private func endRooms() {
        let rooms = state.withLock { state in
            defer {
                state.rooms = [:]
                state.isOver = true
            }
            return state.rooms.values
        }
        for room in rooms { room.inbox.left() }
    }
}

extension RoomPosition {
    /// `<epoch>:<offset>`, as `EventMeta.id` has it.
    init?(id: String) {
        let bytes = ByteString(id).bytes
        guard let colon = bytes.lastIndex(of: UInt8(ascii: ":")), colon > 0,
            let offset = UInt64(String(decoding: bytes[(colon + 1)...], as: UTF8.self))
        else { return nil }
        self.init(epoch: ByteString(Array(bytes[..<colon])), offset: offset)
    }

    /// Empty while the server did not tell the stream's epoch.
    var id: String { epoch.isEmpty ? "" : "\(epoch.string):\(offset)" }
}

internal import RoomsRuntime
internal import RoomsWire

/// What the loop knows of a room and what waits for its handlers: filled on the loop, emptied by a task of the room that
/// lives as long as something waits.
final class RoomInbox: Sendable {
    struct Status: Sendable {
        var state = RoomState.joining
        /// Why it is not joined.
        var error: RoomError?
        /// What was last told while it is on its way in.
        var trouble: RoomError.Code?
        var members = MemberList()
        var skipped = 0
        var waiting: [UInt64: CheckedContinuation<Void, any Error>] = [:]
        var lastWaiting: UInt64 = 0
    }

    let name: ByteString
    let listeners = RoomListeners()
    let status = Lock(Status())
    private let reader: EventReader
    private let budget: DeliveryBudget
    private let queue = Lock(Queue())

    private struct Queue: Sendable {
        var waiting: [Delivery] = []
        /// Who goes on when a task that begins has handed on its first delivery.
        var waking: [CheckedContinuation<Void, any Error>] = []
        /// A task hands on what was taken from here.
        var isRunning = false
        var isOver = false
    }

    private enum Delivery: Sendable {
        case published(Publication, RoomPosition?, isReplayed: Bool, receivedAt: Int64)
        case own(RoomEvent, weight: Int)

        var bytes: Int {
            switch self {
            case .published(let publication, _, _, _): publication.weight
            case .own(_, let weight): weight
            }
        }
    }

    init(name: ByteString, reader: EventReader, budget: DeliveryBudget) {
        self.name = name
        self.reader = reader
        self.budget = budget
    }

    // MARK: from the loop

    func published(_ publication: Publication, _ position: RoomPosition?, isReplayed: Bool) {
        let now = SystemClock.wallMilliseconds
        put(.published(publication, position, isReplayed: isReplayed, receivedAt: now))
    }

    /// An event of the room itself; `position` is where it leaves the room, `weight` what it takes in memory, in bytes,
    /// `waiting` goes on when its handlers have heard it.
    func own(
        _ event: String,
        _ data: JSONValue,
        at position: RoomPosition? = nil,
        weight: Int = 512,
        waking waiting: [CheckedContinuation<Void, any Error>] = []
    ) {
        let now = SystemClock.wallMilliseconds
        let meta = EventMeta(from: nil, id: position?.id ?? "", at: now, replayed: false)
        put(.own(RoomEvent(event: event, data: data, meta: meta, bytes: []), weight: weight), waking: waiting)
    }

    func joined(at position: RoomPosition?) {
        let waiting: [CheckedContinuation<Void, any Error>]? = status.withLock { status in
            // The answer was on its way when the app left.
            guard status.state != .left else { return nil }
            status.state = .joined
            status.error = nil
            status.trouble = nil
            return Self.takeWaiting(&status)
        }
        guard let waiting else { return }
        own("joined", JSONValue([]), at: position, waking: waiting)
    }

    /// The link was lost, or a refusal is over: it is on its way in again; false when it was so before.
    @discardableResult
    func joining() -> Bool {
        status.withLock { status in
            guard status.state == .joined else { return false }
            status.state = .joining
            return true
        }
    }

    func failed(_ error: RoomError) {
        let waiting: [CheckedContinuation<Void, any Error>]? = status.withLock { status in
            guard status.state != .left else { return nil }
            status.state = .failed
            status.error = error
            return Self.takeWaiting(&status)
        }
        guard let waiting else { return }
        if error.code == .kicked {
            own("kicked", ["code": JSONValue(error.code.rawValue), "message": JSONValue(error.message)])
        } else {
            report(error)
        }
        for waiter in waiting { waiter.resume(throwing: error) }
    }

    /// Tells the app of an error that leaves the room's state as it is.
    func report(_ error: RoomError, _ details: [(String, JSONValue)] = [], at position: RoomPosition? = nil) {
        let members = [("code", JSONValue(error.code.rawValue)), ("message", JSONValue(error.message))] + details
        own("error", JSONValue(JSONObject(members.map { (key: $0.0, value: $0.1) })), at: position)
    }

    /// Tells the app, once until it is joined, why it is not yet.
    func reportTrouble(_ error: RoomError) {
        let isNew = status.withLock { status in
            guard status.state == .joining, status.trouble != error.code else { return false }
            status.trouble = error.code
            return true
        }
        if isNew { report(error) }
    }

    func left() {
        let waiting = status.withLock { status in
            status.state = .left
            status.members.removeAll()
            return Self.takeWaiting(&status)
        }
        for waiter in waiting { waiter.resume(throwing: RoomError.left) }
        listeners.end()
        let dropped = queue.withLock { queue in
            defer { queue.waiting = [] }
            queue.isOver = true
            return queue.waiting
        }
        for delivery in dropped { budget.release(delivery.bytes) }
    }

    /// Nothing waits for a handler that is not there, and nobody for handlers that are busy: they may be who waits.
    private func put(_ delivery: Delivery, waking waiting: [CheckedContinuation<Void, any Error>] = []) {
        guard !listeners.isEmpty else {
            for waiter in waiting { waiter.resume() }
            return
        }
        // The budget bounds what waits in all rooms together: reading stops, and nothing is dropped.
        budget.take(delivery.bytes)
        let (isOver, isIdle) = queue.withLock { queue in
            guard !queue.isOver else { return (true, false) }
            queue.waiting.append(delivery)
            defer { queue.isRunning = true }
            if !queue.isRunning { queue.waking = waiting }
            return (false, !queue.isRunning)
        }
        if isOver { budget.release(delivery.bytes) }
        guard isIdle else {
            for waiter in waiting { waiter.resume() }
            return
        }
        // Handlers are an app's own code, called one after another: a room has one task for it, while there is something
        // to do, since ten thousand of them that wait take more memory than everything else of their rooms.
        let run: @concurrent @Sendable () async -> Void = { await self.handOnAll() }
        _ = Task(operation: run)
    }

    private static func takeWaiting(_ status: inout Status) -> [CheckedContinuation<Void, any Error>] {
        defer { status.waiting = [:] }
        return Array(status.waiting.values)
    }

    // MARK: from anywhere

    func reportSlowConsumer(of event: String) {
        report(RoomError(.slowConsumer, "a sequence of \(event) is not read, its oldest events are dropped"))
    }

    func waitUntilJoined() async throws {
        let number = status.withLock { status in
            status.lastWaiting += 1
            return status.lastWaiting
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let outcome: Result<Void, any Error>? = status.withLock { status in
                    if Task.isCancelled { return .failure(CancellationError()) }
                    switch status.state {
                    case .joined: return .success(())
                    case .failed: return .failure(status.error ?? RoomError(.unavailable, ""))
                    case .left: return .failure(RoomError.left)
                    case .joining:
                        status.waiting[number] = continuation
                        return nil
                    }
                }
                if let outcome { continuation.resume(with: outcome) }
            }
        } onCancel: {
            let waiter = status.withLock { $0.waiting.removeValue(forKey: number) }
            waiter?.resume(throwing: CancellationError())
        }
    }

    // MARK: the room's task

    private func handOnAll() async {
        var waking = queue.withLock { queue in
            defer { queue.waking = [] }
            return queue.waking
        }
        while var batch = takeWaiting() {
            while let delivery = batch.popLast() {
                await Self.handOn(delivery, name, listeners, reader)
                budget.release(delivery.bytes)
                for waiter in waking { waiter.resume() }
                waking = []
            }
        }
        for waiter in waking { waiter.resume() }
    }

    /// The last one first; nil ends the task.
    private func takeWaiting() -> [Delivery]? {
        queue.withLock { queue in
            defer { queue.waiting = [] }
            queue.isRunning = !queue.waiting.isEmpty
            return queue.isRunning ? queue.waiting.reversed() : nil
        }
    }

    private static let ownNames: Set<ByteString> = ["joined", "join", "leave", "count", "error", "kicked"]

    private static func handOn(
        _ delivery: Delivery,
        _ room: ByteString,
        _ listeners: RoomListeners,
        _ reader: EventReader
    ) async {
        switch delivery {
        case .own(let event, _):
            await listeners.hand(event, as: ByteString(event.event), isPublished: false)
        case .published(let publication, let position, let isReplayed, let receivedAt):
            do throws(RoomError) {
                let event = try reader.read(publication, position, isReplayed, receivedAt, room)
                let name = ByteString(event.event)
                // Nobody but the client itself sends the room's own events.
                let heard = ownNames.contains(name) ? "message" : name
                await listeners.hand(event, as: heard, isPublished: true)
            } catch {
                let meta = reader.meta(of: publication, position, isReplayed, receivedAt)
                let data: JSONValue = ["code": JSONValue(error.code.rawValue), "message": JSONValue(error.message)]
                let event = RoomEvent(event: "error", data: data, meta: meta, bytes: [])
                await listeners.hand(event, as: "error", isPublished: false)
            }
        }
    }
}

/// How many bytes of events wait for handlers, in all rooms of a client: beyond the limit nothing more is read.
final class DeliveryBudget: Sendable {
    private static let most = 16 << 20
    private let state = Lock((bytes: 0, isFull: false))
    private let whenRelieved: @Sendable () -> Void

    init(whenRelieved: @escaping @Sendable () -> Void) {
        self.whenRelieved = whenRelieved
    }

    func take(_ bytes: Int) {
        state.withLock { $0.bytes += bytes }
    }

    /// False beyond the limit; `whenRelieved` is called when half of it is free again.
    func admits() -> Bool {
        state.withLock { state in
            if state.bytes > Self.most { state.isFull = true }
            return !state.isFull
        }
    }

    func release(_ bytes: Int) {
        let isRelieved = state.withLock { state in
            state.bytes -= bytes
            guard state.isFull, state.bytes < Self.most / 2 else { return false }
            state.isFull = false
            return true
        }
        if isRelieved { whenRelieved() }
    }
}

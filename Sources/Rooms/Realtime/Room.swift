internal import RoomsRuntime
internal import RoomsWire

/// One room that an app is in, or on its way into.
///
/// May be used from any thread. Its handlers are called one at a time, in the order of the events, where they were
/// registered: a closure of a main actor class runs on the main actor.
public final class Room: Sendable {
    /// The room's name, such as `order:1042`.
    public let name: String
    let inbox: RoomInbox
    private let core: RealtimeHandle

    init(name: String, inbox: RoomInbox, core: RealtimeHandle) {
        self.name = name
        self.inbox = inbox
        self.core = core
    }

    /// Where the room stands now.
    public var state: RoomState { inbox.status.withLock { $0.state } }

    /// Waits until the room is joined, and the handlers of `joined` have heard of it.
    ///
    /// Where handlers are busy with what came before, it does not wait for them.
    /// Throws its `RoomError` when it is refused or left, and `CancellationError` when the task is cancelled.
    public func ready() async throws {
        try await inbox.waitUntilJoined()
    }

    /// Leaves the room: nothing of it is handed to any handler from then on.
    ///
    /// A handler on the actor that leaves is not even called when its turn has come already; a call that is under way
    /// elsewhere ends by itself.
    public func leave() {
        core.leave(self)
    }

    // MARK: events

    /// Calls `handler` for each event of that name.
    ///
    /// `joined`, `join`, `leave`, `count`, `error` and `kicked` are the room's own: a publication of such a name is not
    /// among them, but under `message`.
    @discardableResult
    public func on(
        _ event: String,
        @_inheritActorContext @_implicitSelfCapture _ handler:
            @escaping @isolated(any) @Sendable (_ data: JSONValue, _ meta: EventMeta) async -> Void
    ) -> Listener {
        inbox.listeners.add(.named(ByteString(event)), on: handler.isolation) { event in
            await handler(event.data, event.meta)
        }
    }

    /// Calls `handler` for each event that was published in the room, whatever its name.
    ///
    /// Not for the room's own events, so that nobody can make one up.
    @discardableResult
    public func onAny(
        @_inheritActorContext @_implicitSelfCapture _ handler:
            @escaping @isolated(any) @Sendable (_ event: String, _ data: JSONValue, _ meta: EventMeta) async -> Void
    ) -> Listener {
        inbox.listeners.add(.all, on: handler.isolation) { event in
            await handler(event.event, event.data, event.meta)
        }
    }

    /// Takes a handler away; a call that is under way ends by itself, and one that waits for this actor is not made.
    public func off(_ listener: Listener) {
        inbox.listeners.remove(listener)
    }

    /// The events of that name as a sequence, which ends with its task, or when the room is left.
    ///
    /// Up to 1,024 wait for a consumer that is slower; beyond that the oldest are dropped, and the room's `error` says
    /// `slow_consumer` once until it has caught up.
    public func events(_ event: String) -> AsyncStream<(JSONValue, EventMeta)> {
        sequence(.named(ByteString(event))) { ($0.data, $0.meta) }
    }

    /// Every event that was published in the room, whatever its name, with its exact bytes; bounded as `events(_:)` is.
    public func events() -> AsyncStream<RoomEvent> {
        sequence(.all) { $0 }
    }

    /// The events of that name, each decoded into `type`; one that does not decode is skipped and counted in `skipped`.
    public func events<Value: Decodable & Sendable>(
        _ event: String,
        as type: Value.Type
    ) -> AsyncStream<(Value, EventMeta)> {
        sequence(.named(ByteString(event))) { [inbox] event in
            do {
                return (try event.data.decode(type), event.meta)
            } catch {
                inbox.status.withLock { $0.skipped += 1 }
                return nil
            }
        }
    }

    /// How many events wait for a slow consumer of a sequence.
    private static let waitingEvents = 1_024

    private func sequence<Element: Sendable>(
        _ wish: RoomListeners.Wish,
        _ make: @escaping @Sendable (RoomEvent) -> Element?
    ) -> AsyncStream<Element> {
        AsyncStream(bufferingPolicy: .bufferingNewest(Self.waitingEvents)) { [inbox] continuation in
            let isBehind = Lock(false)
            let listener = inbox.listeners.add(wish, end: { continuation.finish() }) { event in
                guard let element = make(event) else { return }
                let isNews = isBehind.withLock { isBehind in
                    switch continuation.yield(element) {
                    case .dropped:
                        defer { isBehind = true }
                        return !isBehind
                    // It has caught up when half of the places are free, not with each event that it takes.
                    case .enqueued(let places) where places >= Self.waitingEvents / 2: isBehind = false
                    default: break
                    }
                    return false
                }
                if isNews { inbox.reportSlowConsumer(of: event.event) }
            }
            continuation.onTermination = { _ in inbox.listeners.remove(listener) }
        }
    }

    /// How many events `events(_:as:)` could not decode.
    public var skipped: Int { inbox.status.withLock { $0.skipped } }

    // MARK: history

    /// What the room keeps, oldest first: the newest `limit` events, or those before the one whose `meta.id` is `before`.
    ///
    /// At most 100 a page. Waits until the room is joined. Throws `no_history` for a room that keeps none, `forbidden`
    /// where members may not read it, `unavailable` when the link is lost meanwhile. Nothing is left of what stood before
    /// an event that the room keeps no more.
    public func history(before id: String? = nil, limit: Int = 50) async throws -> HistoryPage {
        try await ready()
        return try await core.history(of: self, before: id, limit: min(max(limit, 1), 100))
    }

    // MARK: members

    /// Who is in a room whose members are known, in the order of their connections' ids; else nobody.
    public var members: [RoomMember] { inbox.status.withLock { $0.members.sorted } }

    /// How many users are in the room; those without a name count once for each connection.
    public var count: Int { inbox.status.withLock { $0.members.userCount } }

    /// Publishes an event for everybody in the room.
    ///
    /// Waits until the room is joined. Throws `forbidden` where members may not publish, `unavailable` when the link is
    /// lost before the server's answer: the event may have been published then.
    public func publish(_ event: String, _ data: JSONValue) async throws {
        try await ready()
        try await core.publish(event, data, in: self)
    }
}

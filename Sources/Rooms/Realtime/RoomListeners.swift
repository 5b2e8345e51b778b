internal import RoomsRuntime

/// The handlers of one room, in the order in which they were registered.
final class RoomListeners: Sendable {
    enum Wish: Hashable, Sendable {
        case named(ByteString)
        /// Every event that was published.
        case all
    }

    private struct Entry: Sendable {
        let listener: Listener
        let wish: Wish
        /// Where it was registered.
        let isolation: (any Actor)?
        let end: @Sendable () -> Void
        let call: @Sendable (RoomEvent) async -> Void
    }

    private struct State: Sendable {
        var entries: [Entry] = []
        var last: UInt64 = 0
        var isOver = false
    }

    private let state = Lock(State())

    /// `end` is called when the room is left.
    func add(
        _ wish: Wish,
        on isolation: (any Actor)? = nil,
        end: @escaping @Sendable () -> Void = {},
        call: @escaping @Sendable (RoomEvent) async -> Void
    ) -> Listener {
        let (listener, isOver) = state.withLock { state in
            state.last += 1
            let listener = Listener(number: state.last)
            let entry = Entry(listener: listener, wish: wish, isolation: isolation, end: end, call: call)
            if !state.isOver { state.entries.append(entry) }
            return (listener, state.isOver)
        }
        if isOver { end() }
        return listener
    }

    func remove(_ listener: Listener) {
        state.withLock { state in state.entries.removeAll { $0.listener == listener } }
    }

    var isEmpty: Bool { state.withLock { $0.entries.isEmpty } }

    /// Calls, one after another, those who want an event of that name, and of publications those who want all.
    func hand(_ event: RoomEvent, as name: ByteString, isPublished: Bool) async {
        let entries = state.withLock { state in
            state.entries.filter { entry in
                switch entry.wish {
                case .named(name): true
                case .named: false
                case .all: isPublished
                }
            }
        }
        for entry in entries { await hand(event, to: entry, on: entry.isolation) }
    }

    /// Looks on the handler's own actor: where that took it away, or left the room, it is not called any more.
    private func hand(_ event: RoomEvent, to entry: Entry, on isolation: isolated (any Actor)?) async {
        guard state.withLock({ $0.entries.contains { $0.listener == entry.listener } }) else { return }
        await entry.call(event)
    }

    func end() {
        let entries = state.withLock { state in
            defer {
                state.isOver = true
                state.entries = []
            }
            return state.entries
        }
        for entry in entries { entry.end() }
    }
}

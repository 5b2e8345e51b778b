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
        end: @escaping @Sendable () -> Void = {},
        call: @escaping @Sendable (RoomEvent) async -> Void
    ) -> Listener {
        let (listener, isOver) = state.withLock { state in
            state.last += 1
            let listener = Listener(number: state.last)
            if !state.isOver { state.entries.append(Entry(listener: listener, wish: wish, end: end, call: call)) }
            return (listener, state.isOver)
        }
        if isOver { end() }
        return listener
    }

    func remove(_ listener: Listener) {
        state.withLock { state in state.entries.removeAll { $0.listener == listener } }
    }

    var isEmpty: Bool { state.withLock { $0.entries.isEmpty } }

    /// Those who want an event of that name, and of publications those who want all.
    func calls(for name: ByteString, isPublished: Bool) -> [@Sendable (RoomEvent) async -> Void] {
        state.withLock { state in
            state.entries.compactMap { entry in
                switch entry.wish {
                case .named(name): entry.call
                case .named: nil
                case .all: isPublished ? entry.call : nil
                }
            }
        }
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

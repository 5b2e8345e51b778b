/// A queue from any thread to one: producers put, the owner takes everything at once.
///
/// The bound is in bytes. `offer` refuses when it is reached (the caller decides what that means); `put` always
/// succeeds, for what must not be refused. The owner is woken when the queue goes from empty to not empty.
package final class Inbox<Element: Sendable>: Sendable {
    private struct State {
        var elements: [Element] = []
        var bytes = 0
    }

    package let limit: Int
    private let state = Lock(State())
    private let wake: @Sendable () -> Void

    package init(limit: Int = .max, wake: @escaping @Sendable () -> Void) {
        self.limit = limit
        self.wake = wake
    }

    /// Adds `element` unless the bytes waiting have reached the limit; one element may overshoot it.
    package func offer(_ element: Element, bytes: Int) -> Bool {
        let (taken, wasEmpty) = state.withLock { state -> (Bool, Bool) in
            guard state.bytes < limit else { return (false, false) }
            let wasEmpty = state.elements.isEmpty
            state.elements.append(element)
            state.bytes += bytes
            return (true, wasEmpty)
        }
        if wasEmpty { wake() }
        return taken
    }

    package func put(_ element: Element, bytes: Int = 0) {
        let wasEmpty = state.withLock { state in
            let wasEmpty = state.elements.isEmpty
            state.elements.append(element)
            state.bytes += bytes
            return wasEmpty
        }
        if wasEmpty { wake() }
    }

    /// Moves everything that waits into `batch`, whose old content is dropped and whose storage is used again.
    package func drain(into batch: inout [Element]) {
        batch.removeAll(keepingCapacity: true)
        state.withLock { state in
            swap(&state.elements, &batch)
            state.bytes = 0
        }
    }

    package var isEmpty: Bool { state.withLock { $0.elements.isEmpty } }

    package var waitingBytes: Int { state.withLock { $0.bytes } }
}

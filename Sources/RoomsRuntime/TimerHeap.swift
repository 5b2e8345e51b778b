/// Names a timer so that it can be cancelled.
package struct TimerID: Hashable, Sendable {
    fileprivate let number: UInt64
}

/// Deadlines in order, owned by one loop or one state machine.
///
/// A cancelled entry stays until it comes up or the dead outnumber the living.
package struct TimerHeap<Action> {
    private struct Entry {
        var deadline: Instant
        var number: UInt64
    }

    private var heap: [Entry] = []
    private var actions: [UInt64: Action] = [:]
    private var next: UInt64 = 0

    package init() {}

    /// The earliest deadline, nil when none is set.
    package mutating func earliest() -> Instant? {
        dropCancelled()
        return heap.first?.deadline
    }

    package mutating func add(_ action: Action, at deadline: Instant) -> TimerID {
        let number = next
        next += 1
        actions[number] = action
        heap.append(Entry(deadline: deadline, number: number))
        siftUp(heap.count - 1)
        return TimerID(number: number)
    }

    package mutating func cancel(_ id: TimerID) {
        actions[id.number] = nil
        guard heap.count > 64, heap.count > 2 * actions.count else { return }
        heap = heap.filter { actions[$0.number] != nil }
        heap.sort(by: Self.before)
    }

    /// Takes the next action whose deadline is not after `now`.
    package mutating func popDue(_ now: Instant) -> Action? {
        dropCancelled()
        guard let first = heap.first, first.deadline <= now else { return nil }
        removeFirst()
        return actions.removeValue(forKey: first.number)
    }

    private mutating func dropCancelled() {
        while let first = heap.first, actions[first.number] == nil { removeFirst() }
    }

    /// Equal deadlines keep the order in which they were set.
    private static func before(_ left: Entry, _ right: Entry) -> Bool {
        (left.deadline, left.number) < (right.deadline, right.number)
    }

    private mutating func removeFirst() {
        let last = heap.removeLast()
        guard !heap.isEmpty else { return }
        heap[0] = last
        var index = 0
        while true {
            var smallest = index
            for child in [2 * index + 1, 2 * index + 2]
            where child < heap.count && Self.before(heap[child], heap[smallest]) {
                smallest = child
            }
            if smallest == index { return }
            heap.swapAt(index, smallest)
            index = smallest
        }
    }

    private mutating func siftUp(_ start: Int) {
        var index = start
        while index > 0 {
            let parent = (index - 1) / 2
            guard Self.before(heap[index], heap[parent]) else { return }
            heap.swapAt(index, parent)
            index = parent
        }
    }
}

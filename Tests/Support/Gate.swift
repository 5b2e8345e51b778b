import Foundation

/// Holds up threads of a test's servers until the test opens it; never for the threads of async code.
package final class Gate: Sendable {
    // Safety: `isOpen` is touched under `condition` alone.
    private nonisolated(unsafe) var isOpen = false
    private let condition = NSCondition()

    package init() {}

    package func open() {
        condition.withLock { isOpen = true }
        condition.broadcast()
    }

    /// Waits until it is open, for at most 60 s.
    package func wait() {
        let limit = Date(timeIntervalSinceNow: 60)
        condition.withLock {
            while !isOpen, condition.wait(until: limit) {}
        }
    }
}

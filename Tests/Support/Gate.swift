import Foundation

/// Holds up threads of a test's servers until the test opens it; never for the threads of async code.
package final class Gate: Sendable {
    // Safety: `hasOpened` is touched under `condition` alone.
    private nonisolated(unsafe) var hasOpened = false
    private let condition = NSCondition()

    package init() {}

    package func open() {
        condition.withLock { hasOpened = true }
        condition.broadcast()
    }

    package var isOpen: Bool { condition.withLock { hasOpened } }

    /// Waits until it is open, for at most 60 s.
    package func wait() {
        let limit = Date(timeIntervalSinceNow: 60)
        condition.withLock {
            while !hasOpened, condition.wait(until: limit) {}
        }
    }
}

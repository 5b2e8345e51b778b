/// How long to wait before trying again: doubling steps with equal jitter, half of the step and up to half more.
package struct RetrySchedule: Hashable, Sendable {
    package var base: Duration
    package var cap: Duration

    package init(base: Duration = .milliseconds(500), cap: Duration = .seconds(30)) {
        self.base = base
        self.cap = cap
    }

    /// The wait after the `failures`th failure in a row; any number will do.
    ///
    /// `random` decides on the jitter: 0 gives the shortest wait, `UInt32.max` the longest.
    package func wait(afterFailures failures: Int, random: UInt32) -> Duration {
        var step = min(base, cap)
        var count = 1
        while count < failures, step < cap {
            step = min(cap, step * 2)
            count += 1
        }
        // In steps of 2^-16: nothing overflows below some million years.
        return step / 2 + step / 2 * Int(random >> 16) / 65_535
    }
}

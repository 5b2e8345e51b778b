internal import RoomsRuntime

/// Pauses between attempts: exponential, capped, with full jitter.
package struct Backoff: Sendable, Equatable {
    package var least: Duration
    package var most: Duration

    package init(least: Duration = .milliseconds(500), most: Duration = .seconds(20)) {
        self.least = least
        self.most = most
    }

    /// After a connection that brought events: the first step, at most a tenth of a second long and as much of jitter.
    var afterProgress: Backoff {
        let least = min(least, .milliseconds(100))
        return Backoff(least: least, most: least * 2)
    }

    /// `least` plus anything up to `least` × 2^step, never more than `most`.
    package func delay(step: Int, random: () -> UInt64) -> Duration {
        let least = UInt64(clamping: least.wholeNanoseconds)
        let most = UInt64(clamping: most.wholeNanoseconds)
        let (grown, overflow) = least.multipliedReportingOverflow(by: 1 << UInt64(min(max(step, 0), 31)))
        let spread = overflow ? most : min(most, grown)
        let jitter = spread == .max ? random() : random() % (spread + 1)
        let (sum, carry) = least.addingReportingOverflow(jitter)
        return .nanoseconds(Int64(clamping: carry ? most : min(most, sum)))
    }
}

/// A duration with up to `share` of it added at random, so that many clients do not come at once.
func spread(_ duration: Duration, by share: UInt64, random: () -> UInt64) -> Duration {
    let length = UInt64(clamping: duration.wholeNanoseconds)
    let extra = length / 100 * share
    let jitter = extra == 0 ? 0 : random() % extra
    let (sum, carry) = length.addingReportingOverflow(jitter)
    return .nanoseconds(Int64(clamping: carry ? .max : sum))
}

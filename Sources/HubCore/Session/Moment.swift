package import RoomsRuntime

/// The time of an event on both clocks: the one for waiting, the one of tokens.
package struct Moment: Sendable {
    package var instant: Instant
    /// Since 1970.
    package var milliseconds: Int64

    package init(instant: Instant, milliseconds: Int64) {
        self.instant = instant
        self.milliseconds = milliseconds
    }

    package static var now: Moment {
        Moment(instant: SystemClock.now, milliseconds: SystemClock.wallMilliseconds)
    }

    /// Since 1970.
    package var seconds: Int64 { milliseconds / 1_000 }

    /// When the wall clock will show `seconds`; already past for an earlier time.
    func instant(of seconds: Int64) -> Instant {
        let (wait, overflow) = seconds.subtractingReportingOverflow(self.seconds)
        guard !overflow else { return .distantFuture }
        return instant + .seconds(min(max(wait, -1_000_000_000), 1_000_000_000))
    }

    /// Seconds left until `seconds`, at most a year, as the protocol gives them.
    func timeToLive(until seconds: Int64) -> UInt32 {
        let (left, overflow) = seconds.subtractingReportingOverflow(self.seconds)
        return overflow ? 31_536_000 : UInt32(min(max(left, 0), 31_536_000))
    }
}

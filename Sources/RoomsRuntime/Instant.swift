internal import CRoomsLinux
internal import Glibc

/// A point on the monotonic clock, in nanoseconds.
///
/// Deadlines are made of these; wall time is only data.
package struct Instant: Comparable, Hashable, Sendable {
    package var nanoseconds: UInt64

    package init(nanoseconds: UInt64) {
        self.nanoseconds = nanoseconds
    }

    /// An instant that never comes.
    package static let distantFuture = Instant(nanoseconds: .max)

    package static func < (left: Instant, right: Instant) -> Bool { left.nanoseconds < right.nanoseconds }

    /// Saturates at both ends.
    package static func + (instant: Instant, duration: Duration) -> Instant {
        let length = duration.wholeNanoseconds
        if length >= 0 {
            let (sum, overflow) = instant.nanoseconds.addingReportingOverflow(UInt64(length))
            return overflow ? .distantFuture : Instant(nanoseconds: sum)
        }
        let back = length.magnitude
        return Instant(nanoseconds: instant.nanoseconds > back ? instant.nanoseconds - back : 0)
    }

    /// The time from `earlier` to `later`; negative when they stand the other way round.
    package static func - (later: Instant, earlier: Instant) -> Duration {
        if later.nanoseconds >= earlier.nanoseconds {
            return .nanoseconds(Int64(clamping: later.nanoseconds - earlier.nanoseconds))
        }
        return .nanoseconds(-Int64(clamping: earlier.nanoseconds - later.nanoseconds))
    }
}

extension Duration {
    /// The duration in nanoseconds, clamped to what an `Int64` holds (292 years).
    package var wholeNanoseconds: Int64 {
        // Divides 128 bits by 64, which is far cheaper than the division of two numbers of 128 bits in `components`.
        let high = UInt64(truncatingIfNeeded: attoseconds >> 64)
        if high < 500_000_000 {
            let divided = UInt64(1_000_000_000).dividingFullWidth((high, UInt64(truncatingIfNeeded: attoseconds)))
            return Int64(clamping: divided.quotient)
        }
        let (seconds, attoseconds) = components
        let (scaled, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        if overflow { return seconds < 0 ? .min : .max }
        let (sum, carry) = scaled.addingReportingOverflow(attoseconds / 1_000_000_000)
        return carry ? (seconds < 0 ? .min : .max) : sum
    }

    /// The duration in milliseconds, rounded up, clamped.
    package var wholeMilliseconds: Int64 {
        let nanoseconds = wholeNanoseconds
        let whole = nanoseconds / 1_000_000
        return nanoseconds % 1_000_000 > 0 ? whole + 1 : whole
    }
}

/// The clocks of this machine.
package enum SystemClock {
    /// Monotonic time, not counting suspend.
    package static var now: Instant { Instant(nanoseconds: shim_nanoseconds(CLOCK_MONOTONIC)) }

    /// Milliseconds since 1970.
    package static var wallMilliseconds: Int64 { Int64(clamping: shim_nanoseconds(CLOCK_REALTIME) / 1_000_000) }
}

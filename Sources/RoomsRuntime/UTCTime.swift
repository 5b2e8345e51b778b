internal import Glibc

/// A moment as people write it, in UTC: `2026-03-01T12:00:00.250Z`.
package struct UTCTime: CustomStringConvertible {
    private let date: String
    /// Such as `12:00:00.250`.
    package let timeOfDay: String

    /// Milliseconds since 1970.
    package init(milliseconds: Int64) {
        var seconds = time_t(milliseconds / 1_000)
        var parts = tm()
        gmtime_r(&seconds, &parts)
        func two(_ number: CInt) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let fraction = String(1_000 + max(0, milliseconds % 1_000)).dropFirst()
        date = "\(1_900 + Int(parts.tm_year))-\(two(parts.tm_mon + 1))-\(two(parts.tm_mday))"
        timeOfDay = "\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec)).\(fraction)"
    }

    package var description: String { "\(date)T\(timeOfDay)Z" }
}

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

    /// What `description` gives, read again; nil for anything else.
    package static func milliseconds(_ text: String) -> Int64? {
        let parts = text.split(whereSeparator: { "-T:.Z".contains($0) })
        guard text.utf8.count == 24, text.utf8.last == UInt8(ascii: "Z"), parts.count == 7 else { return nil }
        let numbers = parts.compactMap { CInt($0) }
        guard numbers.count == 7 else { return nil }
        var fields = tm()
        (fields.tm_year, fields.tm_mon, fields.tm_mday) = (numbers[0] - 1_900, numbers[1] - 1, numbers[2])
        (fields.tm_hour, fields.tm_min, fields.tm_sec) = (numbers[3], numbers[4], numbers[5])
        return Int64(timegm(&fields)) * 1_000 + Int64(numbers[6])
    }

    package var description: String { "\(date)T\(timeOfDay)Z" }
}

package import RoomsRuntime

/// The `retry-after` field (RFC 9110 section 10.2.3): a number of seconds, or a date.
package enum RetryAfter {
    /// How long to wait; nil when `value` says nothing that is understood.
    ///
    /// A date counts from the answer's own `date`, so that two clocks need not agree, else from `wall` (milliseconds
    /// since 1970). One that is over is zero.
    package static func delay(_ value: ByteString, date: ByteString?, wall: Int64) -> Duration? {
        if let seconds = value.bytes.withUnsafeBytes({ HTTPGrammar.decimal($0) }) {
            return .seconds(Int64(clamping: seconds))
        }
        guard let end = HTTPDate.seconds(value) else { return nil }
        let start = date.flatMap { HTTPDate.seconds($0) } ?? wall / 1_000
        let (wait, overflow) = end.subtractingReportingOverflow(start)
        return .seconds(overflow ? 0 : max(0, wait))
    }
}

/// A date in the one form that HTTP still allows to be sent: `Sun, 06 Nov 1994 08:49:37 GMT`.
enum HTTPDate {
    private static let months: [[UInt8]] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ].map { Array($0.utf8) }

    /// Seconds since 1970; nil for any other form.
    static func seconds(_ text: ByteString) -> Int64? {
        let bytes = text.bytes
        guard bytes.count == 29, Array(bytes[3..<5]) == Array(", ".utf8), Array(bytes[25...]) == Array(" GMT".utf8),
            bytes[7] == 0x20, bytes[11] == 0x20, bytes[16] == 0x20, bytes[19] == 0x3a, bytes[22] == 0x3a,
            let month = months.firstIndex(of: Array(bytes[8..<11])),
            let day = number(bytes[5..<7]), (1...31).contains(day),
            let year = number(bytes[12..<16]), year >= 1970,
            let hour = number(bytes[17..<19]), hour < 24,
            let minute = number(bytes[20..<22]), minute < 60,
            // A leap second.
            let second = number(bytes[23..<25]), second <= 60
        else { return nil }
        return ((days(year, Int64(month) + 1, day) * 24 + hour) * 60 + minute) * 60 + second
    }

    private static func number(_ digits: ArraySlice<UInt8>) -> Int64? {
        digits.withUnsafeBytes { HTTPGrammar.decimal($0) }.map { Int64(clamping: $0) }
    }

    /// Days from 1970-01-01, in a calendar whose year begins in March: the leap day is then its last.
    private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let shifted = month > 2 ? year : year - 1
        let era = shifted / 400
        let yearOfEra = shifted % 400
        let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }
}

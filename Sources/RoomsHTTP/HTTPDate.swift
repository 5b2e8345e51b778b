package import RoomsRuntime

/// A date in one of the three forms that RFC 9110 section 5.6.7 wants to be read: `Sun, 06 Nov 1994 08:49:37 GMT`,
/// `Sunday, 06-Nov-94 08:49:37 GMT`, `Sun Nov  6 08:49:37 1994`.
package enum HTTPDate {
    private static let days: [[UInt8]] = ["Sun", "Mon", "Tues", "Wednes", "Thurs", "Fri", "Satur"].map {
        Array($0.utf8)
    }
    private static let months: [[UInt8]] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ].map { Array($0.utf8) }
    private static let longestYear: Int64 = 366 * 86_400

    /// Seconds since 1970; nil for any other form.
    ///
    /// `wall`, in milliseconds, tells the century of a year of two digits.
    package static func seconds(_ text: ByteString, wall: Int64) -> Int64? {
        let parts = text.bytes.split(separator: 0x20, omittingEmptySubsequences: true)
        switch parts.count {
        case 6 where isDay(parts[0], behind: ",") && Array(parts[5]) == Array("GMT".utf8):
            guard parts[1].count == 2, parts[3].count == 4, let year = number(parts[3]) else { return nil }
            return seconds(year, parts[2], parts[1], parts[4])
        case 5 where isDay(parts[0], behind: ""):
            guard parts[4].count == 4, let year = number(parts[4]) else { return nil }
            return seconds(year, parts[1], parts[2], parts[3])
        case 4 where isLongDay(parts[0]) && Array(parts[3]) == Array("GMT".utf8):
            let date = parts[1].split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
            guard date.count == 3, date[0].count == 2, date[2].count == 2, let year = number(date[2]) else {
                return nil
            }
            // What looks to be more than 50 years ahead lies in the past.
            for century in [2000, 1900] as [Int64] {
                guard let found = seconds(century + year, date[1], date[0], parts[2]) else { return nil }
                if found - wall / 1_000 <= 50 * longestYear || century == 1900 { return found }
            }
            return nil
        default:
            return nil
        }
    }

    private static func isDay(_ text: ArraySlice<UInt8>, behind: StaticString) -> Bool {
        let end = behind.withUTF8Buffer { Array($0) }
        return text.count == 3 + end.count && text.suffix(end.count).elementsEqual(end)
            && days.contains { $0.prefix(3).elementsEqual(text.prefix(3)) }
    }

    private static func isLongDay(_ text: ArraySlice<UInt8>) -> Bool {
        days.contains { text.elementsEqual($0 + Array("day,".utf8)) }
    }

    private static func seconds(
        _ year: Int64,
        _ month: ArraySlice<UInt8>,
        _ day: ArraySlice<UInt8>,
        _ time: ArraySlice<UInt8>
    ) -> Int64? {
        let clock = time.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        guard year >= 1970, let month = months.firstIndex(where: { $0.elementsEqual(month) }),
            day.count <= 2, let day = number(day), (1...31).contains(day),
            clock.count == 3, clock.allSatisfy({ $0.count == 2 }),
            let hour = number(clock[0]), hour < 24, let minute = number(clock[1]), minute < 60,
            // A leap second.
            let second = number(clock[2]), second <= 60
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

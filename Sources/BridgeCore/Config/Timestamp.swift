package import RoomsRuntime

/// A moment as RFC 3339 writes it: `2026-11-30T02:00:00Z`, `2026-11-30T03:00:00.5+01:00`.
package enum Timestamp {
    private static let daysOfMonths: [Int64] = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

    /// Milliseconds since 1970; nil for any other form, and for a date or a time that there is not.
    package static func milliseconds(_ text: ByteString) -> Int64? {
        let bytes = text.bytes
        guard bytes.count >= 20, separators(bytes),
            let year = number(bytes[0..<4]), let month = number(bytes[5..<7]), let day = number(bytes[8..<10]),
            let hour = number(bytes[11..<13]), let minute = number(bytes[14..<16]), let second = number(bytes[17..<19]),
            (1...12).contains(month), (1...days(of: month, year)).contains(day), hour < 24, minute < 60, second < 60
        else { return nil }
        var rest = bytes[19...]
        guard let fraction = fraction(&rest), let offset = offset(rest) else { return nil }
        let seconds = ((daysSince1970(year, month, day) * 24 + hour) * 60 + minute - offset) * 60 + second
        return seconds * 1_000 + fraction
    }

    private static func separators(_ bytes: [UInt8]) -> Bool {
        bytes[4] == UInt8(ascii: "-") && bytes[7] == UInt8(ascii: "-") && bytes[10] == UInt8(ascii: "T")
            && bytes[13] == UInt8(ascii: ":") && bytes[16] == UInt8(ascii: ":")
    }

    /// Takes the part behind a point off; in milliseconds.
    private static func fraction(_ rest: inout ArraySlice<UInt8>) -> Int64? {
        guard rest.first == UInt8(ascii: ".") else { return 0 }
        let digits = rest.dropFirst().prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        rest = rest[digits.endIndex...]
        guard !digits.isEmpty else { return nil }
        return number(Array(digits.prefix(3)) + [UInt8](repeating: UInt8(ascii: "0"), count: max(0, 3 - digits.count)))
    }

    /// In minutes.
    private static func offset(_ text: ArraySlice<UInt8>) -> Int64? {
        if text.elementsEqual("Z".utf8) { return 0 }
        let bytes = Array(text)
        guard bytes.count == 6, bytes[3] == UInt8(ascii: ":"), let hours = number(bytes[1..<3]), hours < 24,
            let minutes = number(bytes[4..<6]), minutes < 60
        else { return nil }
        switch bytes[0] {
        case UInt8(ascii: "+"): return hours * 60 + minutes
        case UInt8(ascii: "-"): return -(hours * 60 + minutes)
        default: return nil
        }
    }

    /// A few digits and nothing else.
    private static func number(_ digits: some Collection<UInt8>) -> Int64? {
        var number: Int64 = 0
        for digit in digits {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
            number = number * 10 + Int64(digit - UInt8(ascii: "0"))
        }
        return number
    }

    private static func isLeap(_ year: Int64) -> Bool {
        year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    }

    private static func days(of month: Int64, _ year: Int64) -> Int64 {
        month == 2 && isLeap(year) ? 29 : daysOfMonths[Int(month) - 1]
    }

    private static func daysSince1970(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let last = year - 1
        let before = last * 365 + last / 4 - last / 100 + last / 400
        let inYear = daysOfMonths.prefix(Int(month) - 1).reduce(0, +) + (month > 2 && isLeap(year) ? 1 : 0)
        // 719,162 days lie between the first day of the year 1 and 1970.
        return before + inYear + day - 1 - 719_162
    }
}

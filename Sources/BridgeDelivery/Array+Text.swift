internal import RoomsRuntime

/// Text that is written byte by byte, without a `String`.
extension Array where Element == UInt8 {
    mutating func append(literal text: StaticString) {
        append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    mutating func append(decimal number: Int64) {
        DecimalText.append(number, to: &self)
    }

    mutating func append(decimal number: UInt64) {
        DecimalText.append(number, to: &self)
    }

    /// Milliseconds since 1970 as `2026-11-30T02:00:00.123Z`; what lies outside the years 0 to 9999 is clamped.
    mutating func append(timestamp milliseconds: Int64) {
        let clamped = Swift.min(Swift.max(milliseconds, -62_167_219_200_000), 253_402_300_799_999)
        let day = (clamped - Self.remainder(clamped, 86_400_000)) / 86_400_000
        let time = Self.remainder(clamped, 86_400_000)
        // Years that begin in March end with the day that is not always there (H. Hinnant's days-to-civil).
        let shifted = day + 719_468
        let era = (shifted - Self.remainder(shifted, 146_097)) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        let template: StaticString = "0000-00-00T00:00:00.000Z"
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 24) { text in
            _ = text.initialize(from: UnsafeBufferPointer(start: template.utf8Start, count: 24))
            Self.write(yearOfEra + era * 400 + (month <= 2 ? 1 : 0), endingAt: 3, text)
            Self.write(month, endingAt: 6, text)
            Self.write(dayOfYear - (153 * monthFromMarch + 2) / 5 + 1, endingAt: 9, text)
            Self.write(time / 3_600_000, endingAt: 12, text)
            Self.write(time / 60_000 % 60, endingAt: 15, text)
            Self.write(time / 1_000 % 60, endingAt: 18, text)
            Self.write(time % 1_000, endingAt: 22, text)
            append(contentsOf: text)
        }
    }

    /// `number` in `digits` digits, with zeros in front.
    mutating func append(_ number: Int64, digits: Int) {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: digits) { text in
            text.initialize(repeating: UInt8(ascii: "0"))
            Self.write(number, endingAt: digits - 1, text)
            append(contentsOf: text)
        }
    }

    /// Puts the digits of a number, which has to fit, over zeros.
    private static func write(_ number: Int64, endingAt end: Int, _ text: UnsafeMutableBufferPointer<UInt8>) {
        var rest = number
        var index = end
        while rest > 0 {
            text[index] = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
            index &-= 1
        }
    }

    /// Never negative, whatever the sign of `number`.
    private static func remainder(_ number: Int64, _ divisor: Int64) -> Int64 {
        let rest = number % divisor
        return rest < 0 ? rest + divisor : rest
    }
}

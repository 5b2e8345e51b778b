/// Integers out of the digits of a JSON number.
enum JSONNumber {
    /// Nil if there is a fraction or an exponent, or if the value does not fit.
    static func integer<Value: FixedWidthInteger>(_ digits: some Sequence<UInt8>) -> Value? {
        var value: Value = 0
        var isNegative = false
        var count = 0
        for byte in digits {
            if byte == UInt8(ascii: "-"), count == 0, !isNegative {
                isNegative = true
                continue
            }
            guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9"), let digit = Value(exactly: byte &- 0x30) else {
                return nil
            }
            let (scaled, scaleOverflow) = value.multipliedReportingOverflow(by: 10)
            let (sum, sumOverflow) =
                isNegative ? scaled.subtractingReportingOverflow(digit) : scaled.addingReportingOverflow(digit)
            guard !scaleOverflow, !sumOverflow else { return nil }
            value = sum
            count += 1
        }
        return count > 0 ? value : nil
    }
}

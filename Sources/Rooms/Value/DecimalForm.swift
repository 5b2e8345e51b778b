/// What a JSON number is worth: `significant` × 10^`exponent`, negated or not.
///
/// Numbers of the same worth have the same form, however they are written (1, 1.0, 10e-1).
struct DecimalForm: Hashable {
    /// Never of a zero.
    let isNegative: Bool
    /// Digits without zeros at either end; empty for zero.
    let significant: [UInt8]
    let exponent: Int

    /// Nil if the exponent does not fit an `Int`.
    ///
    /// `digits` is a number by the grammar of RFC 8259.
    init?(_ digits: String) {
        var isNegative = false
        var significant: [UInt8] = []
        var exponent = 0
        var isFraction = false
        var mantissa = digits.utf8[...]
        if let mark = digits.utf8.firstIndex(where: { $0 | 0x20 == UInt8(ascii: "e") }) {
            mantissa = digits.utf8[..<mark]
            let written = digits.utf8[digits.utf8.index(after: mark)...]
            guard let value = Self.exponent(written) else {
                // Zero is zero with any exponent.
                guard !mantissa.contains(where: { $0 > UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }) else {
                    return nil
                }
                self.isNegative = false
                self.significant = []
                self.exponent = 0
                return
            }
            exponent = value
        }
        for byte in mantissa {
            switch byte {
            case UInt8(ascii: "-"): isNegative = true
            case UInt8(ascii: "."): isFraction = true
            default:
                if isFraction { exponent -= 1 }
                if byte != UInt8(ascii: "0") || !significant.isEmpty { significant.append(byte) }
            }
        }
        while significant.last == UInt8(ascii: "0") {
            significant.removeLast()
            exponent += 1
        }
        self.isNegative = isNegative && !significant.isEmpty
        self.significant = significant
        self.exponent = significant.isEmpty ? 0 : exponent
    }

    /// The number, if it is whole and fits; never through a Double.
    func integer<Value: FixedWidthInteger>(as type: Value.Type) -> Value? {
        guard exponent >= 0 || significant.isEmpty else { return nil }
        var value: Value = 0
        for digit in significant {
            guard let next = append(digit &- UInt8(ascii: "0"), to: value) else { return nil }
            value = next
        }
        // Not zero here, or there is nothing to do: overflows after few steps, whatever the exponent is.
        for _ in 0..<exponent {
            guard let next = append(0, to: value) else { return nil }
            value = next
        }
        return value
    }

    private func append<Value: FixedWidthInteger>(_ digit: UInt8, to value: Value) -> Value? {
        guard let digit = Value(exactly: digit) else { return nil }
        let (scaled, overflow) = value.multipliedReportingOverflow(by: 10)
        let (sum, sumOverflow) =
            isNegative ? scaled.subtractingReportingOverflow(digit) : scaled.addingReportingOverflow(digit)
        return overflow || sumOverflow ? nil : sum
    }

    /// Nil if it is so large that the digits of the mantissa, of which no text has more than 2^62, could overflow it.
    private static func exponent(_ text: Substring.UTF8View) -> Int? {
        var value = 0
        for byte in text where byte != UInt8(ascii: "-") && byte != UInt8(ascii: "+") {
            let (scaled, overflow) = value.multipliedReportingOverflow(by: 10)
            guard !overflow, scaled < Int.max / 2 else { return nil }
            value = scaled + Int(byte &- UInt8(ascii: "0"))
        }
        return text.first == UInt8(ascii: "-") ? -value : value
    }
}

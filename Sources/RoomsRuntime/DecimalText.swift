/// Numbers as decimal digits, written straight into bytes.
package enum DecimalText {
    package static func append(_ number: UInt64, to text: inout [UInt8]) {
        guard number > 9 else { return text.append(UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: number)) }
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { digits in
            var start = 20
            var rest = number
            while rest > 0 {
                let (quotient, digit) = rest.quotientAndRemainder(dividingBy: 10)
                start &-= 1
                digits[start] = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: digit)
                rest = quotient
            }
            text.append(contentsOf: UnsafeBufferPointer(rebasing: digits[start...]))
        }
    }

    package static func append(_ number: Int64, to text: inout [UInt8]) {
        if number < 0 { text.append(UInt8(ascii: "-")) }
        append(number.magnitude, to: &text)
    }
}

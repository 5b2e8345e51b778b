internal import RoomsRuntime

/// Amounts as text with a unit.
enum Quantity {
    private static let sizeUnits: [(name: ByteString, bytes: Int)] = [
        ("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40),
    ]

    /// Bytes; nil unless `text` is a whole number directly followed by a unit, and fits.
    static func size(_ text: ByteString) -> Int? {
        let digits = text.bytes.prefix { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }
        let rest = ByteString(Array(text.bytes.dropFirst(digits.count)))
        guard let number = Int(String(decoding: digits, as: UTF8.self)),
            let unit = sizeUnits.first(where: { $0.name == rest })
        else { return nil }
        let (bytes, overflow) = number.multipliedReportingOverflow(by: unit.bytes)
        return overflow ? nil : bytes
    }

    /// For people, with one digit behind the point.
    static func rough(_ bytes: Int64) -> String {
        guard bytes >= 1 << 10 else { return "\(max(0, bytes)) B" }
        let unit = sizeUnits.last { $0.bytes <= bytes } ?? sizeUnits[0]
        let tenths = Int64((Double(bytes) / Double(unit.bytes) * 10).rounded())
        return "\(tenths / 10).\(tenths % 10) \(unit.name)"
    }

    /// In the largest unit that needs no fraction.
    static func text(ofSize bytes: Int) -> String {
        let unit = sizeUnits.last { bytes % $0.bytes == 0 } ?? sizeUnits[0]
        return "\(bytes / unit.bytes)\(unit.name)"
    }
}

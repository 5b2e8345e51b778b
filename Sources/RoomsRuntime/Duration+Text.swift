extension Duration {
    private static let units: [(name: ByteString, milliseconds: Int64)] = [
        ("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000),
    ]

    /// `"250ms"`, `"30s"`, `"30m"`, `"1h"`, `"7d"`; nil for anything else.
    package init?(text: ByteString) {
        let digits = text.bytes.prefix { (0x30...0x39).contains($0) }
        let unit = ByteString(Array(text.bytes[digits.count...]))
        guard (1...9).contains(digits.count), let number = Int64(String(decoding: digits, as: UTF8.self)),
            let length = Self.units.first(where: { $0.name == unit })?.milliseconds
        else { return nil }
        self = .milliseconds(number * length)
    }
}

import RoomsRuntime
import Testing

@testable import BridgeCore

@Suite struct QuantityTests {
    @Test(
        arguments: [
            ("0B", 0), ("1KiB", 1_024), ("1GiB", 1 << 30), ("8388607TiB", 8_388_607 << 40), ("8388608TiB", nil),
            ("1", nil),
            ("GiB", nil), ("1 GiB", nil), ("-1B", nil), ("1.5GiB", nil), ("1gib", nil), ("1GB", nil), ("", nil),
            ("99999999999999999999B", nil), ("１B", nil),
        ] as [(String, Int?)]
    )
    func `a size is a whole number and a unit`(_ text: String, _ bytes: Int?) {
        #expect(Quantity.size(ByteString(text)) == bytes)
    }

    @Test(arguments: [(0, "0TiB"), (1_000, "1000B"), (1_536, "1536B"), (512 << 20, "512MiB"), (1 << 30, "1GiB")])
    func `a size is shown in the largest unit without a fraction`(_ bytes: Int, _ text: String) {
        #expect(Quantity.text(ofSize: bytes) == text)
    }
}

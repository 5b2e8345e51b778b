import BridgeCore
import RoomsRuntime
import Testing

@Suite struct TimestampTests {
    @Test(
        arguments: [
            ("1970-01-01T00:00:00Z", 0), ("2026-11-30T02:00:00Z", 1_796_004_000_000),
            ("2026-11-30T03:30:00.25+01:30", 1_796_004_000_250), ("2026-11-29T21:00:00-05:00", 1_796_004_000_000),
            ("2024-02-29T23:59:59.9999Z", 1_709_251_199_999), ("2000-03-01T00:00:00Z", 951_868_800_000),
            ("0001-01-01T00:00:00Z", -62_135_596_800_000), ("9999-12-31T23:59:59Z", 253_402_300_799_000),
        ] as [(ByteString, Int64)]
    )
    func `a moment is read with its zone`(_ text: ByteString, _ milliseconds: Int64) {
        #expect(Timestamp.milliseconds(text) == milliseconds)
    }

    @Test(
        arguments: [
            "", "2026-11-30", "2026-11-30T02:00:00", "2026-11-30 02:00:00Z", "2026-11-31T02:00:00Z",
            "2026-02-29T02:00:00Z", "1900-02-29T02:00:00Z", "2026-13-01T02:00:00Z", "2026-00-01T02:00:00Z",
            "2026-11-30T24:00:00Z", "2026-11-30T02:60:00Z", "2026-11-30T02:00:60Z", "2026-11-30T02:00:00.Z",
            "2026-11-30T02:00:00z", "2026-11-30T02:00:00+1:00", "2026-11-30T02:00:00+01:60", "2026-11-30T02:00:00Z ",
            "+026-11-30T02:00:00Z", "2026-11-30T02:00:00.5", "1796004000",
        ] as [ByteString]
    )
    func `what is no moment, or has no zone, is refused`(_ text: ByteString) {
        #expect(Timestamp.milliseconds(text) == nil)
    }
}

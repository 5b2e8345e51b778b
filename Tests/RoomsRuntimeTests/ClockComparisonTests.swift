import RoomsRuntime
import Testing

@Suite struct ClockComparisonTests {
    private static let now: Int64 = 1_772_366_400_000

    @Test(
        "two minutes are nothing, more is told with its direction",
        arguments: [
            (0, nil), (120_000, nil), (-120_000, nil), (120_001, "2m0s behind"), (-600_000, "10m0s ahead"),
            (Int64.max - now, "106751d23h behind"),
        ] as [(Int64, String?)]
    )
    func difference(_ offset: Int64, _ text: String?) {
        var clock = ClockComparison()
        let fields = clock.compare(own: Self.now, other: Self.now + offset)
        #expect(fields?.first { $0.key == .skew }?.value == text)
    }

    @Test func `it is told once, and again after the clocks agreed`() {
        var clock = ClockComparison()
        #expect(clock.compare(own: Self.now, other: 0) != nil)
        #expect(clock.compare(own: Self.now, other: 0) == nil)
        #expect(clock.compare(own: Self.now, other: Self.now) == nil)
        #expect(clock.compare(own: Self.now, other: 0) != nil)
    }

    @Test func `no number is too absurd`() {
        var clock = ClockComparison()
        #expect(clock.compare(own: .max, other: .min) == nil)
        #expect(clock.compare(own: Self.now, other: .min) == nil)
    }
}

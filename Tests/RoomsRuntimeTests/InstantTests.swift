import RoomsRuntime
import Testing

@Suite struct InstantTests {
    @Test func `arithmetic saturates`() {
        let early = Instant(nanoseconds: 5)
        #expect(early + .nanoseconds(7) == Instant(nanoseconds: 12))
        #expect(early + .nanoseconds(-9) == Instant(nanoseconds: 0))
        #expect(Instant.distantFuture + .seconds(1) == .distantFuture)
        #expect(early + .seconds(Int64.max) <= .distantFuture)
        #expect(early - Instant.distantFuture < .zero)
        #expect(Instant.distantFuture - early == .nanoseconds(Int64.max))
        #expect(Duration.seconds(Int64.max).wholeNanoseconds == .max)
        #expect(Duration.seconds(Int64.min).wholeNanoseconds == .min)
    }

    @Test(
        arguments: [0, 1, 999_999_999, 35_000_000_000, 9_223_372_036_000_000_000, .max, -1, -35_000_000_000, .min]
            as [Int64]
    )
    func `nanoseconds are exact, and parts of one are cut off`(nanoseconds: Int64) {
        let duration = Duration.nanoseconds(nanoseconds)
        #expect(duration.wholeNanoseconds == nanoseconds)
        let part = Duration(secondsComponent: 0, attosecondsComponent: nanoseconds < 0 ? -999_999_999 : 999_999_999)
        #expect((duration + part).wholeNanoseconds == nanoseconds)
    }

    @Test(arguments: [(0, 0), (1, 1), (1_000_000, 1), (1_000_001, 2), (-1, 0)] as [(Int64, Int64)])
    func `milliseconds are rounded up`(nanoseconds: Int64, milliseconds: Int64) {
        #expect(Duration.nanoseconds(nanoseconds).wholeMilliseconds == milliseconds)
    }

    @Test func `the clock goes on`() {
        let first = SystemClock.now
        #expect(SystemClock.now >= first)
        #expect(SystemClock.wallMilliseconds > 1_700_000_000_000)
    }
}

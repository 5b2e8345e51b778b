import BridgeTestSupport
import RoomsRuntime
import Testing

@testable import Rooms

@Suite struct BackoffTests {
    @Test("C23: over 1000 runs the pauses lie within the bounds, grow with the step, and are spread")
    func fullJitter() {
        var random = SeededRandom(seed: 7)
        let backoff = Backoff()
        var means: [Double] = []
        for step in 0..<8 {
            let pauses = (0..<1_000).map { _ in backoff.delay(step: step) { random.next() } }
            #expect(pauses.allSatisfy { $0 >= backoff.least && $0 <= backoff.most })
            let seconds = pauses.map { Double($0.wholeMilliseconds) / 1_000 }
            means.append(seconds.reduce(0, +) / 1_000)
            let ceiling = min(20, 0.5 + 0.5 * Double(1 << step))
            // Full jitter: as much below as above the middle.
            let middle = (0.5 + ceiling) / 2
            let below = seconds.count { $0 < middle }
            #expect((350...650).contains(below))
        }
        #expect(zip(means, means.dropFirst()).allSatisfy { $0 < $1 + 0.3 })
        #expect(means[0] < 0.8 && means[6] > 8)
    }

    @Test("absurd steps and bounds neither trap nor overflow", arguments: [-1, 0, 31, 64, .max])
    func extremes(step: Int) {
        let wide = Backoff(least: .seconds(Int64.max), most: .seconds(Int64.max))
        #expect(wide.delay(step: step) { .max } > .zero)
        let none = Backoff(least: .zero, most: .zero)
        #expect(none.delay(step: step) { .max } == .zero)
    }
}

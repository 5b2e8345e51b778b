import BridgeTestSupport
import Testing

@testable import BridgeDelivery

@Suite struct RingBufferTests {
    @Test("it behaves as an array does")
    func matchesArray() {
        var random = SeededRandom(seed: 1)
        var ring = RingBuffer<Int>()
        var model: [Int] = []
        for step in 0..<20_000 {
            switch Int.random(in: 0..<100, using: &random) {
            case 0..<52:
                ring.append(step)
                model.append(step)
            case 52..<99:
                #expect(ring.popFirst() == (model.isEmpty ? nil : model.removeFirst()))
            default:
                ring.keepFirst(1)
                model = Array(model.prefix(1))
            }
            #expect(ring.count == model.count)
            #expect(ring.first == model.first)
        }
    }
}

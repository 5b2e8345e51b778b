import Testing

@testable import RoomsRuntime

@Suite struct TimerHeapTests {
    @Test func `timers come up in the order of their deadlines, equal ones as they were set`() {
        var heap = TimerHeap<Int>()
        for (index, deadline) in [30, 10, 20, 10, 40, 20].enumerated() {
            _ = heap.add(index, at: Instant(nanoseconds: UInt64(deadline)))
        }
        var order: [Int] = []
        while let action = heap.popDue(Instant(nanoseconds: 35)) { order.append(action) }
        #expect(order == [1, 3, 2, 5, 0])
        #expect(heap.earliest() == Instant(nanoseconds: 40))
    }

    @Test func `a random run agrees with a sorted list`() {
        var generator = SystemRandomNumberGenerator()
        var heap = TimerHeap<Int>()
        var model: [(deadline: UInt64, action: Int, id: TimerID)] = []
        for step in 0..<5_000 {
            switch Int.random(in: 0..<4, using: &generator) {
            case 0, 1:
                let deadline = UInt64.random(in: 0..<1_000, using: &generator)
                model.append((deadline, step, heap.add(step, at: Instant(nanoseconds: deadline))))
            case 2 where !model.isEmpty:
                heap.cancel(model.remove(at: Int.random(in: 0..<model.count, using: &generator)).id)
            default:
                model.sort { ($0.deadline, $0.action) < ($1.deadline, $1.action) }
                #expect(heap.earliest()?.nanoseconds == model.first?.deadline)
                #expect(
                    heap.popDue(Instant(nanoseconds: 500))
                        == model.first.flatMap { $0.deadline <= 500 ? $0.action : nil }
                )
                if let first = model.first, first.deadline <= 500 { model.removeFirst() }
            }
        }
    }
}

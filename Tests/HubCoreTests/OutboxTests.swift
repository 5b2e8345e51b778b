import Testing

@testable import HubCore

@Suite struct OutboxTests {
    @Test(
        "a frame takes 16 messages or 1 MiB; a larger message goes alone",
        arguments: [
            (Array(repeating: 10, count: 20), [160, 40]),
            (Array(repeating: 3 << 20, count: 3), [3 << 20, 3 << 20, 3 << 20]),
            (Array(repeating: 1 << 19, count: 3), [1 << 20, 1 << 19]),
            ([10, 3 << 20, 10, 10], [10, 3 << 20, 20]),
            ([1 << 20, 1], [1 << 20, 1]),
        ] as [([Int], [Int])]
    )
    func frames(_ messages: [Int], _ expected: [Int]) {
        var outbox = Outbox()
        for size in messages { outbox.append([UInt8](repeating: 1, count: size)) }
        var frames: [Int] = []
        while let frame = outbox.takeFrame() { frames.append(frame.count) }
        #expect(frames == expected)
        #expect(outbox.count == 0)
    }

    @Test("frames keep their bytes while messages come and go")
    func interleaved() {
        var outbox = Outbox()
        var sent: [UInt8] = []
        var taken: [UInt8] = []
        var largest = 0
        for round in 0..<200 {
            for index in 0..<(round % 5) {
                let message = [UInt8](repeating: UInt8(round), count: 1 + (round * 7_919 + index * 104_729) % 300_000)
                sent += message
                outbox.append(message)
            }
            for _ in 0..<(round % 3) {
                guard let frame = outbox.takeFrame() else { continue }
                taken += frame
                largest = max(largest, frame.count)
            }
        }
        while let frame = outbox.takeFrame() { taken += frame }
        #expect(taken == sent)
        #expect(largest <= 1 << 20)
    }
}

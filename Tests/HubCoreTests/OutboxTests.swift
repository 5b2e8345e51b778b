import RoomsWire
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
        var outbox = Outbox(format: .protobuf)
        for size in messages { append([UInt8](repeating: 1, count: size), to: &outbox) }
        var frames: [Int] = []
        while let frame = outbox.takeFrame() { frames.append(frame.count) }
        #expect(frames == expected)
        #expect(outbox.count == 0)
    }

    private func append(_ message: [UInt8], to outbox: inout Outbox) {
        outbox.append { bytes in
            bytes += message
            return true
        }
    }

    @Test("in JSON a line feed stands between messages, also around one that goes alone", arguments: [1, 2, 16])
    func lines(_ messagesPerFrame: Int) {
        var outbox = Outbox(format: .json, messagesPerFrame: messagesPerFrame)
        let large = [UInt8](repeating: 0x78, count: 2 << 20)
        for message in [Array("{}".utf8), large, Array("[]".utf8), Array("1".utf8), Array("2".utf8)] {
            append(message, to: &outbox)
        }
        var frames: [[UInt8]] = []
        while let frame = outbox.takeFrame() { frames.append(frame) }
        let tail = [Array("[]".utf8), Array("1".utf8), Array("2".utf8)]
        let expected: [[UInt8]] =
            switch messagesPerFrame {
            case 1: [Array("{}".utf8), large] + tail
            case 2: [Array("{}".utf8), large, Array("[]\n1".utf8), tail[2]]
            default: [Array("{}".utf8), large, Array("[]\n1\n2".utf8)]
            }
        #expect(frames == expected)
    }

    @Test("what cannot be encoded leaves nothing behind")
    func refused() {
        var outbox = Outbox(format: .json)
        append(Array("1".utf8), to: &outbox)
        #expect(!outbox.append { _ in false })
        append(Array("2".utf8), to: &outbox)
        #expect(outbox.takeFrame() == Array("1\n2".utf8))
    }

    @Test("frames keep their bytes while messages come and go")
    func interleaved() {
        var outbox = Outbox(format: .protobuf)
        var sent: [UInt8] = []
        var taken: [UInt8] = []
        var largest = 0
        for round in 0..<200 {
            for index in 0..<(round % 5) {
                let message = [UInt8](repeating: UInt8(round), count: 1 + (round * 7_919 + index * 104_729) % 300_000)
                sent += message
                append(message, to: &outbox)
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

import BridgeModel
import BridgeTestSupport
import RoomsRuntime
import Testing

@testable import BridgeStore

@Suite struct RowHeadTests {
    static let events: [EventRecord] = {
        var events: [EventRecord] = []
        let text = #"{"event":"a","sealed":"xyz"}"#
        for shape in [PayloadShape.json(0..<28), .json(3..<3), .sealed(21..<26), .binary] {
            for isReplayed in [false, true] {
                for from in [nil, ByteString(""), ByteString("user:42")] {
                    for tags in [nil, Array(#"{"a":"b"}"#.utf8)] {
                        events.append(
                            EventRecord(
                                payload: Payload(text),
                                epoch: "ep\u{0}och",
                                offset: isReplayed ? .max : 0,
                                incarnation: isReplayed ? .max : 0,
                                shape: shape,
                                name: ByteString([0xff, 0x00, 0x0a]),
                                from: from,
                                at: isReplayed ? .min : .max,
                                isReplayed: isReplayed,
                                tags: tags
                            )
                        )
                    }
                }
            }
        }
        return events
    }()

    private func decode(_ head: [UInt8], _ payload: Payload = .empty) -> RecordBody? {
        head.withUnsafeBytes { RowHead.decode($0, epoch: nil) { payload } }
    }

    private func isRecord(_ head: [UInt8], _ payload: Payload = .empty) -> Bool {
        if case nil = decode(head, payload) { return false }
        return true
    }

    @Test("an event comes back as it was", arguments: events.indices)
    func event(index: Int) throws {
        let event = Self.events[index]
        var head: [UInt8] = [1, 2, 3]
        RowHead.encode(event, into: &head)
        guard case .event(let read) = decode(head, event.payload) else {
            Issue.record("not an event")
            return
        }
        #expect(read.payload == event.payload)
        #expect(read.epoch == event.epoch)
        #expect(read.offset == event.offset)
        #expect(read.incarnation == event.incarnation)
        #expect(read.shape == event.shape)
        #expect(read.name == event.name)
        #expect(read.from == event.from)
        #expect(read.at == event.at)
        #expect(read.isReplayed == event.isReplayed)
        #expect(read.tags == event.tags)
    }

    @Test("a gap comes back as it was", arguments: GapReason.allCases, [nil, UInt64.max])
    func gap(reason: GapReason, to: UInt64?) {
        let gap = Gap(reason: reason, epoch: "e", from: 7, to: to, incarnation: 9)
        var head: [UInt8] = []
        RowHead.encode(gap, at: -5, into: &head)
        guard case .gap(let read, let at) = decode(head) else {
            Issue.record("not a gap")
            return
        }
        #expect(read == gap)
        #expect(at == -5)
    }

    @Test("a head cut short is no record")
    func truncated() {
        for event in Self.events {
            var head: [UInt8] = []
            RowHead.encode(event, into: &head)
            for count in 0..<head.count { #expect(!isRecord(Array(head[..<count]), event.payload)) }
        }
    }

    @Test("data beyond the payload, an unknown reason and endless numbers are no record")
    func absurd() {
        var head: [UInt8] = []
        RowHead.encode(Self.events[0], into: &head)
        #expect(!isRecord(head, Payload("short")))
        #expect(!isRecord([3, 0, 1, 0, 0, 0]))
        #expect(!isRecord([3, 10, 1, 0, 0, 0]))
        #expect(!isRecord([2] + [UInt8](repeating: 0xff, count: 40)))
        #expect(!isRecord([2, 0, 0, 0] + [UInt8](repeating: 0xff, count: 9) + [1]))
    }

    @Test("no bytes, however wrong, end the process", arguments: [1, 2, 3] as [UInt64])
    func noise(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var records = 0
        for _ in 0..<20_000 {
            let event = Self.events[Int.random(in: Self.events.indices, using: &random)]
            var head: [UInt8] = []
            RowHead.encode(event, into: &head)
            guard case .event(let read) = decode(random.mutated(head), event.payload) else { continue }
            records += 1
            // Whoever takes the data out of the payload must be able to trust the bounds.
            if case .json(let range) = read.shape { #expect(range.upperBound <= event.payload.count) }
        }
        #expect(records > 1_000)
    }
}

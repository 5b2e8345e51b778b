import BridgeTestSupport
import RoomsRuntime
import Testing

@testable import RoomsWire

/// The short way that publications take from a frame, beside the long one.
@Suite struct IncomingTests {
    /// What came of a frame: replies, and the mistake that ended them.
    private struct Outcome: Equatable {
        var replies: [Reply] = []
        var short = 0
        var error: WireError?
    }

    private func long(_ frame: UnsafeRawBufferPointer) -> Outcome {
        var outcome = Outcome()
        do throws(WireError) {
            try ProtobufCodec.decodeReplies(frame) { outcome.replies.append($0) }
        } catch {
            outcome.error = error
        }
        return outcome
    }

    private func short(_ frame: UnsafeRawBufferPointer) -> Outcome {
        var outcome = Outcome()
        do throws(WireError) {
            try ProtobufCodec.decodeIncoming(frame) { incoming in
                switch incoming {
                case .publication(let publication, let channel):
                    let push = Push(channel: ByteString(copying: channel), .publication(publication))
                    outcome.replies.append(Reply(id: 0, .push(push)))
                    outcome.short += 1
                case .reply(let reply): outcome.replies.append(reply)
                }
            }
        } catch {
            outcome.error = error
        }
        return outcome
    }

    private func publication(bytes: Int, tags: Int = 0) -> [UInt8] {
        var publication = Publication(data: Payload([UInt8](repeating: 120, count: bytes)), offset: 300, time: 1)
        for number in 0..<tags { publication.tags.append(Tag(key: "tag", value: ByteString("\(number)"))) }
        var frame: [UInt8] = []
        ProtobufCodec.encode(Reply(id: 0, .push(Push(channel: "order:1", .publication(publication)))), into: &frame)
        return frame
    }

    @Test(
        "a push of a publication and nothing else takes the short way",
        arguments: [0, 1, 100, 127, 128, 400, 16_000]
    )
    func plain(_ bytes: Int) {
        let frame = publication(bytes: bytes) + publication(bytes: bytes, tags: 2)
        let outcome = frame.withUnsafeBytes { short($0) }
        #expect(outcome.short == 2)
        #expect(outcome.replies == frame.withUnsafeBytes { long($0) }.replies)
    }

    @Test("frames that are cut or changed anywhere mean the same both ways, and nothing behind their end is read")
    func same() throws {
        var random = SeededRandom(seed: 31)
        var all: [UInt8] = []
        for reply in Samples.replies.map(\.1) { ProtobufCodec.encode(reply, into: &all) }
        let frames =
            try TranscriptTests.frames().map(\.bytes) + [all]
            + [publication(bytes: 300), publication(bytes: 20, tags: 1) + publication(bytes: 1)]
        let guarded = GuardedMemory(capacity: 65_536)
        var taken = 0
        for round in 0..<20_000 {
            let frame = frames[round % frames.count]
            let changed = round % 3 == 0 ? Array(frame.prefix(round / 3 % (frame.count + 1))) : random.mutated(frame)
            let (left, right) = guarded.withBytes(changed) { (long($0), short($0)) }
            taken += right.short
            #expect(left.replies == right.replies && left.error == right.error, "\(changed)")
        }
        #expect(taken > 200)
    }

    @Test("what few publications have is kept with them, and they are equal by all of it")
    func rest() {
        let plain = Publication(data: Payload("1"), offset: 7)
        var full = plain
        full.info = ClientInfo(user: "ann", client: "c")
        full.tags = [Tag(key: "event", value: "said")]
        full.channel = "order:1"
        full.epoch = "e"
        #expect(full.info?.user == "ann" && full.tags.count == 1 && full.channel == "order:1" && full.epoch == "e")
        #expect(plain.info == nil && plain.tags.isEmpty && plain.channel.isEmpty && plain.epoch.isEmpty)
        #expect(full != plain)
        full.info = nil
        full.tags = []
        full.channel = .empty
        #expect(full != plain && full.epoch == "e")
        full.epoch = .empty
        #expect(full == plain)
    }
}

import BridgeTestSupport
import RoomsRuntime
import RoomsWire
import Testing

@Suite struct ProtobufCodecTests {
    @Test("C03: a frame with sixteen messages is handled fully and in order")
    func sixteen() throws {
        var replies: [Reply] = []
        for id in 1...4 as ClosedRange<UInt32> {
            replies.append(.ping)
            replies.append(Reply(id: id, .unsubscribe))
            replies.append(
                Reply(id: 0, .push(Push(channel: ByteString("order:\(id)"), .publication(Samples.publication))))
            )
            replies.append(Reply(id: id, .error(ErrorReply(code: 106, message: "limit exceeded"))))
        }
        #expect(try decoded(encoded(replies)) == replies)
        #expect(replies.count == 16)
    }

    @Test("the frames of the protocol's own description decode to what it says")
    func described() throws {
        let connect = "3908012a350a24" + String(repeating: "61", count: 36) + "1209362e392e36204f5353" + "38194001"
        var result = ConnectResult()
        result.client = ByteString(String(repeating: "a", count: 36))
        result.version = "6.9.6 OSS"
        result.ping = 25
        result.pong = true
        #expect(try decoded(hex(connect)) == [Reply(id: 1, .connect(result))])
        let push = Push(channel: "order:bin", .publication(Publication(data: Payload([0, 1, 2, 0xff]), offset: 2)))
        let text = "172215" + "12096f726465723a62696e" + "220822040001" + "02ff" + "3002"
        #expect(try decoded(hex(text)) == [Reply(id: 0, .push(push))])
        #expect(try decoded([0]) == [.ping])
        #expect(encoded(Command.pong) == [0])
    }

    @Test("each kind of reply is written in the fields of the schema", arguments: Samples.replies)
    func reply(_ text: String, _ reply: Reply) throws {
        #expect(encoded([reply]) == hex(text))
        #expect(try decoded(hex(text)) == [reply])
    }

    @Test("each kind of command is written in the fields of the schema", arguments: Samples.commands)
    func command(_ text: String, _ command: Command) throws {
        #expect(encoded(command) == hex(text))
        #expect(try commands(hex(text)) == [command])
    }

    @Test("C04 and C09: what is not known is gone over", arguments: Samples.unknowns)
    func unknown(_ fields: String) throws {
        // Before, between and behind the fields of a reply, its push and its publication.
        let unknown = hex(fields)
        let pub = unknown + field(4, Array("{}".utf8)) + unknown + hex("3007") + unknown
        let push = unknown + field(2, Array("a".utf8)) + unknown + field(4, pub) + unknown
        let frame = delimited(unknown + field(4, push) + unknown)
        let expected = Push(channel: "a", .publication(Publication(data: Payload("{}"), offset: 7)))
        #expect(try decoded(frame) == [Reply(id: 0, .push(expected))])
        // Alone it is neither a ping nor a reply.
        #expect(try decoded(delimited(unknown)) == [Reply(id: 0, .unknown)])
        #expect(try decoded(delimited(hex("0809") + unknown)) == [Reply(id: 9, .unknown)])
        #expect(try commands(delimited(hex("0809") + unknown)) == [Command(id: 9, .unknown)])
        #expect(
            try decoded(delimited(field(4, field(2, Array("a".utf8)) + unknown)))
                == [Reply(id: 0, .push(Push(channel: "a", .unknown)))]
        )
    }

    @Test("C04: a frame that breaks the rules is refused with the reason", arguments: Samples.broken)
    func broken(_ text: String, _ code: WireError.Code, _ offset: Int) {
        let frame = hex(text)
        let error = #expect(throws: WireError.self) { try decoded(frame) }
        #expect(error == WireError(code, at: offset))
    }

    @Test("of a repeated field the last one counts, numbers are cut to their width, a bool is any number")
    func lenient() throws {
        // code 2^32 + 5, temporary 2, message twice; id twice, the second time in more bytes than it needs
        let error = hex("0885808080101802") + field(2, Array("a".utf8)) + field(2, Array("b".utf8))
        let expected = Reply(id: 2, .error(ErrorReply(code: 5, message: "b", isTemporary: true)))
        #expect(try decoded(delimited(hex("0801") + hex("08828000") + field(2, error))) == [expected])
    }

    @Test("C04: a frame that is cut anywhere is refused, and nothing behind its end is read")
    func cut() throws {
        let replies = Samples.replies.map(\.1)
        let frame = encoded(replies)
        let boundaries = Set(replies.indices.map { encoded(Array(replies[...$0])).count })
        let guarded = GuardedMemory(capacity: frame.count)
        for end in 0...frame.count {
            var count = 0
            var isRefused = false
            do throws(WireError) {
                try guarded.withBytes(frame[..<end]) { (bytes) throws(WireError) in
                    try ProtobufCodec.decodeReplies(bytes) { reply in
                        #expect(reply == replies[count])
                        count += 1
                    }
                }
            } catch {
                isRefused = true
            }
            #expect(isRefused != boundaries.contains(end), "\(end)")
        }
    }

    @Test("a message that is cut anywhere inside its frame is refused")
    func cutInside() throws {
        for (text, reply) in Samples.replies where reply != .ping {
            let message = Array(hex(text).drop { $0 >= 0x80 }.dropFirst())
            for end in 1..<message.count {
                // A field may end there: then the message is another one, but never this.
                #expect((try? decoded(delimited(Array(message[..<end])))) != [reply], "\(text) \(end)")
            }
        }
    }

    @Test("behind a whole command stray bytes are ignored, before it they are not")
    func stray() throws {
        let connect = hex("0408012200")
        for stray in ["05", "0501", "80", "ffffffffffffffffffff01"] {
            #expect(try commands(connect + hex(stray)) == [Command(id: 1, .connect(ConnectRequest()))])
            #expect(throws: WireError.self) { try commands(hex(stray)) }
            // From a server nothing of that is expected.
            #expect(throws: WireError.self) { try decoded(hex("00") + hex(stray)) }
        }
        // A whole one that is not a command is no stray byte.
        #expect(throws: WireError.self) { try commands(connect + hex("022000")) }
    }

    @Test("long messages and lengths of every size come back as they were")
    func lengths() throws {
        for count in [0, 1, 100, 117, 118, 119, 120, 127, 128, 129, 16_383, 16_384, 2_097_151, 2_097_152] {
            var result = HistoryResult()
            result.publications = [Publication(data: Payload([UInt8](repeating: 7, count: count)), offset: .max)]
            result.epoch = "e"
            var bytes: [UInt8] = [42]
            ProtobufCodec.encode(Reply(id: .max, .history(result)), into: &bytes)
            #expect(bytes[0] == 42)
            #expect(try decoded(Array(bytes.dropFirst())) == [Reply(id: .max, .history(result))])
        }
    }

    @Test("C04: mutated frames never end the process, and nothing behind their end is read")
    func mutations() throws {
        var random = SeededRandom(seed: 469)
        let frames = try TranscriptTests.frames().map(\.bytes) + [encoded(Samples.replies.map(\.1))]
        let guarded = GuardedMemory(capacity: 65_536)
        var accepted = 0
        for _ in 0..<12_000 {
            let frame = random.mutated(frames[Int.random(in: 0..<frames.count, using: &random)])
            var replies: [Reply] = []
            var commands: [Command] = []
            let isReplies = guarded.withBytes(frame) { bytes in
                (try? ProtobufCodec.decodeReplies(bytes) { replies.append($0) }) != nil
            }
            guarded.withBytes(frame) { bytes in try? ProtobufCodec.decodeCommands(bytes) { commands.append($0) } }
            if isReplies { accepted += 1 }
            // What was understood is a message: written again it is understood the same way.
            for reply in replies where !reply.isUnknown {
                #expect(try decoded(encoded([reply])) == [reply])
            }
            for command in commands where command.request != .unknown && command.request != .pong {
                #expect(try self.commands(encoded(command)) == [command])
            }
        }
        #expect(accepted > 500)
    }

    // MARK: - Bytes

    private func encoded(_ replies: [Reply]) -> [UInt8] {
        var bytes: [UInt8] = []
        for reply in replies { ProtobufCodec.encode(reply, into: &bytes) }
        return bytes
    }

    private func encoded(_ command: Command) -> [UInt8] {
        var bytes: [UInt8] = []
        ProtobufCodec.encode(command, into: &bytes)
        return bytes
    }

    private func decoded(_ frame: [UInt8]) throws -> [Reply] {
        var replies: [Reply] = []
        try frame.withUnsafeBytes { bytes in
            try ProtobufCodec.decodeReplies(bytes) { replies.append($0) }
        }
        return replies
    }

    private func commands(_ frame: [UInt8]) throws -> [Command] {
        var commands: [Command] = []
        try frame.withUnsafeBytes { bytes in
            try ProtobufCodec.decodeCommands(bytes) { commands.append($0) }
        }
        return commands
    }

    private func hex(_ text: String) -> [UInt8] { Samples.hex(text) }

    private func field(_ number: UInt8, _ bytes: [UInt8]) -> [UInt8] { [number << 3 | 2] + delimited(bytes) }

    private func delimited(_ message: [UInt8]) -> [UInt8] {
        let count = message.count
        return (count < 0x80 ? [UInt8(count)] : [UInt8(count & 0x7f | 0x80), UInt8(count >> 7)]) + message
    }
}

extension Reply {
    fileprivate var isUnknown: Bool {
        switch body {
        case .unknown: true
        case .push(let push): push.body == .unknown
        // The empty reply with an id is another message than the ping.
        case .ping: id != 0
        default: false
        }
    }
}

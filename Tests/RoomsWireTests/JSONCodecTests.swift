import BridgeTestSupport
import RoomsRuntime
import RoomsWire
import Testing

@Suite struct JSONCodecTests {
    @Test(
        "each kind of reply is written as a real server does, and read",
        arguments: zip(JSONSamples.replies, Samples.replies)
    )
    func reply(_ text: String, _ sample: (String, Reply)) throws {
        #expect(encoded(sample.1) == text)
        #expect(try replies(text) == [sample.1])
    }

    @Test("each kind of command is written and read", arguments: zip(JSONSamples.commands, Samples.commands))
    func command(_ text: String, _ sample: (String, Command)) throws {
        #expect(encoded(sample.1) == text)
        #expect(try commands(text) == [sample.1])
    }

    @Test("every kind has a sample")
    func complete() {
        #expect(JSONSamples.replies.count == Samples.replies.count)
        #expect(JSONSamples.commands.count == Samples.commands.count)
    }

    // MARK: - Replies

    @Test("payloads are spliced in as a real server does, or the reply is refused", arguments: JSONSamples.payloads)
    func payload(_ payload: String, _ written: String?) throws {
        let publication = Publication(data: Payload(payload), offset: 1)
        let push = Reply(id: 0, .push(Push(channel: "a", .publication(publication))))
        let rpc = Reply(id: 1, .rpc(data: Array(payload.utf8)))
        guard let written else {
            #expect(encoded(push) == "not JSON")
            #expect(encoded(rpc) == "not JSON")
            return
        }
        #expect(encoded(push) == ##"{"push":{"channel":"a","pub":{"data":\##(written),"offset":1}}}"##)
        #expect(encoded(rpc) == ##"{"id":1,"rpc":{"data":\##(written)}}"##)
        #expect(try replies(encoded(rpc)) == [Reply(id: 1, .rpc(data: Array(written.trimmingSpaces.utf8)))])
    }

    @Test("bytes that are not UTF-8 go on in payloads, any depth too")
    func unchecked() throws {
        let deep = [UInt8](repeating: 0x5b, count: 30_000) + [UInt8](repeating: 0x5d, count: 30_000)
        for payload in [Array("\"a".utf8) + [0xff, 0xed, 0xa0, 0x80, 0x22], [0x22, 0xc3, 0x22], deep] {
            var bytes: [UInt8] = []
            #expect(JSONCodec.encode(Reply(id: 1, .rpc(data: payload)), into: &bytes))
            #expect(bytes == Array(#"{"id":1,"rpc":{"data":"#.utf8) + payload + Array("}}".utf8))
            let read = bytes.withUnsafeBytes { bytes in
                var replies: [Reply] = []
                try? JSONCodec.decodeReplies(bytes) { replies.append($0) }
                return replies
            }
            #expect(read == [Reply(id: 1, .rpc(data: payload))])
        }
    }

    @Test("a refused reply leaves the bytes before it as they were, wherever the payload stands")
    func refused() {
        var info = ClientInfo(user: "u", client: "c")
        info.chanInfo = [0xff]
        var history = HistoryResult()
        history.publications = [
            Publication(data: Payload("1")), Publication(data: Payload("{")), Publication(data: Payload("2")),
        ]
        var connect = ConnectResult()
        connect.data = Array("x".utf8)
        let refused: [ReplyBody] = [
            .push(Push(channel: "a", .join(info))), .history(history), .connect(connect),
            .presence(clients: [PresenceEntry(key: "c", info: info)]),
            .push(Push(channel: "", .message(data: Array("x".utf8)))),
        ]
        for body in refused {
            var bytes = Array("{}\n".utf8)
            #expect(!JSONCodec.encode(Reply(id: 1, body), into: &bytes))
            #expect(bytes == Array("{}\n".utf8))
        }
    }

    @Test("our own strings are escaped as a real server does", arguments: JSONSamples.strings)
    func strings(_ text: String, _ written: String) throws {
        let publication = Publication(data: Payload("1"), tags: [Tag(key: ByteString(text), value: ByteString(text))])
        let reply = Reply(id: 0, .push(Push(channel: "a", .publication(publication))))
        #expect(
            encoded(reply) == ##"{"push":{"channel":"a","pub":{"data":1,"tags":{"\##(written)":"\##(written)"}}}}"##
        )
        #expect(try replies(encoded(reply)) == [reply])
    }

    @Test("each byte of our own strings that is not UTF-8 is written as U+FFFD")
    func notUTF8() {
        let message = ByteString([0x61, 0xff, 0xe2, 0x80, 0x62, 0xed, 0xa0, 0x80, 0xe2])
        let reply = Reply(id: 0, .error(ErrorReply(code: 0, message: message)))
        #expect(
            encoded(reply) == #"{"error":{"message":"a\ufffd\ufffd\ufffdb\ufffd\ufffd\ufffd\ufffd"}}"#
        )
    }

    @Test("what is always there is there when it is empty; what is unknown is a reply all the same")
    func empty() throws {
        #expect(
            encoded(Reply(id: 1, .history(HistoryResult())))
                == #"{"id":1,"history":{"publications":[],"epoch":"","offset":0}}"#
        )
        #expect(encoded(Reply(id: 1, .presence(clients: []))) == #"{"id":1,"presence":{"presence":{}}}"#)
        #expect(
            encoded(Reply(id: 1, .presenceStats(clients: 0, users: 0)))
                == #"{"id":1,"presence_stats":{"num_clients":0,"num_users":0}}"#
        )
        #expect(encoded(Reply(id: 1, .subscribe(SubscribeResult()))) == #"{"id":1,"subscribe":{}}"#)
        #expect(try replies(#"{"id":1,"subscribe":null}"#) == [Reply(id: 1, .unknown)])
        #expect(try replies(#"{"yyy":[1]}"#) == [Reply(id: 0, .unknown)])
        #expect(
            try replies(#"{"push":{"channel":"a","zzz":{}}}"#) == [Reply(id: 0, .push(Push(channel: "a", .unknown)))]
        )
    }

    // MARK: - Commands

    @Test("commands are taken as leniently as a real server takes them", arguments: JSONSamples.lenient)
    func lenient(_ frame: String, _ commands: [String]) throws {
        #expect(try self.commands(frame).map(encoded) == commands)
    }

    @Test("a frame that breaks the rules is refused with the reason", arguments: JSONSamples.mistakes)
    func mistake(_ frame: String, _ code: WireError.Code, _ offset: Int) {
        #expect(verdict(Array(frame.utf8)).error == WireError(code, at: offset))
    }

    @Test("commands before a line that breaks the rules are handed over")
    func before() {
        let (commands, error) = verdict(Array("{}\n{\"id\":1}\n[]\n{}".utf8))
        #expect(commands == [.pong, Command(id: 1, .unknown)])
        #expect(error == WireError(.wrongType, at: 12))
    }

    @Test("of several requests in one command the one a real server looks for first counts")
    func precedence() throws {
        let methods = JSONSamples.methods
        for (index, first) in methods.enumerated() {
            for second in methods[index...] {
                let expected = try commands(##"{"id":5,"\##(first)":{}}"##)
                #expect(expected.map(\.request) != [.unknown])
                #expect(try commands(##"{"id":5,"\##(second)":{},"\##(first)":{}}"##) == expected)
                #expect(try commands(##"{"id":5,"\##(first)":{},"\##(second)":{}}"##) == expected)
            }
        }
    }

    @Test("bytes that are not UTF-8 are taken in commands")
    func commandsNotUTF8() {
        let start = Array(#"{"id":1,"connect":{"name":""#.utf8)
        let frame = start + [0xff] + Array(#"","data":""#.utf8) + [0xff] + Array(#""}}"#.utf8)
        var expected = ConnectRequest()
        expected.name = ByteString([0xff])
        expected.data = [0x22, 0xff, 0x22]
        #expect(verdict(frame).commands == [Command(id: 1, .connect(expected))])
    }

    // MARK: - Broken frames

    @Test("a message that is cut anywhere is refused, and nothing behind its end is read")
    func cut() {
        let guarded = GuardedMemory(capacity: 4096)
        for text in JSONSamples.replies + JSONSamples.commands {
            let frame = Array(text.utf8)
            for end in 0..<frame.count {
                guarded.withBytes(frame[..<end]) { bytes in
                    #expect(throws: WireError.self) { try JSONCodec.decodeReplies(bytes) { _ in } }
                    #expect(throws: WireError.self) { try JSONCodec.decodeCommands(bytes) { _ in } }
                }
            }
        }
    }

    @Test("random and mutated frames never end the process, and what is read is written and read again")
    func mutations() throws {
        var random = SeededRandom(seed: 470)
        let lenient = JSONSamples.lenient.map(\.0) + JSONSamples.strings.map { ##"{"error":{"message":"\##($0.1)"}}"## }
        let frames = (JSONSamples.replies + JSONSamples.commands + lenient).map { Array($0.utf8) }
        let guarded = GuardedMemory(capacity: 65_536)
        var accepted = 0
        for round in 0..<12_000 {
            let frame =
                round % 12 == 0
                ? (0..<Int.random(in: 0...40, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
                : random.mutated(frames[Int.random(in: 0..<frames.count, using: &random)])
            var replies: [Reply] = []
            var commands: [Command] = []
            guarded.withBytes(frame) { bytes in try? JSONCodec.decodeReplies(bytes) { replies.append($0) } }
            guarded.withBytes(frame) { bytes in try? JSONCodec.decodeCommands(bytes) { commands.append($0) } }
            accepted += replies.count
            // Text that is not UTF-8 is not written as it was; a reply of nothing known is written as a ping.
            guard String(validating: frame, as: UTF8.self) != nil else { continue }
            for reply in replies where reply != Reply(id: 0, .unknown) {
                #expect(try self.replies(encoded(reply)) == [reply])
            }
            for command in commands { #expect(try self.commands(encoded(command)) == [command]) }
        }
        #expect(accepted > 500)
    }

    // MARK: - Recordings

    @Test("every recorded frame of a server decodes, and encodes to the same bytes")
    func recordedReplies() throws {
        var count = 0
        for transcript in try Transcript.all() where !transcript.isProtobuf {
            for (number, line) in transcript.lines.enumerated() where line["from"]?.string == "server" {
                guard let frame = line["text"]?.string else { continue }
                count += 1
                let lines = try replies(frame.string).map(encoded)
                #expect(lines.joined(separator: "\n") == frame.string, "\(transcript.name):\(number + 1)")
            }
        }
        #expect(count == 553)
    }

    @Test("every recorded frame of a client decodes unless the server refused it")
    func recordedCommands() throws {
        var count = 0
        var refused: [String] = []
        for transcript in try Transcript.all() where !transcript.isProtobuf {
            for (number, line) in transcript.lines.enumerated() where line["from"]?.string == "client" {
                let hex = line["hex"]?.string.flatMap { bytes(hex: $0.string) }
                guard let frame = hex ?? line["text"]?.string?.bytes else { continue }
                count += 1
                let (decoded, error) = verdict(frame)
                #expect(error != nil || !decoded.isEmpty)
                if error != nil {
                    refused.append(ByteString(frame).string)
                    let end = transcript.lines[number...].first {
                        $0["conn"]?.string == line["conn"]?.string && $0["event"]?.string == "close"
                    }
                    #expect(end?["code"]?.integer() == 3501, "\(transcript.name):\(number + 1)")
                }
                // What is not UTF-8 is not written again as it was.
                guard String(validating: frame, as: UTF8.self) != nil else { continue }
                for command in decoded { #expect(try commands(encoded(command)) == [command]) }
            }
        }
        #expect(count > 400)
        #expect(refused == JSONSamples.recordedMistakes)
    }

    // MARK: - Bytes

    private func encoded(_ reply: Reply) -> String {
        var bytes: [UInt8] = []
        return JSONCodec.encode(reply, into: &bytes) ? ByteString(bytes).string : "not JSON"
    }

    private func encoded(_ command: Command) -> String {
        var bytes: [UInt8] = []
        JSONCodec.encode(command, into: &bytes)
        return ByteString(bytes).string
    }

    private func replies(_ frame: String) throws -> [Reply] {
        var replies: [Reply] = []
        try Array(frame.utf8).withUnsafeBytes { bytes in
            try JSONCodec.decodeReplies(bytes) { replies.append($0) }
        }
        return replies
    }

    /// The commands before the first mistake, and the mistake.
    private func verdict(_ frame: [UInt8]) -> (commands: [Command], error: WireError?) {
        frame.withUnsafeBytes { bytes in
            var commands: [Command] = []
            do throws(WireError) {
                try JSONCodec.decodeCommands(bytes) { commands.append($0) }
                return (commands, nil)
            } catch {
                return (commands, error)
            }
        }
    }

    private func commands(_ frame: String) throws -> [Command] {
        var commands: [Command] = []
        try Array(frame.utf8).withUnsafeBytes { bytes in
            try JSONCodec.decodeCommands(bytes) { commands.append($0) }
        }
        return commands
    }
}

extension String {
    fileprivate var trimmingSpaces: String { String(drop { $0 == " " }.reversed().drop { $0 == " " }.reversed()) }
}

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

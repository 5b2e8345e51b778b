import BridgeTestSupport
import RoomsRuntime
import RoomsWire
import Testing

/// Protobuf frames of a real server and of official clients, copied from its recordings.
@Suite struct TranscriptTests {
    struct Frame {
        var scenario: String
        var line: Int
        var isFromClient: Bool
        var connection: ByteString
        var bytes: [UInt8]
        /// Nil where the recorder says that this is no valid frame, or not what a client may say.
        var means: [Fact]?
    }

    static func frames() throws -> [Frame] {
        var frames: [Frame] = []
        for transcript in try Transcript.all() where transcript.isProtobuf {
            for (number, node) in transcript.lines.enumerated() {
                // The server takes a text frame with the same bytes as well; one is recorded.
                let text = node["text"]?.string?.bytes
                guard let content = node["hex"]?.string.map({ bytes(hex: $0.string) }) ?? text else { continue }
                frames.append(
                    Frame(
                        scenario: transcript.name,
                        line: number + 1,
                        isFromClient: node["from"]?.string == "client",
                        connection: node["conn"]?.string ?? .empty,
                        bytes: content,
                        means: node["means"]?.elements.map { $0.compactMap { Fact($0) } }
                    )
                )
            }
        }
        return frames
    }

    @Test("C69: every recorded frame decodes to what it means, and encodes to the same bytes")
    func recorded() throws {
        var count = 0
        for frame in try Self.frames() {
            guard let means = frame.means else { continue }
            count += 1
            var decoded: [Fact] = []
            var encoded: [UInt8] = []
            try frame.bytes.withUnsafeBytes { bytes in
                if frame.isFromClient {
                    try ProtobufCodec.decodeCommands(bytes) { command in
                        decoded.append(Fact(command))
                        ProtobufCodec.encode(command, into: &encoded)
                    }
                } else {
                    try ProtobufCodec.decodeReplies(bytes) { reply in
                        decoded.append(Fact(reply))
                        ProtobufCodec.encode(reply, into: &encoded)
                    }
                }
            }
            #expect(decoded == means, "\(frame.scenario):\(frame.line)")
            #expect(encoded == frame.bytes, "\(frame.scenario):\(frame.line)")
        }
        #expect(count == 470)
    }

    @Test("C69: recorded mistakes of clients are refused where the server refused them")
    func mistakes() throws {
        let frames = try Self.frames().filter { $0.means == nil }
        #expect(frames.count == 13)
        let verdicts = frames.map { frame in
            frame.bytes.withUnsafeBytes { bytes -> String in
                var commands: [Command] = []
                do throws(WireError) {
                    try ProtobufCodec.decodeCommands(bytes) { commands.append($0) }
                    return "\(commands.map { $0.request == .pong ? "pong" : "\($0.id)" })"
                } catch {
                    return "\(error.code)"
                }
            }
        }
        #expect(
            verdicts == [
                "emptyFrame",
                "lengthBeyondEnd",
                "cutOff",
                "cutOff",
                // Well-formed; what is wrong with some of them is for the layer above to see.
                #"["pong"]"#,
                #"["1", "2"]"#,
                #"["1"]"#,
                #"["pong"]"#,
                #"["1"]"#,
                #"["1"]"#,
                "wrongWireType",
                #"["pong", "1"]"#,
                #"["1"]"#,
            ]
        )
    }
}

import BridgeTestSupport
import RoomsRuntime
import RoomsWebSocket
import Testing

@Suite struct WebSocketSessionTests {
    @Test(
        "Messages of every length class pass both ways unchanged",
        arguments: [0, 1, 125, 126, 4_096, 65_535, 65_536, 1_000_003]
    )
    func messages(length: Int) {
        let bytes = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        let client = WebSocketSession(role: .client)
        let server = WebSocketSession(role: .server)
        client.sendBinary(bytes)
        #expect(server.take(from: client, step: 1_000) == [.binary(bytes)])
        server.sendBinary(bytes)
        #expect(client.take(from: server, step: 70_000) == [.binary(bytes)])
    }

    @Test("Bytes may arrive one at a time or many messages at once")
    func slicing() {
        let server = WebSocketSession(role: .server)
        for text in ["one", "two", "three"] { server.sendText(Array(text.utf8)) }
        var bytes: [UInt8] = []
        server.takeOutput(into: &bytes)
        for step in [1, 2, 3, bytes.count] {
            let client = WebSocketSession(role: .client)
            #expect(client.feed(bytes, step: step) == ["one", "two", "three"].map { .text(Array($0.utf8)) })
        }
    }

    @Test("A client masks what it sends, with another key each time; a server does not")
    func masking() {
        let client = WebSocketSession(role: .client)
        client.sendBinary([1, 2, 3, 4])
        client.sendBinary([1, 2, 3, 4])
        var bytes: [UInt8] = []
        client.takeOutput(into: &bytes)
        #expect(bytes.count == 20)
        #expect(bytes[1] == 0x84 && bytes[11] == 0x84)
        #expect(bytes[2..<6] != bytes[12..<16])
        let server = WebSocketSession(role: .server)
        server.sendBinary([1, 2, 3, 4])
        var plain: [UInt8] = []
        server.takeOutput(into: &plain)
        #expect(plain == [0x82, 4, 1, 2, 3, 4])
    }

    @Test("Fragments are put together, with a ping in between answered")
    func fragments() {
        let client = WebSocketSession(role: .client)
        let frames: [UInt8] = [0x02, 2, 1, 2, 0x89, 1, 9, 0x00, 0, 0x80, 2, 3, 4]
        for step in [1, 2, frames.count] {
            #expect(client.feed(frames, step: step) == [.binary([1, 2, 3, 4])])
            let server = WebSocketSession(role: .server)
            #expect(server.take(from: client) == [])
            #expect(server.queuedBytes == 0)
        }
    }

    @Test("A ping is answered by a pong with the same content")
    func pong() {
        let server = WebSocketSession(role: .server)
        #expect(server.feed([0x89, 0x82, 0, 0, 0, 0, 7, 8]) == [])
        var bytes: [UInt8] = []
        server.takeOutput(into: &bytes)
        #expect(bytes == [0x8a, 2, 7, 8])
    }

    @Test(
        "A close carries code and reason across and is answered",
        arguments: [1_000, 1_001, 1_011, 3_000, 3_500, 4_999] as [UInt16]
    )
    func close(code: UInt16) {
        let client = WebSocketSession(role: .client)
        let server = WebSocketSession(role: .server)
        server.sendBinary([1])
        server.sendClose(code: code, reason: "because")
        server.sendBinary([2])
        #expect(client.take(from: server) == [.binary([1]), .close(code, "because")])
        #expect(server.take(from: client) == [.close(code, "because")])
        #expect(client.feed([0x82, 1, 1]) == [])
    }

    @Test("Close codes registered after RFC 6455 are closes as well", arguments: [1_012, 1_013, 1_014] as [UInt16])
    func lateCodes(code: UInt16) {
        let client = WebSocketSession(role: .client)
        let frame: [UInt8] = [0x88, 4, UInt8(code >> 8), UInt8(code & 255), 0x68, 0x69]
        #expect(client.feed(frame) == [.close(code, "hi")])
    }

    @Test("A close without a code is 1005")
    func emptyClose() {
        #expect(WebSocketSession(role: .client).feed([0x88, 0]) == [.close(1_005, "")])
    }

    @Test("A long reason is cut between characters")
    func longReason() {
        let client = WebSocketSession(role: .client)
        let server = WebSocketSession(role: .server)
        server.sendClose(code: 3_000, reason: ByteString("x" + String(repeating: "\u{e9}", count: 100)))
        #expect(client.take(from: server) == [.close(3_000, "x" + String(repeating: "\u{e9}", count: 61))])
    }

    struct Broken: Sendable, CustomTestStringConvertible {
        var name: String
        var frame: [UInt8]
        var code: UInt16
        var testDescription: String { name }
        init(_ name: String, _ code: UInt16, _ frame: [UInt8]) {
            self.name = name
            self.frame = frame
            self.code = code
        }
    }

    @Test(
        "What a server must not send is a violation, and the close says so",
        arguments: [
            Broken("masked frame", 1_002, [0x82, 0x81, 0, 0, 0, 0, 1]),
            Broken("first reserved bit", 1_002, [0xc2, 1, 1]),
            Broken("second reserved bit", 1_002, [0xa2, 1, 1]),
            Broken("third reserved bit", 1_002, [0x92, 1, 1]),
            Broken("unknown opcode", 1_002, [0x83, 1, 1]),
            Broken("unknown control opcode", 1_002, [0x8b, 0]),
            Broken("continuation of nothing", 1_002, [0x80, 1, 1]),
            Broken("new message inside a fragmented one", 1_002, [0x02, 1, 1, 0x82, 1, 1]),
            Broken("fragmented ping", 1_002, [0x09, 0]),
            Broken("long ping", 1_002, [0x89, 126, 0, 126] + [UInt8](repeating: 0, count: 126)),
            Broken("length not minimal", 1_002, [0x82, 126, 0, 5, 1, 2, 3, 4, 5]),
            Broken("length with the top bit", 1_002, [0x82, 127, 0x80, 0, 0, 0, 0, 0, 0, 0, 1]),
            Broken("length of 2^63 - 1", 1_009, [0x82, 127, 0x7f, 255, 255, 255, 255, 255, 255, 255, 1]),
            Broken("invalid close code", 1_002, [0x88, 2, 0x03, 0xed]),
            Broken("close code 999", 1_002, [0x88, 2, 0x03, 0xe7]),
            Broken("close frame of one byte", 1_002, [0x88, 1, 3]),
            Broken("close reason not UTF-8", 1_007, [0x88, 3, 0x03, 0xe8, 0xff]),
            Broken("text not UTF-8", 1_007, [0x81, 2, 0xc3, 0x28]),
            Broken("text cut inside a character", 1_007, [0x81, 1, 0xc3]),
        ]
    )
    func violations(_ broken: Broken) {
        for step in [1, broken.frame.count] {
            let client = WebSocketSession(role: .client)
            #expect(client.feed([0x82, 1, 42] + broken.frame, step: step) == [.binary([42]), .violation(broken.code)])
            let server = WebSocketSession(role: .server)
            #expect(server.take(from: client) == [.close(broken.code, "")])
            #expect(client.feed([0x82, 1, 1]) == [])
        }
    }

    @Test("An unmasked frame from a client is a violation")
    func unmasked() {
        #expect(WebSocketSession(role: .server).feed([0x82, 1, 1]) == [.violation(1_002)])
    }

    @Test("The message limit holds exactly, for one frame and over the sum of fragments")
    func messageLimit() {
        let limits = WebSocketLimits(maxMessage: 300)
        let content = [UInt8](repeating: 5, count: 100)
        let client = WebSocketSession(role: .client, limits: limits)
        let fitting: [UInt8] = [0x02, 100] + content + [0x00, 100] + content + [0x80, 100] + content
        #expect(client.feed(fitting) == [.binary(content + content + content)])
        #expect(
            client.feed([0x82, 126, 1, 44] + content + content + content) == [.binary(content + content + content)]
        )
        let fragmented: [UInt8] = [0x02, 100] + content + [0x00, 100] + content + [0x80, 101] + content + [5]
        #expect(client.feed(fragmented) == [.violation(1_009)])
        #expect(WebSocketSession(role: .client, limits: limits).feed([0x82, 126, 1, 45, 5]) == [.violation(1_009)])
    }

    @Test("Too many fragments are a violation even when they are empty")
    func fragmentLimit() {
        let limits = WebSocketLimits(maxFragments: 4)
        let allowed: [UInt8] = [0x02, 0, 0x00, 0, 0x00, 0, 0x80, 1, 7]
        let client = WebSocketSession(role: .client, limits: limits)
        #expect(client.feed(allowed) == [.binary([7])])
        #expect(client.feed([0x02, 0, 0x00, 0, 0x00, 0, 0x00, 0, 0x80, 0]) == [.violation(1_008)])
    }

    @Test("Control frames are limited to a rate")
    func controlRate() {
        let client = WebSocketSession(role: .client)
        var now = Instant(nanoseconds: 1_000_000_000)
        for _ in 0..<50 {
            #expect(client.feed([0x8a, 0], at: now) == [])
            now = now + .milliseconds(100)
        }
        var events: [Seen] = []
        for _ in 0..<12 { events += client.feed([0x8a, 0], at: now) }
        #expect(events == [.violation(1_008)])
    }

    @Test("Pongs that the peer does not read stay few")
    func waitingPongs() {
        let client = WebSocketSession(role: .client)
        var now = Instant(nanoseconds: 1_000_000_000)
        for _ in 0..<1_000 {
            #expect(client.feed([0x89, 4, 1, 2, 3, 4], at: now) == [])
            now = now + .milliseconds(200)
        }
        #expect(client.queuedBytes == 16 * 10)
        var bytes: [UInt8] = []
        client.takeOutput(into: &bytes)
        #expect(client.feed([0x89, 4, 1, 2, 3, 4], at: now) == [])
        #expect(client.queuedBytes == 10)
    }

    @Test("A message that drips in for longer than the limit is a violation")
    func slowMessage() {
        let client = WebSocketSession(role: .client)
        let start = Instant(nanoseconds: 1_000_000_000)
        #expect(client.feed([0x02, 1, 1], at: start) == [])
        #expect(client.feed([0x00, 1, 1], at: start + .seconds(29)) == [])
        #expect(client.feed([0x00, 1, 1], at: start + .seconds(31)) == [.violation(1_008)])
    }

    @Test("The handler may answer at once, and output is taken in pieces")
    func answering() {
        let client = WebSocketSession(role: .client)
        let server = WebSocketSession(role: .server)
        client.sendBinary([1, 2, 3])
        var sent: [UInt8] = []
        client.takeOutput(into: &sent)
        sent.withUnsafeBytes { bytes in
            server.receive(bytes) { event in
                if case .binary(let content) = event { server.sendBinary(content.reversed()) }
            }
        }
        var answer: [UInt8] = [99]
        server.takeOutput(into: &answer, limit: 2)
        #expect(answer == [99, 0x82, 3])
        #expect(server.queuedBytes == 3)
        server.takeOutput(into: &answer, limit: 100)
        #expect(answer == [99, 0x82, 3, 3, 2, 1])
    }

    @Test("Damaged streams end at most once, and what came before the damage is unchanged", arguments: [true, false])
    func damage(isClient: Bool) {
        var random = SeededRandom(seed: isClient ? 1 : 2)
        let limits = WebSocketLimits(maxMessage: 2_000, maxFragments: 8)
        for _ in 0..<3_000 {
            let sender = WebSocketSession(role: isClient ? .server : .client)
            var sent: [Seen] = []
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                let length = [0, 1, 3, 125, 126, 700].randomElement(using: &random) ?? 0
                let message = (0..<length).map { _ in UInt8.random(in: 0...127, using: &random) }
                if random.one(in: 2) {
                    sender.sendBinary(message)
                    sent.append(.binary(message))
                } else {
                    sender.sendText(message)
                    sent.append(.text(message))
                }
            }
            var bytes: [UInt8] = []
            sender.takeOutput(into: &bytes)
            let damaged = random.mutated(bytes)
            let receiver = WebSocketSession(role: isClient ? .client : .server, limits: limits)
            let seen = receiver.feed(damaged, step: Int.random(in: 1...200, using: &random))
            let ends = seen.indices.filter {
                if case .binary = seen[$0] { false } else if case .text = seen[$0] { false } else { true }
            }
            #expect(ends.isEmpty || ends == [seen.count - 1])
            let intact = zip(bytes, damaged).prefix { $0 == $1 }.count
            let whole = WebSocketSession(role: isClient ? .client : .server).feed(Array(bytes[..<intact]))
            #expect(seen.starts(with: whole))
            #expect(sent.starts(with: whole))
        }
    }

    @Test("The accept value is the one of RFC 6455 section 1.3")
    func handshake() {
        #expect(WebSocketHandshake.acceptValue(for: "dGhlIHNhbXBsZSBub25jZQ==") == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
        #expect(WebSocketHandshake.makeKey().count == 24)
        #expect(WebSocketHandshake.makeKey() != WebSocketHandshake.makeKey())
    }
}

/// An event with its bytes copied.
enum Seen: Equatable {
    case binary([UInt8])
    case text([UInt8])
    case close(UInt16, String)
    case violation(UInt16)
}

extension WebSocketSession {
    fileprivate func feed(_ bytes: [UInt8], step: Int = .max, at now: Instant = SystemClock.now) -> [Seen] {
        var seen: [Seen] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            let part = Array(rest.prefix(step))
            rest = rest.dropFirst(step)
            part.withUnsafeBytes { bytes in
                receive(bytes, at: now) { event in
                    switch event {
                    case .binary(let content): seen.append(.binary([UInt8](content)))
                    case .text(let content): seen.append(.text([UInt8](content)))
                    case .close(let code, let reason): seen.append(.close(code, reason.string))
                    case .violation(let code, _): seen.append(.violation(code))
                    }
                }
            }
        }
        return seen
    }

    fileprivate func take(from peer: WebSocketSession, step: Int = .max) -> [Seen] {
        var bytes: [UInt8] = []
        peer.takeOutput(into: &bytes)
        return feed(bytes, step: step)
    }
}

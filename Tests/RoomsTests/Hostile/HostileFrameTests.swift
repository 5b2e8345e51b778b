import BridgeTestSupport
import Foundation
import RoomsRuntime
import RoomsTransport
import RoomsWebSocket
import RoomsWire
import Testing

@testable import Rooms

/// Frames that no server may send, once a room is joined and had an event.
@Suite(.timeLimit(.minutes(2))) struct HostileFrameTests {
    struct Attack: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var bytes: [UInt8]
        /// What the client says to it.
        var code: UInt16

        init(_ name: String, _ code: UInt16, _ bytes: [UInt8]) {
            testDescription = name
            self.bytes = bytes
            self.code = code
        }
    }

    static let attacks = [
        Attack("a masked frame", 1_002, [0x82, 0x81, 0, 0, 0, 0, 0]),
        Attack("a compressed message", 1_002, [0xc2, 7, 0xaa, 0x56, 0x4a, 0x54, 0xb2, 0x02, 0x00]),
        Attack("the second reserved bit", 1_002, [0xa2, 1, 0]),
        Attack("the third reserved bit", 1_002, [0x92, 1, 0]),
        Attack("a reserved bit in a continuation", 1_002, [0x02, 1, 1, 0xc0, 1, 0]),
        Attack("an unknown opcode", 1_002, [0x83, 1, 0]),
        Attack("an unknown control opcode", 1_002, [0x8b, 0]),
        Attack("a continuation of nothing", 1_002, [0x80, 1, 0]),
        Attack("a message inside another", 1_002, [0x02, 1, 1, 0x82, 1, 0]),
        Attack("a ping in fragments", 1_002, [0x09, 0]),
        Attack("a ping of 126 bytes", 1_002, [0x89, 126, 0, 126] + [UInt8](repeating: 0, count: 126)),
        Attack("a length of 2^63", 1_002, [0x82, 127, 0x80, 0, 0, 0, 0, 0, 0, 0]),
        Attack("a length of 2^64 - 1", 1_002, [0x82, 127] + [UInt8](repeating: 255, count: 8)),
        Attack("a length that is not minimal", 1_002, [0x82, 126, 0, 1, 0]),
        Attack("close code 1005", 1_002, [0x88, 2, 0x03, 0xed]),
        Attack("close code 999", 1_002, [0x88, 2, 0x03, 0xe7]),
        Attack("a close of one byte", 1_002, [0x88, 1, 3]),
        Attack("a close reason that is not UTF-8", 1_007, [0x88, 3, 0x03, 0xe8, 0xff]),
        Attack("a text that is not UTF-8", 1_007, [0x81, 2, 0xc3, 0x28]),
        Attack("a text", 1_003, [0x81, 2, 0x7b, 0x7d]),
        Attack("an empty message", 1_002, [0x82, 0]),
        Attack("eleven pings", 1_008, [UInt8](repeating: 0, count: 11).flatMap { _ in [0x89, 0] as [UInt8] }),
        Attack("eleven pongs", 1_008, [UInt8](repeating: 0, count: 11).flatMap { _ in [0x8a, 1, 7] as [UInt8] }),
        Attack("1,025 empty fragments", 1_008, [0x02, 0] + [UInt8](repeating: 0, count: 2 * 1_024)),
        Attack("1,025 fragments", 1_008, [0x02, 1, 0] + (0..<1_024).flatMap { _ in [0, 1, 0] as [UInt8] }),
    ]

    @Test("What no server may send is answered with a close, and the server is left alone for long", arguments: attacks)
    func attack(_ attack: Attack) async throws {
        let code = Lock<UInt16?>(nil)
        let server = try Attacker.server { attacker in
            attacker.welcome()
            attacker.say(.event(1))
            attacker.connection.write(attack.bytes)
            let heard = attacker.awaitClose()
            code.withLock { $0 = heard ?? 0 }
        }
        let client = try WatchedConnection(port: server.port)
        #expect(try await client.end() == "terminal 0")
        try await eventually("the close") { code.withLock { $0 } != nil }
        #expect(code.withLock { $0 } == attack.code)
        #expect(client.seen.events == 1 && client.seen.faults.isEmpty)
        #expect(server.connections == 1)
    }

    @Test(
        "A message over the limit is refused before it is here, also as the sum of its fragments",
        arguments: [
            Attack("one frame", 1_009, Attacker.header((16 << 20) + 1) + [0]),
            Attack("2^63 - 1 bytes", 1_009, [0x82, 127, 0x7f] + [UInt8](repeating: 255, count: 8)),
            Attack(
                "2^63 - 1 bytes behind one",
                1_009,
                [0x02, 1, 0] + [0x80, 127, 0x7f] + [UInt8](repeating: 255, count: 8)
            ),
            Attack(
                "two fragments",
                1_009,
                Attacker.header(16 << 20, isLast: false) + [UInt8](repeating: 0, count: 16 << 20) + [0x80, 1, 0]
            ),
        ]
    )
    func tooLarge(_ attack: Attack) async throws {
        let code = Lock<UInt16?>(nil)
        let server = try Attacker.server { attacker in
            attacker.welcome()
            attacker.connection.write(attack.bytes)
            let heard = attacker.awaitClose()
            code.withLock { $0 = heard ?? 0 }
        }
        let client = try WatchedConnection(port: server.port)
        #expect(try await client.end(within: .seconds(30)) == "waiting 1009")
        try await eventually("the close") { code.withLock { $0 } != nil }
        #expect(code.withLock { $0 } == attack.code)
    }

    @Test("The usual limits are those of the reference")
    func limits() {
        let limits = WebSocketLimits()
        #expect(limits.maxMessage == 16 << 20 && limits.maxFragments == 1_024)
        #expect(limits.maxControlFramesPerSecond == 10 && limits.messageTime == .seconds(30))
    }

    @Test(
        "A message that does not end in time ends the connection, whether more of it comes or not; it is tried again",
        arguments: [true, false]
    )
    func late(isDripping: Bool) async throws {
        let code = Lock<UInt16?>(nil)
        let server = try Attacker.server { attacker in
            guard attacker.welcome() else { return }
            attacker.connection.write(Attacker.header(1_000) + [0])
            while isDripping, attacker.connection.write([0]) { poll(nil, 0, 5) }
            let heard = attacker.awaitClose()
            code.withLock { $0 = $0 ?? heard }
        }
        let client = try WatchedConnection(port: server.port) {
            $0.webSocket.limits.messageTime = .milliseconds(150)
        }
        #expect(try await client.end() == "waiting 0")
        try await eventually("attempts") { server.connections > 2 }
        if !isDripping { #expect(code.withLock { $0 } == 1_008) }
        let reason = try #require(client.seen.reasons.first?.string)
        #expect(reason.contains("in time") || reason.contains("longer than the limit"))
    }

    @Test("Pings up to the limit are answered with what they hold")
    func pings() async throws {
        let answers = Lock<[UInt8]>([])
        let server = try Attacker.server { attacker in
            attacker.welcome()
            attacker.connection.write((0..<10).flatMap { [0x89, 1, $0] as [UInt8] })
            for _ in 0..<10 {
                let frame = attacker.connection.read(exactly: 7)
                if frame.count == 7 { answers.withLock { $0.append(frame[2] ^ frame[6]) } }
            }
            attacker.listen()
        }
        let client = try WatchedConnection(port: server.port)
        try await eventually("ten answers") { answers.withLock { $0.count } == 10 }
        #expect(answers.withLock { $0 } == Array(0..<10))
        #expect(client.seen.statuses == ["connected", "connecting"])
    }
}

import BridgeTestSupport
import Foundation
import RoomsRuntime
import RoomsTransport
import RoomsWire
import Testing

@testable import Rooms

/// Servers that send a great deal of what need not be kept: each attack is many times the bound on the memory.
@Suite(.timeLimit(.minutes(3)), .serialized) struct HostileMemoryTests {
    /// In MiB; a message of 16 MiB, its growing buffer and what is made of it are below.
    private static let bound = 96

    /// Plays `attack` once the room is joined, on each connection anew, until `attacks` of them are over.
    private func endure(
        _ attacks: Int,
        bound: Int = bound,
        _ change: (inout ConnectionOptions) -> Void = { _ in },
        sourceLocation: SourceLocation = #_sourceLocation,
        _ attack: @escaping @Sendable (Attacker) -> Void
    ) async throws {
        let over = Lock(0)
        let server = try Attacker.server { attacker in
            guard attacker.welcome() else { return }
            attack(attacker)
            over.withLock { $0 += 1 }
        }
        let memory = MemoryWatch()
        let client = try WatchedConnection(port: server.port) { options in
            options.policy.slowRetry = .milliseconds(5)
            options.policy.steadyAfter = .zero
            change(&options)
        }
        try await eventually(within: .seconds(150), "the attacks") { over.withLock { $0 } >= attacks }
        #expect(client.seen.faults == [], sourceLocation: sourceLocation)
        #expect(memory.growth < bound, "\(memory.growth) MiB at most", sourceLocation: sourceLocation)
        await client.stop()
    }

    private static let chunk = [UInt8](repeating: 0x20, count: 64 << 10)

    @Test("Messages that begin, grow to the limit and never end", arguments: [true, false])
    func unfinished(isFragmented: Bool) async throws {
        try await endure(24) { attacker in
            if isFragmented {
                let fragment = Attacker.header(Self.chunk.count, isLast: false) + Self.chunk
                attacker.connection.write(fragment)
                let more = Attacker.header(Self.chunk.count, opcode: 0, isLast: false) + Self.chunk
                for _ in 0..<250 where attacker.connection.write(more) {}
            } else {
                attacker.connection.write(Attacker.header(16 << 20))
                for _ in 0..<250 where attacker.connection.write(Self.chunk) {}
            }
            attacker.connection.reset()
        }
    }

    @Test("Fragments without end")
    func fragments() async throws {
        try await endure(60) { attacker in
            let more = (0..<1_000).flatMap { _ in [0, 0] as [UInt8] }
            guard attacker.connection.write([0x02, 0]) else { return }
            for _ in 0..<2_000 where attacker.connection.write(more) {}
        }
    }

    @Test("Pings and pongs without end, of a server that reads nothing", arguments: [0x89, 0x8a] as [UInt8])
    func controlFrames(first: UInt8) async throws {
        let flood = (0..<500).flatMap { _ in [first, 125] + [UInt8](repeating: 1, count: 125) }
        try await endure(60) { attacker in
            for _ in 0..<200 where attacker.connection.write(flood) {}
        }
    }

    @Test("Pings of the protocol without end: the answers are few, and the connection lives")
    func protocolPings() async throws {
        // A byte of nothing is a ping: 60,000 of them in each frame.
        let frame = Attacker.header(60_000) + [UInt8](repeating: 0, count: 60_000)
        let pongs = Lock(0)
        let server = try Attacker.server { attacker in
            attacker.welcome()
            for _ in 0..<100 where attacker.connection.write(frame) {}
            attacker.say(.event(1))
            while true {
                let bytes = attacker.hear()
                if bytes.isEmpty { return }
                // Binary frames of one byte, masked, and behind their 7 bytes the next.
                pongs.withLock { $0 += bytes.count / 7 }
            }
        }
        let memory = MemoryWatch()
        let client = try WatchedConnection(port: server.port)
        try await eventually(within: .seconds(60), "the event") { client.seen.events == 1 }
        #expect(pongs.withLock { $0 } < 1_000)
        #expect(server.connections == 1)
        #expect(memory.growth < 48, "\(memory.growth) MiB")
    }

    @Test("Frames of millions of the smallest messages", arguments: ["pings", "events", "replies", "unknown rooms"])
    func smallest(_ kind: String) async throws {
        let frame: [UInt8] = {
            switch kind {
            case "pings": return [UInt8](repeating: 0, count: 16 << 20)
            case "replies": return (0..<(4 << 20)).flatMap { _ in [2, 0x08, 9] as [UInt8] }
            default:
                var one: [UInt8] = []
                ProtobufCodec.encode(Reply.event(0, room: kind == "events" ? "r" : "x", data: ""), into: &one)
                var all: [UInt8] = []
                all.reserveCapacity(16 << 20)
                while all.count < (16 << 20) - one.count { all += one }
                return all
            }
        }()
        try await endure(4) { attacker in
            attacker.sayFrame(frame)
            attacker.listen()
        }
    }

    @Test(
        "Answers and events of millions of the smallest parts",
        arguments: ["recovery", "history", "tags", "subscriptions"]
    )
    func parts(_ kind: String) async throws {
        let count = 4 << 20
        let message: [UInt8] = {
            func field(_ number: UInt8, _ bytes: [UInt8]) -> [UInt8] { [number << 3 | 2] + varint(bytes.count) + bytes }
            func many(_ number: UInt8) -> [UInt8] {
                var bytes: [UInt8] = []
                bytes.reserveCapacity(2 * count)
                for _ in 0..<count { bytes += [number << 3 | 2, 0] }
                return bytes
            }
            // To the subscribe that came with id 2.
            let reply: [UInt8] =
                switch kind {
                case "recovery": [0x08, 2] + field(6, many(7))
                case "history": [0x08, 2] + field(11, many(1))
                case "tags": field(4, field(2, [0x72]) + field(4, many(7)))
                default: [0x08, 1] + field(5, many(6))
                }
            return varint(reply.count) + reply
        }()
        let over = Lock(0)
        let server = try Attacker.server { attacker in
            guard let connect = attacker.command() else { return }
            if kind != "subscriptions" {
                attacker.say(Reply(id: connect.id, .connect(.plain)))
                guard attacker.command() != nil else { return }
            }
            attacker.sayFrame(message)
            attacker.listen()
            over.withLock { $0 += 1 }
        }
        let memory = MemoryWatch()
        let client = try WatchedConnection(port: server.port) { $0.policy.slowRetry = .milliseconds(5) }
        try await eventually(within: .seconds(60), "the ends") { over.withLock { $0 } >= 4 }
        #expect(client.seen.joins == 0)
        #expect(memory.growth < Self.bound, "\(memory.growth) MiB")
    }

    @Test("Events of rooms that were not joined, and subscriptions that nobody asked for, by the hundred thousand")
    func foreignRooms() async throws {
        let memory = MemoryWatch()
        let data = String(repeating: "x", count: 1_000)
        let server = try Attacker.server { attacker in
            attacker.welcome()
            for batch in 0..<1_000 {
                attacker.say(
                    all: (0..<100).flatMap { number in
                        let room = ByteString("x:\(batch):\(number)")
                        var subscribe = SubscribePush()
                        subscribe.recoverable = true
                        subscribe.positioned = true
                        subscribe.epoch = "A"
                        return [
                            Reply(id: 0, .push(Push(channel: room, .subscribe(subscribe)))),
                            .event(1, room: room, data: data),
                        ]
                    }
                )
            }
            attacker.say(.event(1))
            attacker.serve(Attacker.honest)
        }
        let client = try WatchedConnection(port: server.port)
        try await eventually(within: .seconds(100), "the event behind them") { client.seen.positions[0]?.offset == 1 }
        #expect(client.seen.faults == [])
        #expect(client.log.count < 50, "\(client.log.count) lines")
        #expect(server.connections == 1)
        // 100 MB of events, and as many names.
        #expect(memory.growth < 64, "\(memory.growth) MiB")
    }

    @Test("Texts of megabytes in errors, reasons, epochs and versions")
    func texts() async throws {
        let text = ByteString([UInt8](repeating: 0x61, count: 4 << 20))
        let pushes: [PushBody] = [
            .message(data: text.bytes), .unsubscribe(code: 2500, reason: text),
            .publication(Publication(data: Payload("1"), offset: 1, epoch: text)),
            .disconnect(code: 3001, reason: text, reconnect: true),
        ]
        // Encoded once: the server's own copies are not to be measured.
        let frames = pushes.map { push in
            var frame: [UInt8] = []
            ProtobufCodec.encode(Reply(id: 0, .push(Push(channel: "r", push))), into: &frame)
            return frame
        }
        try await endure(16) { attacker in
            for frame in frames { attacker.sayFrame(frame) }
            attacker.listen()
        }
    }

    @Test("Events that wait for older ones do not fill the memory, not with what stands beside their data either")
    func waitingEvents() async throws {
        let tag = Tag(key: "k", value: ByteString([UInt8](repeating: 0x74, count: 1 << 20)))
        let server = try Attacker.server { attacker in
            var sent: UInt64 = 0
            while let command = attacker.command() {
                switch command.request {
                case .subscribe:
                    attacker.say(Reply(id: command.id, .subscribe(.empty(at: 10))))
                // The page never comes.
                case .history:
                    while sent < 300 {
                        sent += 1
                        let publication = Publication(data: Payload("1"), offset: 10 + sent, tags: [tag])
                        attacker.say(Reply(id: 0, .push(Push(channel: "r", .publication(publication)))))
                    }
                default: attacker.say(Reply(id: command.id, Attacker.honest(command.request)))
                }
            }
        }
        let memory = MemoryWatch()
        let start = RoomStart.resume(RoomPosition(epoch: "A", offset: 0))
        let client = try WatchedConnection(port: server.port, start: start)
        try await eventually(within: .seconds(60), "the events let go") { await client.tally().refetched > 250 }
        #expect(memory.growth < 32, "\(memory.growth) MiB")
    }

    @Test("Events that wait for an app's handler stop the reading, counted with what stands beside their data")
    func waitingHandlers() async throws {
        let tag = Tag(key: "k", value: ByteString([UInt8](repeating: 0x74, count: 1 << 20)))
        let sent = Lock(0)
        let server = try Attacker.server { attacker in
            attacker.welcome()
            for number in 1...400 as ClosedRange<UInt64> {
                let publication = Publication(data: Payload("1"), offset: number, tags: [tag])
                guard attacker.say(Reply(id: 0, .push(Push(channel: "r", .publication(publication))))) else { break }
                sent.withLock { $0 += 1 }
            }
            attacker.listen()
        }
        let memory = MemoryWatch()
        let rt = try Realtime(url: "ws://127.0.0.1:\(server.port)/")
        let room = rt.join("r")
        let (release, gate) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .unbounded)
        let heard = Lock(0)
        room.on("message") { _, _ in
            heard.withLock { $0 += 1 }
            for await _ in release {}
        }
        // Closed because nothing is read for so long.
        try await eventually(within: .seconds(30), "the end of the reading") {
            room.state == .joining && heard.withLock { $0 } == 1
        }
        #expect(memory.growth < 64, "\(memory.growth) MiB")
        gate.finish()
        await rt.close()
    }

    @Test("What still comes behind our close is not kept")
    func behindClose() async throws {
        try await endure(60) { options in
            options.webSocket.closeTimeout = .seconds(2)
        } _: { attacker in
            // Told to leave, the client closes, and waits for a close that never comes.
            attacker.say(Reply(id: 0, .push(Push(channel: "", .disconnect(code: 3001, reason: "", reconnect: true)))))
            _ = attacker.hear()
            attacker.connection.write(Attacker.header(16 << 20))
            for _ in 0..<100 where attacker.connection.write(Self.chunk) {}
            attacker.listen()
        }
    }

    @Test("A thousand connections that are let in, attacked and dropped leave nothing behind")
    func thousandConnections() async throws {
        let attacks = HostileFrameTests.attacks
        let number = Lock(0)
        try await endure(1_000, bound: 32) { attacker in
            let attack = number.withLock { number in
                number += 1
                return attacks[number % attacks.count]
            }
            var event: [UInt8] = []
            ProtobufCodec.encode(Reply.event(1), into: &event)
            attacker.connection.write(Attacker.header(event.count) + event + attack.bytes)
            attacker.listen()
        }
    }
}

private func varint(_ number: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    var rest = number
    while rest > 127 {
        bytes.append(UInt8(rest & 127) | 128)
        rest >>= 7
    }
    return bytes + [UInt8(rest)]
}

import BridgeTestSupport
import Foundation
import RoomsRuntime
import RoomsWire
import Testing

@testable import Rooms

/// What a real server said, changed at random, said to a client that lives through it and comes back.
@Suite(.timeLimit(.minutes(3))) struct MutatedTrafficTests {
    /// Everything that was recorded of a server in protobuf, and the rooms that it speaks of most.
    private struct Recorded: Sendable {
        var replies: [Reply] = []
        var pushes: [Push] = []
        var publications: [Publication] = []
        var rooms: [ByteString] = []

        init() throws {
            var counts: [ByteString: Int] = [:]
            for transcript in try Transcript.all() where transcript.isProtobuf {
                for line in transcript.lines where line["from"]?.string == "server" {
                    guard let text = line["hex"]?.string else { continue }
                    let frame = bytes(hex: text.string)
                    // Some are recorded because they are broken.
                    try? frame.withUnsafeBytes { frame in
                        try ProtobufCodec.decodeReplies(frame) { reply in
                            guard case .push(let push) = reply.body else { return replies.append(reply) }
                            if case .publication(let publication) = push.body { publications.append(publication) }
                            pushes.append(push)
                            counts[push.channel, default: 0] += 1
                        }
                    }
                }
            }
            rooms = counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map(\.key).filter { !$0.isEmpty }
            rooms = Array(rooms.prefix(6))
        }
    }

    /// A server that is mad, until it is told to behave.
    private final class Server: Sendable {
        private struct State: Sendable {
            var isSane = false
            var streams: [ByteString: StreamModel] = [:]
            var connection: RawConnection?
            var served = 0
        }

        private let recorded: Recorded
        private let seed: UInt64
        private let state = Lock(State())

        init(_ recorded: Recorded, seed: UInt64) {
            self.recorded = recorded
            self.seed = seed
            for room in recorded.rooms {
                state.withLock { $0.streams[room] = StreamModel(epoch: "sane", published: 7) }
            }
        }

        /// Of each room's stream, in their order.
        var tops: [UInt64] { state.withLock { state in recorded.rooms.map { state.streams[$0]?.top ?? 0 } } }

        var served: Int { state.withLock { $0.served } }

        /// From now on every connection is served as it should be.
        func calmDown() {
            state.withLock { state in
                state.isSane = true
                state.connection?.shutdown()
            }
        }

        func play(_ attacker: Attacker) {
            let (isSane, number) = state.withLock { state in
                state.served += 1
                state.connection = attacker.connection
                return (state.isSane, UInt64(state.served))
            }
            if isSane { serve(attacker) } else { rave(attacker, SeededRandom(seed: seed &* 1_000_003 &+ number)) }
        }

        private func serve(_ attacker: Attacker) {
            attacker.serve { request in
                switch request {
                case .subscribe(let request): .subscribe(stream(request.channel).subscribe(request))
                case .history(let request): stream(request.channel).history(request)
                default: Attacker.honest(request)
                }
            }
        }

        private func stream(_ room: ByteString) -> StreamModel { state.withLock { $0.streams[room] ?? StreamModel() } }

        private func rave(_ attacker: Attacker, _ seeded: SeededRandom) {
            var random = seeded
            pushFor(attacker.connection, SeededRandom(seed: random.next()))
            while let command = attacker.command() {
                guard answer(command, attacker.connection, &random) else { return }
            }
        }

        /// Says this and that beside the answers, then hangs up.
        private func pushFor(_ connection: RawConnection, _ seeded: SeededRandom) {
            Thread.detachNewThread { [self] in
                var random = seeded
                for _ in 0..<Int.random(in: 5...60, using: &random) {
                    guard say(Reply(id: 0, .push(push(&random))), connection, &random) else { break }
                    poll(nil, 0, 1)
                }
                connection.shutdown()
            }
        }

        /// Mostly as it should be, else with anything that was once an answer.
        private func answer(_ command: Command, _ connection: RawConnection, _ random: inout SeededRandom) -> Bool {
            guard random.one(in: 16), var reply = recorded.replies.randomElement(using: &random) else {
                let body: ReplyBody =
                    switch command.request {
                    case .subscribe(let request): .subscribe(stream(request.channel).subscribe(request))
                    case .history(let request): stream(request.channel).history(request)
                    default: Attacker.honest(command.request)
                    }
                return write(Reply(id: command.id, body), connection)
            }
            reply.id = command.id
            return say(reply, connection, &random)
        }

        /// Mostly the next event of a room, else one at an offset that may be near, or anything that was once pushed.
        private func push(_ random: inout SeededRandom) -> Push {
            let room = recorded.rooms.randomElement(using: &random) ?? .empty
            guard !random.one(in: 8), var publication = recorded.publications.randomElement(using: &random) else {
                var push = recorded.pushes.randomElement(using: &random) ?? Push(channel: room, .unknown)
                if !push.channel.isEmpty { push.channel = room }
                return push
            }
            let next = state.withLock { $0.streams[room]?.publish() }
            publication.offset = next?.offset ?? 1
            publication.epoch = .empty
            if random.one(in: 8) {
                publication.offset = UInt64.random(in: 0...(publication.offset + 3), using: &random)
            }
            if random.one(in: 30) { publication.epoch = ["sane", "other"].randomElement(using: &random) ?? "" }
            return Push(channel: room, .publication(publication))
        }

        private func say(_ reply: Reply, _ connection: RawConnection, _ random: inout SeededRandom) -> Bool {
            var message: [UInt8] = []
            ProtobufCodec.encode(reply, into: &message)
            if random.one(in: 30) { message = random.mutated(message) }
            var frame = Attacker.header(message.count) + message
            if random.one(in: 120) { frame = random.mutated(frame) }
            return connection.write(frame)
        }

        private func write(_ reply: Reply, _ connection: RawConnection) -> Bool {
            var message: [UInt8] = []
            ProtobufCodec.encode(reply, into: &message)
            return connection.write(Attacker.header(message.count) + message)
        }

        /// One more event in each room, to whoever is connected now.
        func publish() {
            state.withLock { state in
                for room in recorded.rooms {
                    guard let publication = state.streams[room]?.publish(), let connection = state.connection else {
                        continue
                    }
                    _ = write(Reply(id: 0, .push(Push(channel: room, .publication(publication)))), connection)
                }
            }
        }
    }

    @Test("Whatever comes, nothing is out of order, and a server that behaves again is joined again", arguments: 1...4)
    func mutated(seed: Int) async throws {
        let recorded = try Recorded()
        #expect(recorded.replies.count > 100 && recorded.pushes.count > 100 && recorded.rooms.count == 6)
        let mad = Server(recorded, seed: UInt64(seed))
        let server = try Attacker.server { mad.play($0) }
        let client = try WatchedConnection(port: server.port, rooms: recorded.rooms) { options in
            options.policy.slowRetry = .milliseconds(5)
            options.policy.commandTimeout = .milliseconds(500)
            options.policy.pingGrace = .milliseconds(500)
            options.policy.steadyAfter = .milliseconds(20)
        }
        try await eventually(within: .seconds(60), "the madness") { mad.served >= 300 }
        let before = client.seen
        #expect(before.faults == [])
        #expect(
            before.events > 200 && before.gaps > 20 && before.joins > 200,
            "\(before.events) \(before.gaps) \(before.joins)"
        )
        mad.calmDown()
        try await eventually(within: .seconds(30), "all rooms joined") { isInStep(client, mad) }
        mad.publish()
        try await eventually("the events") { isInStep(client, mad) }
        #expect(client.seen.faults == [])
    }

    /// Every room stands at the top of its stream.
    private func isInStep(_ client: WatchedConnection, _ mad: Server) -> Bool {
        let positions = client.seen.positions
        return mad.tops.enumerated().allSatisfy { positions[$0]?.epoch == "sane" && positions[$0]?.offset == $1 }
    }
}

private func bytes(hex text: String) -> [UInt8] {
    let digits = Array(text.utf8).compactMap { Character(UnicodeScalar($0)).hexDigitValue }
    return stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
}

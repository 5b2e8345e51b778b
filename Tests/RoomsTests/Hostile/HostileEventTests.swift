import BridgeTestSupport
import RoomsRuntime
import RoomsWire
import Testing

@testable import Rooms

/// Events that cannot be, and answers that do not answer.
@Suite(.timeLimit(.minutes(2))) struct HostileEventTests {
    /// What a client made of `frames`, said once its room is joined at offset 0 of epoch A.
    ///
    /// The server behaves afterwards: it answers every subscribe with the top of its stream, 0 or `top`.
    private func hear(
        _ frames: [[Reply]],
        top: UInt64 = 0,
        until isDone: (OrderSink.Seen, Tally) -> Bool
    ) async throws -> (OrderSink.Seen, Tally) {
        let server = try Attacker.server { attacker in
            attacker.welcome()
            for frame in frames { attacker.say(all: frame) }
            attacker.serve { request in
                guard case .subscribe = request else { return Attacker.honest(request) }
                return .subscribe(.empty(at: top))
            }
        }
        let client = try WatchedConnection(port: server.port)
        try await eventually("what is expected") { isDone(client.seen, await client.tally()) }
        #expect(client.seen.faults == [])
        return (client.seen, await client.tally())
    }

    @Test("Events of rooms that were not joined are dropped and counted")
    func foreignRooms() async throws {
        let foreign = (0..<1_000).map { Reply.event(1, room: ByteString("x\($0)"), epoch: "B") }
        let (seen, tally) = try await hear([foreign, [.event(1)]]) { seen, _ in seen.events == 1 }
        #expect(tally.unknown == 1_000)
        #expect(seen.gaps == 0 && seen.loose == 0)
    }

    @Test("Offsets that go back or come twice are dropped and counted")
    func back() async throws {
        let offsets: [UInt64] = [1, 2, 2, 1, 3, 1, 2, 3, 4]
        let (seen, tally) = try await hear([offsets.map { .event($0) }]) { seen, _ in seen.events == 4 }
        #expect(tally.duplicates == 5)
        #expect(seen.positions[0]?.offset == 4 && seen.gaps == 0)
    }

    @Test("An offset that jumps is not handed on: the room is joined again, and what is missing becomes a gap")
    func jump() async throws {
        let (seen, _) = try await hear([[.event(1), .event(5), .event(6)]], top: 6) { seen, _ in
            seen.positions[0]?.offset == 6
        }
        // Of the answer to the history request nothing comes: 2 to 6 are missing.
        #expect(seen.events == 1 && seen.gaps == 1)
    }

    @Test("The largest offset of all does no harm, and nothing comes behind it")
    func largest() async throws {
        let (seen, _) = try await hear([[.event(1), .event(.max), .event(.max), .event(0)]], top: .max) { seen, _ in
            seen.positions[0]?.offset == .max
        }
        #expect(seen.events == 1 && seen.gaps == 1)
    }

    @Test(
        "An epoch that changes without a new subscription: a stream that begins anew is one behind a gap, others are not"
    )
    func epochs() async throws {
        // Offset 1 of a new stream, as a real server sends it.
        let (seen, _) = try await hear([[.event(1), .event(1, epoch: "B"), .event(2)]]) { seen, _ in
            seen.positions[0] == RoomPosition(epoch: "B", offset: 2)
        }
        #expect(seen.events == 3 && seen.gaps == 1)
        // Anything else of another epoch is refused; the room is joined again.
        let (other, _) = try await hear([[.event(1), .event(2, epoch: "C")]], top: 1) { seen, _ in seen.joins == 2 }
        #expect(other.events == 1 && other.positions[0]?.epoch == "A")
    }

    @Test("Answers to nothing, twice, of another kind, or that forge the room's answer do not get in")
    func answers() async throws {
        var forged = SubscribeResult.empty(at: 0)
        forged.recovered = true
        forged.publications = [Publication(data: Payload("1"), offset: 1), Publication(data: Payload("1"), offset: 2)]
        let history = HistoryResult()
        let (seen, tally) = try await hear(
            [
                [Reply(id: 77, .subscribe(forged)), Reply(id: 2, .subscribe(forged)), Reply(id: 1, .connect(.plain))],
                [Reply(id: .max, .history(history)), Reply(id: 0, .subscribe(forged)), .event(1)],
            ]
        ) { seen, _ in seen.events == 1 }
        #expect(tally.unknown == 5)
        #expect(seen.joins == 1)
    }

    @Test(
        "An answer of another kind to a subscribe ends the connection",
        arguments: [.unsubscribe, .publish, .history(HistoryResult()), .unknown, .refresh(RefreshResult())]
            as [ReplyBody]
    )
    func wrongAnswer(_ body: ReplyBody) async throws {
        let server = try Attacker.server { attacker in
            attacker.serve { request in
                if case .subscribe = request { body } else { Attacker.honest(request) }
            }
        }
        let client = try WatchedConnection(port: server.port)
        #expect(try await client.end() == "waiting 0")
        #expect(client.seen.joins == 0)
    }

    @Test("A recovery that brings anything but what was missed, in order, is no disorder")
    func recoveries() async throws {
        var random = SeededRandom(seed: 7)
        for round in 0..<40 {
            let offsets = (0..<12).map { _ in UInt64.random(in: 0...12, using: &random) }
            let isRecovered = random.one(in: 2)
            let server = try Attacker.server { attacker in
                attacker.serve { request in
                    guard case .subscribe = request else { return Attacker.honest(request) }
                    var result = SubscribeResult.empty(at: 12)
                    result.recovered = isRecovered
                    result.publications = offsets.map { Publication(data: Payload("1"), offset: $0) }
                    return .subscribe(result)
                }
            }
            let start = RoomStart.resume(RoomPosition(epoch: "A", offset: 3))
            let client = try WatchedConnection(port: server.port, start: start)
            try await eventually("the outcome") {
                client.seen.joins >= 1 && (client.seen.events + client.seen.gaps > 0)
            }
            #expect(client.seen.faults == [], "round \(round): \(offsets)")
        }
    }

    // MARK: history pages

    /// A server with 1,000 events whose pages `page` makes; gives where the client stands at the end.
    private func fill(_ page: @escaping @Sendable (HistoryRequest) -> [UInt64]) async throws -> OrderSink.Seen {
        let pages = Lock(0)
        let server = try Attacker.server { attacker in
            attacker.serve { request in
                switch request {
                case .subscribe: return .subscribe(.empty(at: 1_000))
                case .history(let request):
                    pages.withLock { $0 += 1 }
                    var result = HistoryResult()
                    result.epoch = "A"
                    result.offset = 1_000
                    result.publications = page(request).map { Publication(data: Payload("1"), offset: $0) }
                    return .history(result)
                default: return Attacker.honest(request)
                }
            }
        }
        let start = RoomStart.resume(RoomPosition(epoch: "A", offset: 0))
        let client = try WatchedConnection(port: server.port, start: start)
        try await eventually("the end of the filling") { client.seen.positions[0]?.offset == 1_000 }
        #expect(client.seen.faults == [])
        #expect(pages.withLock { $0 } <= 1_000)
        return client.seen
    }

    @Test("A page of more than was asked for is taken as far as it goes")
    func largePage() async throws {
        let seen = try await fill { _ in Array(1...5_000) }
        #expect(seen.events == 1_000 && seen.gaps == 0)
    }

    @Test("A page in the wrong order gives what is in order, and a gap")
    func unsortedPage() async throws {
        let seen = try await fill { request in
            let next = (request.since?.offset ?? 0) + 1
            return (next...min(next + 99, 1_000)).reversed()
        }
        #expect(seen.gaps > 0 && seen.events > 0)
    }

    @Test(
        "Pages without anything, or with what came before, end in a gap at once",
        arguments: [[], [1], [0]] as [[UInt64]]
    )
    func emptyPages(_ offsets: [UInt64]) async throws {
        let seen = try await fill { _ in offsets }
        #expect(seen.gaps == 1)
    }

    @Test("Pages of one event each go on to the end, and no further")
    func smallPages() async throws {
        let seen = try await fill { [($0.since?.offset ?? 0) + 1] }
        #expect(seen.events == 1_000 && seen.gaps == 0)
    }

    @Test("Pages of another stream are not taken")
    func otherStream() async throws {
        let server = try Attacker.server { attacker in
            attacker.serve { request in
                switch request {
                case .subscribe: return .subscribe(.empty(at: 10))
                case .history:
                    var result = HistoryResult()
                    result.epoch = "B"
                    result.offset = 10
                    result.publications = (1...10).map { Publication(data: Payload("1"), offset: $0) }
                    return .history(result)
                default: return Attacker.honest(request)
                }
            }
        }
        let start = RoomStart.resume(RoomPosition(epoch: "A", offset: 0))
        let client = try WatchedConnection(port: server.port, start: start)
        try await eventually("the gap") { client.seen.gaps == 1 }
        #expect(client.seen.events == 0 && client.seen.faults == [])
        #expect(client.seen.positions[0] == RoomPosition(epoch: "A", offset: 10))
    }
}

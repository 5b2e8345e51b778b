import RoomsRuntime
import RoomsWire
import Testing

@testable import Rooms

/// Whoever gives tokens learns how long they are good from what the server replies.
@Suite struct TokenRenewalTests {
    private struct Renewal: Equatable {
        var room: ByteString?
        var time: Duration
    }

    private let renewals = Lock<[Renewal]>([])

    private func bench(_ rooms: ByteString...) -> ConnectionBench {
        let renewals = renewals
        let tokens = TokenSource(
            connection: { Secret("c") },
            subscription: { _ in Secret("r") },
            renewed: { room, time in renewals.withLock { $0.append(Renewal(room: room, time: time)) } }
        )
        return ConnectionBench(
            rooms.map { RoomSpecification(name: $0, start: .now) },
            policy: ConnectionPolicy(tokens: tokens)
        )
    }

    /// The last renewal told, which comes up to a tenth early.
    private func expect(_ room: ByteString?, _ latest: Duration, count: Int) {
        let told = renewals.withLock { $0 }
        #expect(told.count == count)
        #expect(told.last?.room == room)
        #expect(told.last.map { $0.time > latest * 9 / 10 && $0.time <= latest } == true)
    }

    private func refreshed(_ ttl: UInt32) -> RefreshResult {
        var result = RefreshResult()
        (result.expires, result.ttl) = (true, ttl)
        return result
    }

    @Test("of a connection: when it connects, is refreshed, and when the server says so by itself")
    func connection() {
        var bench = bench()
        var result = ConnectResult.expiring(3_600)
        result.ping = 0
        bench.connect(result)
        expect(nil, .seconds(3_000), count: 1)
        bench.receive(Reply(id: 0, .push(Push(channel: "", .refresh(expires: true, ttl: 100)))))
        expect(nil, .seconds(50), count: 2)
        bench.commands = []
        bench.pass(.seconds(50))
        let refresh = bench.commands.first { if case .refresh = $0.request { true } else { false } }
        bench.receive(Reply(id: refresh?.id ?? 0, .refresh(refreshed(1_200))))
        expect(nil, .seconds(600), count: 3)
    }

    @Test("of a room: when it is joined and when it is refreshed; not when nothing expires")
    func room() {
        var bench = bench("a")
        bench.connect()
        #expect(renewals.withLock { $0.isEmpty })
        var result = SubscribeResult()
        (result.expires, result.ttl) = (true, 60)
        bench.receive(Reply(id: bench.commands.removeLast().id, .subscribe(result)))
        expect("a", .seconds(30), count: 1)
        bench.pass(.seconds(30))
        let refresh = bench.commands.last { if case .subRefresh = $0.request { true } else { false } }
        bench.receive(Reply(id: refresh?.id ?? 0, .subRefresh(refreshed(.max))))
        expect("a", .seconds(365 * 86_400 - 600), count: 2)
    }
}

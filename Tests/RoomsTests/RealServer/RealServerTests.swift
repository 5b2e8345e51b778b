import BridgeTestSupport
import RoomsRuntime
import RoomsWire
import Testing

@testable import Rooms

/// The client path against a real Centrifugo.
@Suite struct RealServerTests {
    private func rooms(_ names: String..., start: RoomStart = .now) -> [RoomSpecification] {
        names.map { RoomSpecification(name: ByteString($0), start: start) }
    }

    private func offsets(_ events: [String]) -> [UInt64] {
        events.compactMap { UInt64($0.split(separator: "/").last ?? "") }
    }

    @Test("more than a recovery holds comes by history pages, then live events")
    func pages() async throws {
        guard let server = try await RealServer.started() else { return }
        try await server.api.publish("order:1", numbers: 1...900)
        let live = try LiveConnection(port: server.port, rooms: rooms("order:1", start: .earliest))
        try await eventually("the events") { live.sink.events().count == 900 }
        try await server.api.publish("order:1", numbers: 901...1_000)
        try await eventually("the live events") { live.sink.events().count == 1_000 }
        #expect(offsets(live.sink.events()) == Array(1...1_000))
        #expect(live.sink.statuses == ["connecting", "connected"])
    }

    @Test("the server is killed and comes back with new streams: a gap, then the new stream from its beginning")
    func killed() async throws {
        guard let server = try await RealServer.started() else { return }
        let live = try LiveConnection(port: server.port, rooms: rooms("order:1", "nohistory:1"))
        try await eventually("the joins") { live.sink.seen(0).count == 1 && live.sink.seen(1).count == 1 }
        try await server.api.publish("order:1", numbers: 1...3)
        try await server.api.publish("nohistory:1", numbers: 1...3)
        try await eventually("the events") { live.sink.events(0).count == 3 && live.sink.events(1).count == 3 }
        try await server.kill()
        try await server.start()
        try await server.api.publish("order:1", numbers: 4...5)
        try await eventually("the new stream") { live.sink.events(0).count == 6 }
        #expect(live.sink.events(0)[3].hasPrefix("gap epoch_changed "))
        #expect(offsets(Array(live.sink.events(0)[4...])) == [1, 2])
        try await eventually("the gap") { live.sink.events(1).count == 4 }
        #expect(live.sink.events(1)[3].hasPrefix("gap epoch_changed "))
    }

    @Test("disconnected by the API the client comes back and misses nothing; unsubscribed by it, the room is reported")
    func administrator() async throws {
        guard let server = try await RealServer.started() else { return }
        let live = try LiveConnection(port: server.port, rooms: rooms("order:1", "order:2")) {
            $0.policy.tokens = RealServer.tokens(lasting: 600)
        }
        try await eventually("the joins") { live.sink.seen(0).count == 1 && live.sink.seen(1).count == 1 }
        for round in 0..<5 {
            try await server.api.publish("order:1", numbers: (round * 10 + 1)...(round * 10 + 10))
            try await server.api.call("disconnect", #"{"user":"bridge","disconnect":{"code":4000,"reason":"test"}}"#)
        }
        try await eventually("the events") { live.sink.events(0).count == 50 }
        #expect(offsets(live.sink.events(0)) == Array(1...50))
        try await eventually("the last join") {
            let statuses = live.sink.statuses
            return statuses.last == "connected" && live.sink.seen(1).count == statuses.count { $0 == "connected" }
        }
        try await server.api.call("unsubscribe", #"{"user":"bridge","channel":"order:2"}"#)
        try await eventually("the report") { live.sink.seen(1).last == "failed 2000" }
    }

    @Test(
        "C35: rooms of every kind say what they are",
        arguments: [
            ("order:1", "joined E/0"), ("nohistory:1", "joined E/0"), ("position:1", "joined E/0 not durable"),
            ("live:1", "joined live-only"), ("cache:1", "joined E/0"), ("autocache:1", "joined E/0"),
            ("nowhere:1", "failed 102"),
            ("$order:1", "failed 103"),
        ]
    )
    func kinds(name: String, expected: String) async throws {
        guard let server = try await RealServer.started() else { return }
        let live = try LiveConnection(port: server.port, rooms: rooms(name))
        try await eventually("the outcome") { !live.sink.seen().isEmpty }
        let epoch = live.sink.seen()[0].split { $0 == " " || $0 == "/" }[1]
        #expect(live.sink.seen()[0].replacing("\(epoch)/", with: "E/") == expected)
    }

    @Test("C55 and C57: tokens that last two seconds are renewed in time, and the connection lives on")
    func shortTokens() async throws {
        guard let server = try await RealServer.started() else { return }
        let live = try LiveConnection(port: server.port, rooms: rooms("order:1", "$order:1")) {
            $0.policy.tokens = RealServer.tokens(lasting: 3)
        }
        try await eventually("the joins") { live.sink.seen(0).count == 1 && live.sink.seen(1).count == 1 }
        let end = SystemClock.now + .seconds(8)
        try await eventually("some renewals") { SystemClock.now >= end }
        try await server.api.publish("$order:1", numbers: 1...1)
        try await eventually("the event") { live.sink.events(1).count == 1 }
        #expect(live.sink.statuses == ["connecting", "connected"])
        #expect(live.sink.seen(1).count == 2)
    }

    @Test("a token with another signature is refused for long; one that is expired, without a newer one, as well")
    func refusedTokens() async throws {
        guard let server = try await RealServer.started() else { return }
        let forged = try LiveConnection(port: server.port, rooms: rooms("order:1")) {
            $0.policy.tokens = TokenSource(connection: { Secret("a.b.c") }, subscription: { _ in nil })
        }
        try await eventually("the end") { forged.sink.statuses.last == "terminal 3500" }
        let old = try RealServer.tokens(lasting: -10).connection()
        let expired = try LiveConnection(port: server.port, rooms: rooms("order:1")) {
            $0.policy.tokens = TokenSource(connection: { old }, subscription: { _ in nil })
        }
        try await eventually("the end") { expired.sink.statuses.last == "terminal 109" }
    }
}

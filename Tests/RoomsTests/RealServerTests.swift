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

    private func started() async throws -> RealServer? {
        guard let server = try RealServer() else { return nil }
        try await server.start()
        return server
    }

    @Test("more than a recovery holds comes by history pages, then live events")
    func pages() async throws {
        guard let server = try await started() else { return }
        try await server.api.publish("order:1", numbers: 1...900)
        let live = try LiveConnection(port: server.port, rooms: rooms("order:1", start: .earliest))
        try await eventually("the events") { live.sink.events().count == 900 }
        try await server.api.publish("order:1", numbers: 901...1_000)
        try await eventually("the live events") { live.sink.events().count == 1_000 }
        #expect(offsets(live.sink.events()) == Array(1...1_000))
        #expect(live.sink.statuses == ["connecting", "connected"])
    }

    @Test("C61: a recovery answer of 5 MB is taken in, whatever the server does behind it")
    func largeRecovery() async throws {
        guard let server = try await started() else { return }
        let text = String(repeating: "x", count: 100_000)
        for n in 1...50 { try await server.api.publish("order:1", [#"{"n":\#(n),"x":"\#(text)"}"#]) }
        let live = try LiveConnection(port: server.port, rooms: rooms("order:1", start: .earliest))
        try await eventually(within: .seconds(30), "the events") { live.sink.events().count == 50 }
        try await server.api.publish("order:1", numbers: 51...51)
        try await eventually("the live event") { live.sink.events().count == 51 }
        #expect(offsets(live.sink.events()) == Array(1...51))
        #expect(live.sink.statuses.count { $0 == "connecting" } < 10)
    }

    @Test("the server is killed and comes back with new streams: a gap, then the new stream from its beginning")
    func killed() async throws {
        guard let server = try await started() else { return }
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
        guard let server = try await started() else { return }
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
            ("live:1", "joined live-only"), ("cache:1", "joined E/0"), ("nowhere:1", "failed 102"),
            ("$order:1", "failed 103"),
        ]
    )
    func kinds(name: String, expected: String) async throws {
        guard let server = try await started() else { return }
        let live = try LiveConnection(port: server.port, rooms: rooms(name))
        try await eventually("the outcome") { !live.sink.seen().isEmpty }
        let epoch = live.sink.seen()[0].split { $0 == " " || $0 == "/" }[1]
        #expect(live.sink.seen()[0].replacing("\(epoch)/", with: "E/") == expected)
    }

    @Test("C55 and C57: tokens that last two seconds are renewed in time, and the connection lives on")
    func shortTokens() async throws {
        guard let server = try await started() else { return }
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
        guard let server = try await started() else { return }
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

    @Test("4.5: a cache room gives its latest event behind a gap")
    func cache() async throws {
        guard let server = try await started() else { return }
        let first = try LiveConnection(port: server.port, rooms: rooms("cache:1"))
        try await eventually("the join") { first.sink.seen().count == 1 }
        await first.stop()
        guard
            case .joined(_, let position?, _) = first.sink.items.first(where: {
                if case .joined = $0 { true } else { false }
            })
        else { throw NotInTime(description: "no position") }
        try await server.api.publish("cache:1", numbers: 1...4)
        let second = try LiveConnection(port: server.port, rooms: rooms("cache:1", start: .resume(position)))
        let epoch = position.epoch.string
        try await eventually("the event") { second.sink.events().count == 2 }
        #expect(second.sink.events() == ["gap trimmed \(epoch)/1-3 then \(epoch)/3", "replay \(epoch)/4"])
    }

    @Test("C62: over a slow link fifty rooms with much missed are all recovered")
    func slowLink() async throws {
        guard let server = try await started() else { return }
        let text = String(repeating: "x", count: 10_000)
        for room in 0..<50 {
            try await server.api.publish("order:\(room)", (1...10).map { #"{"n":\#($0),"x":"\#(text)"}"# })
        }
        let link = try SlowLink(to: server.port, bytesPerSecond: 250_000)
        let specifications = (0..<50).map { RoomSpecification(name: ByteString("order:\($0)"), start: .earliest) }
        let live = try LiveConnection(port: link.port, rooms: specifications)
        try await eventually(within: .seconds(90), "the events") {
            (0..<50).allSatisfy { live.sink.events($0).count == 10 }
        }
        for room in 0..<50 { #expect(offsets(live.sink.events(room)) == Array(1...10)) }
        #expect(link.connections == 1)
    }
}

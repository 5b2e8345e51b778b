import BridgeTestSupport
import HubCore
import RoomsRuntime
import RoomsWire
import Testing

@testable import Rooms

/// The whole client path over real sockets, against the hub.
@Suite struct RoomsConnectionTests {
    private func rooms(_ names: String..., start: RoomStart = .now) -> [RoomSpecification] {
        names.map { RoomSpecification(name: ByteString($0), start: start) }
    }

    private func offsets(_ events: [String]) -> [UInt64] {
        events.compactMap { UInt64($0.split(separator: "/").last ?? "") }
    }

    @Test("C53 and C66: events arrive in order, byte for byte, JSON or not")
    func payloads() async throws {
        let hub = try TestHub()
        let live = try LiveConnection(port: hub.port, rooms: rooms("order:1"))
        try await eventually("the join") { live.sink.seen().count == 1 }
        let payloads: [[UInt8]] = [
            Array(#"{ "n" : 1.10, "big":12345678901234567890,"s":"\ud800 ü" }"#.utf8), Array("null".utf8),
            Array("not JSON".utf8), [0, 1, 2, 255], [UInt8](repeating: 0x78, count: 100_000),
            Array(repeating: UInt8(ascii: "["), count: 200) + Array(repeating: UInt8(ascii: "]"), count: 200),
        ]
        for payload in payloads { try await hub.api.publish("order:1", bytes: payload) }
        try await eventually("the events") { live.sink.payloads().count == payloads.count }
        #expect(live.sink.payloads() == payloads)
        #expect(offsets(live.sink.events()) == [1, 2, 3, 4, 5, 6])
        #expect(live.sink.statuses == ["connecting", "connected"])
    }

    @Test("what one read brings goes to the sink in one call")
    func batches() async throws {
        let hub = try TestHub()
        let live = try LiveConnection(port: hub.port, rooms: rooms("order:1"))
        try await eventually("the join") { live.sink.seen().count == 1 }
        try await hub.api.publish("order:1", numbers: 1...2_000)
        try await eventually("the events") { live.sink.events().count == 2_000 }
        #expect(offsets(live.sink.events()) == Array(1...2_000))
        // The hub puts 16 into a frame.
        #expect(live.sink.batches.max() ?? 0 >= 16)
        #expect(live.sink.batches.count < 200)
    }

    @Test("what was missed comes by recovery, and by history pages where it is too much")
    func missed() async throws {
        let hub = try TestHub()
        try await hub.api.publish("order:1", numbers: 1...900)
        try await hub.api.publish("order:2", numbers: 1...20)
        let live = try LiveConnection(port: hub.port, rooms: rooms("order:1", "order:2", start: .earliest))
        try await eventually("the events") {
            live.sink.events(0).count == 900 && live.sink.events(1).count == 20
        }
        try await hub.api.publish("order:1", numbers: 901...910)
        try await eventually("the live events") { live.sink.events(0).count == 910 }
        #expect(offsets(live.sink.events(0)) == Array(1...910))
        #expect(live.sink.events(0).last?.hasPrefix("event") == true)
        #expect(live.sink.events(0)[899].hasPrefix("replay"))
    }

    @Test("a room resumes behind its position, and what the server no longer has is a gap")
    func resumes() async throws {
        let hub = try TestHub()
        let first = try LiveConnection(port: hub.port, rooms: rooms("few:1"))
        try await eventually("the join") { first.sink.seen().count == 1 }
        try await hub.api.publish("few:1", numbers: 1...5)
        try await eventually("the events") { first.sink.events().count == 5 }
        await first.stop()
        guard
            case .event(_, _, let position?, _) = first.sink.items.last(where: {
                if case .event = $0 { true } else { false }
            })
        else { throw NotInTime(description: "no position") }
        try await hub.api.publish("few:1", numbers: 6...30)
        let second = try LiveConnection(port: hub.port, rooms: rooms("few:1", start: .resume(position)))
        let epoch = position.epoch.string
        try await eventually("the events") { second.sink.events().count == 11 }
        #expect(second.sink.events().first == "gap trimmed \(epoch)/6-20 then \(epoch)/20")
        #expect(offsets(Array(second.sink.events().dropFirst())) == Array(21...30))
    }

    @Test("a server that starts anew gives a gap and then its new stream from the beginning")
    func serverRestart() async throws {
        let hub = try TestHub()
        let live = try LiveConnection(port: hub.port, rooms: rooms("order:1"))
        try await eventually("the join") { live.sink.seen().count == 1 }
        try await hub.api.publish("order:1", numbers: 1...3)
        try await eventually("the events") { live.sink.events().count == 3 }
        try hub.restart()
        try await hub.api.publish("order:1", numbers: 1...2)
        try await eventually("the new stream") { live.sink.events().count == 6 }
        let gap = live.sink.events()[3]
        #expect(gap.hasPrefix("gap epoch_changed ") && gap.hasSuffix("/0"))
        #expect(offsets(Array(live.sink.events()[4...])) == [1, 2])
        #expect(live.sink.statuses.contains("waiting 3001"))
    }

    @Test("a recovery answer far above the server's queue is taken in, and nothing is asked for again and again")
    func largeRecovery() async throws {
        let hub = try TestHub()
        let text = String(repeating: "x", count: 100_000)
        for n in 1...50 { try await hub.api.publish("order:1", [#"{"n":\#(n),"x":"\#(text)"}"#]) }
        let live = try LiveConnection(port: hub.port, rooms: rooms("order:1", start: .earliest))
        try await eventually(within: .seconds(30), "the events") { live.sink.events().count == 50 }
        #expect(offsets(live.sink.events()) == Array(1...50))
        try await hub.api.publish("order:1", numbers: 51...51)
        try await eventually("the live event") { live.sink.events().count == 51 }
        #expect(live.sink.statuses.count { $0 == "connecting" } < 10)
    }

    @Test("a room without history is live-only; one whose history may not be read says what it could not have")
    func lesserRooms() async throws {
        let hub = try TestHub()
        try await hub.api.publish("sealed:1", numbers: 1...400)
        let specifications = rooms("live:1") + rooms("sealed:1", start: .earliest)
        let live = try LiveConnection(port: hub.port, rooms: specifications)
        try await eventually("the joins") { live.sink.seen(0).count == 1 && live.sink.seen(1).count == 2 }
        try await hub.api.publish("live:1", numbers: 1...1)
        try await hub.api.publish("sealed:1", numbers: 401...401)
        try await eventually("the events") { live.sink.seen(0).count == 2 && live.sink.seen(1).count == 3 }
        #expect(live.sink.seen(0) == ["joined live-only", "loose"])
        #expect(live.sink.seen(1)[1].hasPrefix("gap not_permitted"))
        #expect(live.sink.seen(1)[2].hasPrefix("event"))
    }

    @Test("a room that the server does not know fails alone")
    func unknownRoom() async throws {
        let hub = try TestHub()
        let live = try LiveConnection(port: hub.port, rooms: rooms("nowhere", "order:1"))
        try await eventually("the outcome") { !live.sink.seen(0).isEmpty && !live.sink.seen(1).isEmpty }
        #expect(live.sink.seen(0) == ["failed 102"])
        #expect(live.sink.seen(1).first?.hasPrefix("joined") == true)
    }

    @Test("a full sink stops the reading, then the connection; nothing is lost when it resumes")
    func fullSink() async throws {
        let hub = try TestHub()
        let live = try LiveConnection(port: hub.port, rooms: rooms("order:1")) {
            $0.policy.pauseLimit = .milliseconds(200)
        }
        try await eventually("the join") { live.sink.seen().count == 1 }
        live.sink.answer(.paused)
        try await hub.api.publish("order:1", numbers: 1...1_000)
        try await eventually("the clean close") { live.sink.statuses.last == "held" }
        try await hub.api.publish("order:1", numbers: 1_001...1_100)
        live.sink.answer(.open)
        live.connection.resumeIntake()
        try await eventually("the events") { live.sink.events().count == 1_100 }
        #expect(offsets(live.sink.events()) == Array(1...1_100))
    }

    @Test("a hundred rooms are all joined and all recovered")
    func manyRooms() async throws {
        let hub = try TestHub()
        for room in 0..<100 { try await hub.api.publish("order:\(room)", numbers: 1...5) }
        let specifications = (0..<100).map { RoomSpecification(name: ByteString("order:\($0)"), start: .earliest) }
        let live = try LiveConnection(port: hub.port, rooms: specifications)
        try await eventually("the events") { (0..<100).allSatisfy { live.sink.events($0).count == 5 } }
        #expect((0..<100).allSatisfy { offsets(live.sink.events($0)) == [1, 2, 3, 4, 5] })
    }

    @Test("stop closes cleanly, soon, and nothing comes after it")
    func stops() async throws {
        let hub = try TestHub()
        let live = try LiveConnection(port: hub.port, rooms: rooms("order:1"))
        try await eventually("the join") { live.sink.seen().count == 1 }
        let start = SystemClock.now
        let end = await live.stop()
        #expect(end - start < .milliseconds(900))
        try await hub.api.publish("order:1", numbers: 1...1)
        #expect(live.sink.statuses.last == "stopped")
        #expect(live.sink.events() == [])
        #expect(await live.tally() == Tally())
    }

    @Test("nobody there: the connection is tried again until somebody is")
    func nobodyThere() async throws {
        let hub = try TestHub()
        hub.stop()
        let live = try LiveConnection(port: hub.port, rooms: rooms("order:1"))
        try await eventually("some attempts") { live.sink.statuses.count > 5 }
        try hub.restart()
        try await eventually("the join") { live.sink.seen().count == 1 }
    }
}

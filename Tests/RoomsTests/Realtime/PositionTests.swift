import BridgeTestSupport
import HubCore
import RoomsRuntime
import Testing

import Rooms

/// What an app that keeps positions has to know: where a room was joined, and what a gap leaves.
@Suite struct PositionTests {
    private let hub: TestHub

    init() throws {
        hub = try TestHub()
    }

    private func client() throws -> Realtime {
        var options = RealtimeOptions()
        options.token = RoomServer.token("ann")
        return try Realtime(url: "ws://127.0.0.1:\(hub.port)/connection/websocket", options: options)
    }

    /// Every event with its id: the part behind the colon.
    private func join(_ rt: Realtime, _ name: String, after id: String? = nil) -> (Heard, last: Lock<String>) {
        let heard = Heard()
        let last = Lock("")
        @Sendable func note(_ what: String, _ meta: EventMeta) {
            heard.add("\(what) \(meta.id.split(separator: ":").last ?? "-")")
            if !meta.id.isEmpty { last.withLock { $0 = meta.id } }
        }
        rt.join(name, after: id) { room in
            room.on("joined") { _, meta in note("joined", meta) }
            room.on("error") { error, meta in note(error["code"]?.string ?? "", meta) }
            room.onAny { _, data, meta in note("\(data)", meta) }
        }
        return (heard, last)
    }

    @Test("joined tells the place behind which new events follow, so that none is lost to an app that heard none yet")
    func joined() async throws {
        try await hub.publish("order:1", "1")
        let first = try client()
        let (heard, last) = join(first, "order:1")
        try await eventually { heard.all == ["joined 1"] }
        await first.close()
        for number in 2...3 { try await hub.publish("order:1", "\(number)") }
        let second = try client()
        let (again, _) = join(second, "order:1", after: last.withLock { $0 })
        try await eventually { again.all == ["joined 1", "2 2", "3 3"] }
        await second.close()
        // A room that keeps nothing has no places.
        let third = try client()
        let (live, _) = join(third, "live:1")
        try await eventually { live.all == ["joined -"] }
        await third.close()
    }

    @Test("a gap tells the place behind it, so that it is told once")
    func gap() async throws {
        for number in 1...30 { try await hub.publish("few:1", "\(number)") }
        let first = try client()
        let (probe, last) = join(first, "few:1")
        try await eventually { probe.all == ["joined 30"] }
        await first.close()
        let epoch = last.withLock { String($0.dropLast(3)) }
        let second = try client()
        let (heard, _) = join(second, "few:1", after: "\(epoch):5")
        try await eventually { heard.all.count == 12 }
        #expect(heard.all.prefix(3) == ["joined 5", "gap 20", "21 21"])
        await second.close()
        let third = try client()
        let (again, _) = join(third, "few:1", after: "\(epoch):20")
        try await eventually { again.all.count == 11 }
        #expect(again.all.prefix(2) == ["joined 20", "21 21"])
        await third.close()
    }

    @Test("handlers of the join hear everything, however long they take to be registered")
    func handlers() async throws {
        let rt = try client()
        // The link is there: a room that is asked for now is joined within a millisecond.
        try await rt.join("order:1").ready()
        let heard = Heard()
        let room = rt.join("order:2") { room in
            try? blockingEventually(within: .milliseconds(50)) { false }
            room.on("joined") { _, _ in heard.add("joined") }
        }
        try await room.ready()
        try await eventually { heard.all == ["joined"] }
        // Of a room that is there already, too.
        #expect(rt.join("order:2") { $0.on("joined") { _, _ in heard.add("again") } } === room)
        await rt.close()
    }

    @Test("a server that cannot be reached is told, once, and the room goes on joining")
    func unreachable() async throws {
        let port = try HeldPort()
        let rt = try Realtime(url: "ws://127.0.0.1:\(port.number)/connection/websocket")
        let (heard, _) = join(rt, "order:1")
        try await eventually { heard.all == ["unavailable -"] }
        #expect(rt.room("order:1")?.state == .joining)
        await rt.close()
        #expect(heard.all.count == 1)
    }

    @Test("a link that is lost and there again at once is no trouble")
    func restart() async throws {
        let rt = try client()
        let (heard, _) = join(rt, "live:1")
        try await eventually { heard.all == ["joined -"] }
        try await hub.disconnect(user: "ann")
        try await eventually { heard.all == ["joined -", "joined -"] }
        await rt.close()
    }
}

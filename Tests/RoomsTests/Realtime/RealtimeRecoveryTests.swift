import BridgeTestSupport
import HubCore
import RoomsRuntime
import Testing

import Rooms

/// Nothing lost on a reconnect, history, and the members of a room.
@Suite struct RealtimeRecoveryTests {
    private let hub: TestHub

    init() throws {
        hub = try TestHub {
            $0.rooms = .configured([
                RoomRule(pattern: "order:{id}", history: 200, isPublic: true),
                RoomRule(pattern: "few:{id}", history: 3, isPublic: true),
                RoomRule(pattern: "chat:{id}", isPublic: true, presence: true, membersMay: [.presence, .publish]),
                RoomRule(pattern: "sealed:{id}", history: 10, isPublic: true, membersMay: []),
            ])
        }
    }

    private func client(user: String) throws -> Realtime {
        var options = RealtimeOptions()
        options.token = RealtimeTests.token(user)
        return try Realtime(url: "ws://127.0.0.1:\(hub.port)/connection/websocket", options: options)
    }

    /// Every event as its data, with `*` for a replayed one, and `joined`.
    private func listen(_ room: Room) -> Heard {
        let heard = Heard()
        room.on("joined") { _, _ in heard.add("joined") }
        room.onAny { _, data, meta in heard.add("\(data)" + (meta.replayed ? "*" : "")) }
        room.on("error") { error, _ in
            heard.add("error \(error["code"]?.string ?? "") \(error["reason"]?.string ?? "")")
        }
        return heard
    }

    @Test("after a drop come the events that were missed, in order and marked, then the new ones")
    func drop() async throws {
        let rt = try client(user: "ann")
        let room = rt.join("order:1")
        let heard = listen(room)
        try await room.ready()
        try await hub.publish("order:1", "1")
        try await eventually { heard.all == ["joined", "1"] }
        try await hub.disconnect(user: "ann")
        for number in 2...9 { try await hub.publish("order:1", "\(number)") }
        try await eventually { heard.all.contains { $0.hasPrefix("9") } }
        try await hub.publish("order:1", "10")
        try await eventually { heard.all.last == "10" }
        #expect(
            heard.all.map { $0.hasSuffix("*") ? String($0.dropLast()) : $0 } == ["joined", "1", "joined"]
                + (2...10).map { "\($0)" }
        )
        #expect(heard.all.filter { $0.hasSuffix("*") }.count >= 7)
        await rt.close()
    }

    @Test("a new process goes on behind the last event that the old one handled")
    func savedPosition() async throws {
        let first = try client(user: "ann")
        let ids = Lock<[String]>([])
        let room = first.join("order:1")
        room.onAny { _, _, meta in ids.withLock { $0.append(meta.id) } }
        try await room.ready()
        try await hub.publish("order:1", "1")
        try await eventually { ids.withLock { $0.count } == 1 }
        await first.close()
        for number in 2...4 { try await hub.publish("order:1", "\(number)") }
        let second = try client(user: "ann")
        let again = second.join("order:1", after: ids.withLock { $0[0] })
        let heard = listen(again)
        try await eventually { heard.all.count >= 3 }
        #expect(heard.all.filter { $0 != "joined" } == ["2*", "3*", "4*"])
        await second.close()
    }

    @Test("what the server keeps no more is told as a gap; a new stream too")
    func gap() async throws {
        let rt = try client(user: "ann")
        let room = rt.join("few:1")
        let heard = listen(room)
        try await room.ready()
        try await hub.publish("few:1", "1")
        try await eventually { heard.all.last == "1" }
        hub.stop()
        try hub.restart()
        for number in 1...2 { try await hub.publish("few:1", "\(number)") }
        try await eventually { heard.all.last?.hasPrefix("2") == true }
        #expect(heard.all.contains("error gap epoch_changed"))
        await rt.close()
    }

    @Test("history comes oldest first, in pages of at most 100, and tells whether there is more")
    func history() async throws {
        let rt = try client(user: "ann")
        let room = rt.join("order:1")
        try await room.ready()
        try await hub.api.publish("order:1", (1...130).map { "\($0)" })
        let newest = try await room.history(limit: 1_000)
        #expect(newest.events.map { "\($0.data)" } == (31...130).map { "\($0)" } && newest.more)
        let older = try await room.history(before: newest.events.first?.meta.id, limit: 20)
        #expect(older.events.map { "\($0.data)" } == (11...30).map { "\($0)" } && older.more)
        let oldest = try await room.history(before: older.events.first?.meta.id, limit: 50)
        #expect(oldest.events.map { "\($0.data)" } == (1...10).map { "\($0)" } && !oldest.more)
        #expect(oldest.events.allSatisfy { $0.meta.replayed })
        let none = try await room.history(before: oldest.events.first?.meta.id)
        #expect(none.events.isEmpty && !none.more)
        let gone = try await room.history(before: "OtherEpo:9")
        #expect(gone.events.isEmpty)
        await rt.close()
    }

    @Test("a room without a history has none, and one that may not be read says so", arguments: ["chat:1", "sealed:1"])
    func noHistory(_ name: String) async throws {
        let rt = try client(user: "ann")
        let error = await #expect(throws: RoomError.self) { try await rt.join(name).history() }
        #expect(error?.code == (name == "chat:1" ? .noHistory : .forbidden))
        await rt.close()
    }

    @Test("members: who is in, who comes and goes, and how many users that makes")
    func members() async throws {
        let ann = try client(user: "ann")
        let room = ann.join("chat:1")
        let heard = Heard()
        room.on("join") { who, _ in heard.add("join \(who["user"]?.string ?? "")") }
        room.on("leave") { who, _ in heard.add("leave \(who["user"]?.string ?? "")") }
        room.on("count") { count, _ in heard.add("count \(count["n"]?.number ?? -1)") }
        try await room.ready()
        try await eventually { room.count == 1 }
        let bob = try client(user: "bob")
        try await bob.join("chat:1").ready()
        try await eventually { room.count == 2 }
        #expect(Set(room.members.map(\.user)) == ["ann", "bob"])
        let bobs = try client(user: "bob")
        try await bobs.join("chat:1").ready()
        try await eventually { room.members.count == 3 }
        #expect(room.count == 2)
        await bob.close()
        await bobs.close()
        let all = [
            "count 1.0", "join bob", "count 2.0", "join bob", "leave bob", "leave bob", "count 1.0",
        ]
        try await eventually("\(heard.all)") { heard.all == all }
        #expect(room.count == 1)
        await ann.close()
    }

    @Test("who is kicked hears it, and does not come back by itself", arguments: ["unsubscribe", "disconnect"])
    func kicked(_ method: String) async throws {
        let rt = try client(user: "ann")
        let room = rt.join("order:1")
        let heard = Heard()
        room.on("kicked") { _, _ in heard.add("kicked") }
        try await room.ready()
        if method == "unsubscribe" {
            _ = try await hub.api.call("unsubscribe", #"{"user":"ann","channel":"order:1"}"#)
        } else {
            try await hub.disconnect(user: "ann", code: 4_500)
        }
        try await eventually { heard.all == ["kicked"] }
        #expect(room.state == .failed)
        let error = await #expect(throws: RoomError.self) { try await room.ready() }
        #expect(error?.code == .kicked)
        // The app may try again, and need not wait for that.
        room.leave()
        try await rt.join("order:1").ready()
        await rt.close()
        #expect(rt.join("order:1").state == .left)
    }

    @Test("a sequence that nobody reads drops its oldest events and says so once; the others lose nothing")
    func slowConsumer() async throws {
        let rt = try client(user: "ann")
        let room = rt.join("order:1")
        let heard = Heard()
        let errors = Heard()
        room.on("message") { data, _ in heard.add("\(data)") }
        room.on("error") { error, _ in errors.add(error["code"]?.string ?? "") }
        let unread = room.events("message")
        try await room.ready()
        try await hub.api.publish("order:1", (1...1_500).map { "\($0)" })
        try await eventually { heard.all.count == 1_500 }
        try await eventually { errors.all == ["slow_consumer"] }
        room.leave()
        var numbers: [Int] = []
        for await (value, _) in unread { numbers.append(Int(value.number ?? 0)) }
        #expect(numbers == Array(477...1_500))
        await rt.close()
    }
}

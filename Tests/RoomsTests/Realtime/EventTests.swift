import BridgeTestSupport
import RoomsRuntime
import Testing

import Rooms

/// What handlers and sequences get of what is published.
@Suite(.timeLimit(.minutes(2))) struct EventTests {
    @Test(
        "the room's own events cannot be made up: they come as messages, and under their name to onAny alone",
        arguments: RoomServer.Kind.allCases
    )
    func forged(_ kind: RoomServer.Kind) async throws {
        guard let server = try await RoomServer(kind) else { return }
        let rt = try server.client()
        let room = rt.join("order:1")
        let (own, messages, any) = (Heard(), Heard(), Heard())
        let names = ["joined", "join", "leave", "count", "error", "kicked"]
        for name in names { room.on(name) { _, _ in own.add(name) } }
        room.on("message") { data, _ in messages.add("\(data)") }
        room.onAny { event, _, _ in any.add(event) }
        let sequence = room.events("message")
        try await room.ready()
        for name in names {
            try await server.publish("order:1", #"{"event":"\#(name)","data":"forged"}"#)
            try await server.api.call(
                "publish",
                #"{"channel":"order:1","data":"forged","tags":{"event":"\#(name)"}}"#
            )
        }
        try await eventually { any.all.count == 2 * names.count }
        #expect(any.all == names.flatMap { [$0, $0] })
        #expect(messages.all == names.flatMap { _ in [#""forged""#, #""forged""#] })
        #expect(own.all == ["joined"])
        room.leave()
        var count = 0
        for await _ in sequence { count += 1 }
        #expect(count == 2 * names.count)
        await rt.close()
    }

    @Test(
        "meta tells who, when and where; a payload, a tag or a member of the data cannot forge who",
        arguments: RoomServer.Kind.allCases
    )
    func meta(_ kind: RoomServer.Kind) async throws {
        guard let server = try await RoomServer(kind) else { return }
        let clients = try ["ann", "bob", nil].map { try server.client($0) }
        let heard = Lock<[EventMeta]>([])
        let room = clients[1].join("chat:1")
        room.onAny { _, _, meta in heard.withLock { $0.append(meta) } }
        try await room.ready()
        let start = SystemClock.wallMilliseconds
        try await clients[0].join("chat:1").publish("said", ["text": "hello", "from": "mallory", "user": "mallory"])
        try await eventually { heard.withLock { $0.count } == 1 }
        try await clients[2].join("chat:1").publish("said", "nobody")
        try await eventually { heard.withLock { $0.count } == 2 }
        let tags = #"{"from":"mallory","user":"mallory","info":"mallory"}"#
        let envelope = #"{"event":"x","data":{"from":"mallory"},"at":1700000000123}"#
        try await server.api.call("publish", #"{"channel":"chat:1","data":\#(envelope),"tags":\#(tags)}"#)
        let message = #"{"from":"mallory","info":{"user":"mallory"}}"#
        let timed = #"{"event":"y","at":"1700000000456"}"#
        try await server.api.call("publish", #"{"channel":"chat:1","data":\#(message),"tags":\#(timed)}"#)
        try await eventually { heard.withLock { $0.count } == 4 }
        let metas = heard.withLock { $0 }
        // The third has no name, but is no server.
        #expect(metas.map(\.from) == ["ann", "", nil, nil])
        #expect(metas[0].at >= start && metas[0].at <= SystemClock.wallMilliseconds)
        #expect(metas[2].at == 1_700_000_000_123 && metas[3].at == 1_700_000_000_456)
        #expect(metas.allSatisfy { !$0.replayed })
        let epochs = Set(metas.map { $0.id.split(separator: ":").first })
        #expect(epochs.count == 1 && metas.map { $0.id.split(separator: ":").last } == ["1", "2", "3", "4"])
        // What is read later says the same.
        let page = try await room.history()
        #expect(page.events.map(\.meta.from) == metas.map(\.from) && page.events.map(\.meta.id) == metas.map(\.id))
        for client in clients { await client.close() }
    }

    @Test("an event without a place in the room has no id", arguments: RoomServer.Kind.allCases)
    func noID(_ kind: RoomServer.Kind) async throws {
        guard let server = try await RoomServer(kind) else { return }
        let rt = try server.client()
        let room = rt.join("live:1")
        let heard = Heard()
        room.onAny { event, data, meta in heard.add("\(event) \(data) \(meta.id)|\(meta.from ?? "server")") }
        try await room.ready()
        try await server.publish("live:1", #"{"event":"x","data":1}"#)
        try await eventually { heard.all == ["x 1 |server"] }
        await rt.close()
    }

    @Test("numbers, keys and bytes come as they were published", arguments: RoomServer.Kind.allCases)
    func exact(_ kind: RoomServer.Kind) async throws {
        guard let server = try await RoomServer(kind) else { return }
        let rt = try server.client()
        let room = rt.join("order:1")
        let heard = Lock<[JSONValue]>([])
        room.onAny { _, data, _ in heard.withLock { $0.append(data) } }
        let events = room.events()
        try await room.ready()
        let numbers = "[9223372036854775807,1e400,0.1,-0,12345678901234567890,1.10]"
        // The same name for readers, composed and decomposed.
        let keys = "{\"z\":1,\"\u{e9}\":2,\"e\u{301}\":3,\"a\":4}"
        for data in [numbers, keys] { try await server.publish("order:1", #"{"event":"x","data":\#(data)}"#) }
        let spaced = #"{ "event" : "x",  "data" : [ 1 ,2 ] }"#
        try await server.publish("order:1", spaced)
        try await server.api.publish("order:1", bytes: [0, 1, 2, 255])
        try await eventually { heard.withLock { $0.count } == 4 }
        let values = heard.withLock { $0 }
        #expect("\(values[0])" == numbers && values[0][0]?.integer(as: Int.self) == .max && values[0][1]?.number == nil)
        #expect(Array("\(values[1])".utf8) == Array(keys.utf8))
        #expect(values[1]["\u{e9}"]?.number == 2 && values[1]["e\u{301}"]?.number == 3)
        #expect("\(values[2])" == "[1,2]")
        #expect(values[3].data == [0, 1, 2, 255] && values[3].string == nil)
        let page = try await room.history(limit: 2)
        #expect(page.events.map(\.bytes) == [Array(spaced.utf8), [0, 1, 2, 255]])
        #expect(page.events.map(\.event) == ["x", "message"])
        // As a sequence, each has its exact bytes too.
        var all: [RoomEvent] = []
        for await event in events {
            all.append(event)
            if all.count == 4 { break }
        }
        #expect(all.map(\.event) == ["x", "x", "x", "message"] && all.map(\.data) == values)
        #expect(all.map(\.bytes).suffix(2) == [Array(spaced.utf8), [0, 1, 2, 255]])
        #expect(all.allSatisfy { !$0.meta.replayed })
        await rt.close()
    }

    @Test(
        "what is published comes to all in the room, the publisher too; where it is not allowed it is forbidden",
        arguments: RoomServer.Kind.allCases
    )
    func publishing(_ kind: RoomServer.Kind) async throws {
        guard let server = try await RoomServer(kind) else { return }
        let clients = try ["ann", "bob"].map { try server.client($0) }
        let rooms = clients.map { $0.join("chat:1") }
        let heard = rooms.map { room in
            let heard = Heard()
            room.onAny { event, data, meta in heard.add("\(event) \(data) \(meta.from ?? "server")") }
            return heard
        }
        for room in rooms { try await room.ready() }
        // It is not said before it is joined: publish waits.
        try await clients[0].join("hall:1").publish("x", 1)
        let all: [JSONValue] = [["text": "\u{e9} \"quoted\" \n"], [], nil, true, -0.5]
        for data in all { try await rooms[0].publish("said", data) }
        try await rooms[1].publish("joined", "forged")
        let expected = all.map { "said \($0) ann" } + [#"joined "forged" bob"#]
        for listener in heard { try await listener.become(expected) }
        let error = await #expect(throws: RoomError.self) { try await clients[0].join("order:1").publish("x", 1) }
        #expect(error?.code == .forbidden)
        let left = clients[0].join("chat:2")
        left.leave()
        let gone = await #expect(throws: RoomError.self) { try await left.publish("x", 1) }
        #expect(gone?.code == .left)
        for client in clients { await client.close() }
    }

    // MARK: sequences

    private struct Update: Decodable, Sendable, Equatable { let status: String }

    @Test(
        "sequences give values and decoded ones, skip and count what does not decode, and end with the room",
        arguments: RoomServer.Kind.allCases
    )
    func sequences(_ kind: RoomServer.Kind) async throws {
        guard let server = try await RoomServer(kind) else { return }
        let rt = try server.client()
        let room = rt.join("order:1")
        let values = room.events("updated")
        let decoded = room.events("updated", as: Update.self)
        let end = Heard()
        room.on("end") { _, _ in end.add("end") }
        try await room.ready()
        for data in [#"{"status":"new"}"#, #"{"status":1}"#, "7", #"{"status":"sent","more":[]}"#, "null"] {
            try await server.publish("order:1", #"{"event":"updated","data":\#(data)}"#)
        }
        try await server.publish("order:1", #"{"event":"other","data":{"status":"other"}}"#)
        try await server.publish("order:1", #"{"event":"end","data":0}"#)
        try await end.become(["end"])
        #expect(room.skipped == 3)
        room.leave()
        var statuses: [String] = []
        for await (update, meta) in decoded { statuses.append(update.status + " \(meta.id.hasSuffix(":4"))") }
        var kinds: [String] = []
        for await (value, _) in values { kinds.append("\(value)") }
        #expect(statuses == ["new false", "sent true"])
        #expect(kinds == [#"{"status":"new"}"#, #"{"status":1}"#, "7", #"{"status":"sent","more":[]}"#, "null"])
        // One of a room that was left has nothing, and ends.
        for await _ in room.events("updated") { Issue.record("an event of a room that was left") }
        await rt.close()
    }

    @Test(
        "a sequence ends with its task, and its handler with it; one that is read no more, too",
        arguments: RoomServer.Kind.allCases
    )
    func sequenceEnds(_ kind: RoomServer.Kind) async throws {
        guard let server = try await RoomServer(kind) else { return }
        let rt = try server.client()
        let room = rt.join("order:1")
        let heard = Heard()
        let reading = [
            Task {
                for await (value, _) in room.events("x") { heard.add("\(value)") }
                heard.add("ended")
            },
            Task {
                for await (value, _) in room.events("x", as: Int.self) { heard.add("\(value)") }
                heard.add("ended")
            },
        ]
        let first = Task {
            for await (value, _) in room.events("x", as: Int.self) { return value }
            return 0
        }
        try await room.ready()
        let marks = Heard()
        room.on("mark") { _, _ in marks.add("mark") }
        try await publish(["1"], "x", server)
        #expect(await first.value == 1)
        try await heard.become(["1", "1"])
        // Whoever still decodes skips it.
        try await publish([#""none""#], "x", server)
        try await publish(["0"], "mark", server)
        try await eventually { marks.all.count == 1 && heard.all.count == 3 }
        #expect(room.skipped == 1)
        for task in reading {
            task.cancel()
            await task.value
        }
        #expect(heard.all == ["1", "1", #""none""#, "ended", "ended"])
        try await publish([#""none""#], "x", server)
        try await publish(["0"], "mark", server)
        try await eventually { marks.all.count == 2 }
        #expect(room.skipped == 1 && room.state == .joined && heard.all.count == 5)
        await rt.close()
    }

    private func publish(_ data: [String], _ event: String, _ server: RoomServer) async throws {
        try await server.api.publish("order:1", data.map { #"{"event":"\#(event)","data":\#($0)}"# })
    }

    @Test(
        "a sequence that nobody reads drops its oldest events and says so once; the others lose nothing",
        arguments: RoomServer.Kind.allCases
    )
    func slowConsumer(_ kind: RoomServer.Kind) async throws {
        guard let server = try await RoomServer(kind) else { return }
        let rt = try server.client("ann")
        let room = rt.join("order:1")
        let (heard, errors) = (Heard(), Heard())
        room.on("message") { data, _ in heard.add("\(data)") }
        room.on("error") { error, _ in errors.add(error["code"]?.string ?? "") }
        let unread = room.events("message")
        try await room.ready()
        try await server.api.publish("order:1", (1...1_500).map { "\($0)" })
        try await eventually { heard.all.count == 1_500 }
        #expect(heard.all == (1...1_500).map { "\($0)" })
        try await errors.become(["slow_consumer"])
        room.leave()
        var numbers: [Int] = []
        for await (value, _) in unread { numbers.append(Int(value.number ?? 0)) }
        #expect(numbers == Array(477...1_500))
        await rt.close()
    }
}

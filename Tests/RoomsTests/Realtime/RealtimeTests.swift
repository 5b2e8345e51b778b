import BridgeTestSupport
import HubCore
import RoomsRuntime
import RoomsWire
import Testing

import Rooms

/// The client library as apps use it, against a hub.
@Suite struct RealtimeTests {
    private static let rules: [RoomRule] = [
        RoomRule(pattern: "order:{id}", history: 200, isPublic: true),
        RoomRule(
            pattern: "chat:{id}",
            history: 200,
            isPublic: true,
            presence: true,
            membersMay: [.history, .presence, .publish]
        ),
        RoomRule(pattern: "live:{id}", isPublic: true),
        RoomRule(pattern: "secret:{id}", history: 5),
        RoomRule(pattern: "small:{id}", isPublic: true, presence: true, maxMembers: 1),
        RoomRule(pattern: "sealed:{id}", history: 10, isPublic: true, membersMay: []),
    ]

    private let hub: TestHub

    init() throws {
        hub = try TestHub { $0.rooms = .configured(Self.rules) }
    }

    private func client(
        user: String? = nil,
        _ change: (inout RealtimeOptions) -> Void = { _ in }
    ) throws
        -> Realtime
    {
        var options = RealtimeOptions()
        if let user { options.token = Self.token(user) }
        change(&options)
        return try Realtime(url: "ws://127.0.0.1:\(hub.port)/connection/websocket", options: options)
    }

    static func token(_ user: String, room: String? = nil) -> String {
        let token = TokenKey(HubConfiguration.usualTokenSecret).sign { writer in
            writer.key(literal: "sub")
            writer.string(user)
            guard let room else { return }
            writer.key(literal: "channel")
            writer.string(room)
        }
        return String(decoding: token.bytes, as: UTF8.self)
    }

    // MARK: joining

    @Test("join gives the same room for the same name until it is left")
    func sameRoom() async throws {
        let rt = try client()
        let order = rt.join("order:1")
        #expect(rt.join("order:1") === order && rt.room("order:1") === order)
        #expect(order.state == .joining || order.state == .joined)
        try await order.ready()
        #expect(order.state == .joined && rt.room("order:2") == nil)
        order.leave()
        #expect(order.state == .left && rt.room("order:1") == nil)
        let again = rt.join("order:1")
        #expect(again !== order)
        try await again.ready()
        await #expect(throws: RoomError.self) { try await order.ready() }
        await rt.close()
    }

    @Test(
        "a room that cannot be joined says why",
        arguments: [("secret:1", "forbidden"), ("nosuch:1", "no_rule"), ("order:ü", "bad_request")]
    )
    func refused(_ name: String, _ code: String) async throws {
        let rt = try client()
        let room = rt.join(name)
        let heard = Heard()
        room.on("error") { error, _ in heard.add(error["code"]?.string ?? "") }
        let error = await #expect(throws: RoomError.self) { try await room.ready() }
        #expect(error?.code.rawValue == code && room.state == .failed)
        try await eventually { heard.all == [code] }
        await rt.close()
    }

    @Test("a room with a place for one user is full for the second, not for the first again")
    func full() async throws {
        let ann = try client(user: "ann")
        try await ann.join("small:1").ready()
        let annAgain = try client(user: "ann")
        try await annAgain.join("small:1").ready()
        let bob = try client(user: "bob")
        let error = await #expect(throws: RoomError.self) { try await bob.join("small:1").ready() }
        #expect(error?.code == .full)
        for client in [ann, annAgain, bob] { await client.close() }
    }

    @Test("a grant joins a room that is not public")
    func grant() async throws {
        let rt = try client(user: "ann") {
            $0.grants = ["secret:1": .init(token: Self.token("ann", room: "secret:1"))]
        }
        try await rt.join("secret:1").ready()
        await rt.close()
    }

    @Test("ready ends with its task")
    func readyIsCancelled() async throws {
        let rt = try Realtime(url: "ws://127.0.0.1:1/connection/websocket")
        let room = rt.join("order:1")
        let waiting = Task { try await room.ready() }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        await rt.close()
    }

    @Test("what is no URL is refused at once", arguments: ["", "http//x", "ws://", "ftp://127.0.0.1/"])
    func badURL(_ url: String) {
        #expect(throws: RoomError.self) { try Realtime(url: url) }
    }

    // MARK: events

    @Test("handlers hear their events in order, one after another; one that was taken away hears no more")
    func handlers() async throws {
        let rt = try client()
        let room = rt.join("order:1")
        let (named, any, gone) = (Heard(), Heard(), Heard())
        room.on("updated") { data, _ in
            await Task.yield()
            named.add("\(data)")
        }
        let listener = room.on("updated") { data, _ in gone.add("\(data)") }
        room.onAny { event, data, _ in any.add("\(event) \(data)") }
        try await room.ready()
        room.off(listener)
        for number in 1...50 { try await hub.publish("order:1", #"{"event":"updated","data":\#(number)}"#) }
        try await hub.publish("order:1", "7")
        try await eventually { any.all.count == 51 }
        #expect(named.all == (1...50).map { "\($0)" })
        #expect(any.all.last == "message 7")
        #expect(gone.all.isEmpty)
        await rt.close()
    }

    @Test("the room's own events cannot be made up: they come as messages, and under their name to onAny alone")
    func forged() async throws {
        let rt = try client()
        let room = rt.join("order:1")
        let (own, messages, any) = (Heard(), Heard(), Heard())
        let names = ["joined", "join", "leave", "count", "error", "kicked"]
        for name in names { room.on(name) { _, _ in own.add(name) } }
        room.on("message") { data, _ in messages.add("\(data)") }
        room.onAny { event, _, _ in any.add(event) }
        try await room.ready()
        for name in names { try await hub.publish("order:1", #"{"event":"\#(name)","data":"forged"}"#) }
        try await eventually { any.all.count == names.count }
        #expect(any.all == names)
        #expect(messages.all == names.map { _ in #""forged""# })
        #expect(own.all == ["joined"])
        await rt.close()
    }

    @Test("meta tells who, when and where; a payload or a tag cannot forge who")
    func meta() async throws {
        let ann = try client(user: "ann")
        let bob = try client(user: "bob")
        let heard = Lock<[EventMeta]>([])
        let room = bob.join("chat:1")
        room.onAny { _, _, meta in heard.withLock { $0.append(meta) } }
        try await room.ready()
        let mine = ann.join("chat:1")
        try await mine.publish("said", ["text": "hello", "from": "mallory"])
        try await eventually { heard.withLock { $0.count } == 1 }
        let forged =
            #"{"channel":"chat:1","data":{"event":"x","data":1,"at":1700000000123},"tags":{"from":"mallory","user":"mallory"}}"#
        _ = try await hub.api.call("publish", forged)
        _ = try await hub.api.call(
            "publish",
            #"{"channel":"chat:1","data":1,"tags":{"event":"y","at":"1700000000456"}}"#
        )
        try await eventually { heard.withLock { $0.count } == 3 }
        let metas = heard.withLock { $0 }
        #expect(metas.map(\.from) == ["ann", nil, nil])
        #expect(metas[1].at == 1_700_000_000_123 && metas[2].at == 1_700_000_000_456)
        #expect(metas.allSatisfy { !$0.replayed })
        #expect(Set(metas.map(\.id)).count == 3 && metas[2].id.hasSuffix(":3"))
        for client in [ann, bob] { await client.close() }
    }

    @Test("sequences give values and decoded ones, skip what does not decode, and end with the room")
    func sequences() async throws {
        struct Update: Decodable, Sendable, Equatable { let status: String }
        let rt = try client()
        let room = rt.join("order:1")
        let values = room.events("updated")
        let decoded = room.events("updated", as: Update.self)
        try await room.ready()
        for data in [#"{"status":"new"}"#, #"{"status":1}"#, #"{"status":"sent"}"#] {
            try await hub.publish("order:1", #"{"event":"updated","data":\#(data)}"#)
        }
        try await eventually { room.skipped == 1 }
        let last = Heard()
        room.on("end") { _, _ in last.add("end") }
        try await hub.publish("order:1", #"{"event":"end","data":0}"#)
        try await eventually { last.all == ["end"] }
        room.leave()
        var statuses: [String] = []
        for await (update, _) in decoded { statuses.append(update.status) }
        var count = 0
        for await (value, meta) in values {
            #expect(value["status"] != nil && !meta.id.isEmpty)
            count += 1
        }
        #expect(statuses == ["new", "sent"] && count == 3)
        await rt.close()
    }

    @Test("bytes that are not JSON are a binary value, and every event has its exact bytes")
    func binary() async throws {
        let rt = try client()
        let room = rt.join("order:1")
        let heard = Lock<[JSONValue]>([])
        room.on("message") { data, _ in heard.withLock { $0.append(data) } }
        let events = room.events()
        try await room.ready()
        try await hub.api.publish("order:1", bytes: [0, 1, 2, 255])
        try await eventually { heard.withLock { $0.count } == 1 }
        #expect(heard.withLock { $0[0].data } == [0, 1, 2, 255])
        let page = try await room.history()
        #expect(page.events.map(\.bytes) == [[0, 1, 2, 255]])
        let text = #" { "event" : "updated","data":{ "n" : 1.0 } }"#
        try await hub.api.publish("order:1", bytes: Array(text.utf8))
        var all: [RoomEvent] = []
        for await event in events {
            all.append(event)
            if all.count == 2 { break }
        }
        #expect(all.map(\.event) == ["message", "updated"] && all.map(\.meta.replayed) == [false, false])
        #expect(all.map(\.bytes) == [[0, 1, 2, 255], Array(text.utf8)] && all[1].data.description == #"{"n":1.0}"#)
        await rt.close()
    }
}

/// What handlers said, in order.
final class Heard: Sendable {
    private let state = Lock<[String]>([])

    func add(_ text: String) { state.withLock { $0.append(text) } }

    var all: [String] { state.withLock { $0 } }
}

extension TestHub {
    func publish(_ room: String, _ data: String) async throws {
        _ = try await api.call("publish", #"{"channel":"\#(room)","data":\#(data)}"#)
    }

    /// Ends the user's connections with that code.
    func disconnect(user: String, code: Int = 3_001) async throws {
        let body = #"{"user":"\#(user)","disconnect":{"code":\#(code),"reason":"test"}}"#
        _ = try await api.call("disconnect", body)
    }
}

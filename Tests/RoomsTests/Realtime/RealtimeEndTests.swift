import BridgeTestSupport
import Foundation
import HubCore
import RoomsRuntime
import Testing

@testable import Rooms

/// What is left of rooms and clients when they are over: nothing that waits, and nothing that is open.
@Suite(.timeLimit(.minutes(2))) struct RealtimeEndTests {
    private let hub: TestHub

    init() throws {
        hub = try TestHub { $0.rooms = .configured([RoomRule(pattern: "order:{id}", history: 20, isPublic: true)]) }
    }

    private func client(_ change: (inout RealtimeOptions) -> Void = { _ in }) throws -> Realtime {
        var options = RealtimeOptions()
        change(&options)
        return try Realtime(url: "ws://127.0.0.1:\(hub.port)/connection/websocket", options: options)
    }

    @Test("a room that was left stays so, whatever the server answers behind it", arguments: [1])
    func staysLeft(seed: UInt64) async throws {
        let rt = try client()
        var random = SeededRandom(seed: seed)
        try await rt.join("order:0").ready()
        var rooms: [Room] = []
        for number in 1...400 {
            let room = rt.join("order:\(number)")
            // Answers come at any moment between these.
            for _ in 0..<Int.random(in: 0...3, using: &random) { _ = try? await rt.join("order:0").history(limit: 1) }
            room.leave()
            rooms.append(room)
        }
        // An answer behind all of theirs.
        _ = try await rt.join("order:0").history(limit: 1)
        #expect(rooms.allSatisfy { $0.state == .left })
        for room in rooms { await #expect(throws: RoomError.self) { try await room.ready() } }
        await rt.close()
    }

    @Test("the answer that came when the room was left changes nothing, and wakes nobody twice")
    func lateAnswer() async {
        let budget = DeliveryBudget {}
        let settings = try? RealtimeSettings(url: "ws://127.0.0.1:1/", options: RealtimeOptions())
        guard let settings else { return #expect(Bool(false)) }
        let inbox = RoomInbox(name: "order:1", reader: EventReader(settings), budget: budget)
        inbox.left()
        inbox.joined(at: nil)
        #expect(inbox.status.withLock { $0.state } == .left)
        inbox.failed(RoomError(.forbidden, "no"))
        #expect(inbox.status.withLock { $0.state } == .left)
        await #expect(throws: RoomError.self) { try await inbox.waitUntilJoined() }
    }

    @Test("close ends everybody who waits, however far their rooms are")
    func closes() async throws {
        for round in 0..<60 {
            let rt = try client()
            let rooms = (0..<5).map { rt.join("order:\(round)-\($0)") }
            async let others: Void = {
                for room in rooms.dropFirst() { _ = try? await room.ready() }
            }()
            try await rooms[0].ready()
            await rt.close()
            await others
            #expect(rooms.allSatisfy { $0.state == .left })
        }
    }

    @Test("a client that is closed or let go leaves no descriptor open", arguments: [true, false])
    func descriptors(isClosed: Bool) async throws {
        func open() throws -> Int { try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count }
        let route = try ScriptedRoute { connection, _ in
            connection.answer(#"{"rooms":{"order:1":{"token":"\#(RoomServer.token("ann", room: "order:1"))"}}}"#)
        }
        func round() async throws {
            let rt = try client {
                $0.auth = "http://127.0.0.1:\(route.port)/auth"
                $0.token = RoomServer.token("ann")
                $0.log = { _, _ in }
            }
            try await rt.join("order:1").ready()
            if isClosed { await rt.close() }
        }
        try await round()
        let before = try open()
        for _ in 0..<30 { try await round() }
        try await eventually("the descriptors are closed") { (try? open()).map { $0 <= before + 20 } == true }
    }

    @Test("a client that could not work says so when it is made", arguments: ["http://127.0.0.1/", "ftp://127.0.0.1/"])
    func badURL(url: String) {
        #expect(throws: RoomError.self) { try Realtime(url: url) }
        var options = RealtimeOptions()
        options.auth = "ws://127.0.0.1/auth"
        let error = #expect(throws: RoomError.self) { try Realtime(url: "ws://127.0.0.1/", options: options) }
        #expect(error?.message.contains("http:// or https:// would be right") == true)
    }

    @Test("a room without a name is refused here, and the others stay joined")
    func noName() async throws {
        let rt = try client()
        let (room, joins) = (rt.join("order:1"), Heard())
        room.on("joined") { _, _ in joins.add("joined") }
        try await room.ready()
        let error = await #expect(throws: RoomError.self) { try await rt.join("").ready() }
        #expect(error?.code == .badRequest)
        _ = try await room.history()
        #expect(joins.all == ["joined"])
        await rt.close()
    }

    @Test("a consumer that is slow is told of once, until it has caught up")
    func slowConsumer() async throws {
        let budget = DeliveryBudget {}
        let settings = try RealtimeSettings(url: "ws://127.0.0.1:1/", options: RealtimeOptions())
        let handle = try RealtimeHandle(url: "ws://127.0.0.1:1/", options: RealtimeOptions())
        let inbox = RoomInbox(name: "order:1", reader: EventReader(settings), budget: budget)
        let room = Room(name: "order:1", inbox: inbox, core: handle)
        let errors = Heard()
        room.on("error") { error, _ in errors.add(error["code"]?.string ?? "") }
        let heard = Heard()
        room.on("tick") { _, _ in heard.add("tick") }
        var iterator = room.events("tick").makeAsyncIterator()
        func push(_ count: Int) async throws {
            let before = heard.all.count
            for _ in 0..<count { inbox.own("tick", 1) }
            try await eventually { heard.all.count == before + count }
        }
        try await push(1_100)
        // One place at a time becomes free and is taken again.
        for _ in 0..<20 {
            _ = await iterator.next()
            try await push(2)
        }
        try await eventually { !errors.all.isEmpty }
        #expect(errors.all == ["slow_consumer"])
        for _ in 0..<900 { _ = await iterator.next() }
        try await push(1_100)
        try await eventually { errors.all.count == 2 }
        room.leave()
        handle.shutDown()
    }
}

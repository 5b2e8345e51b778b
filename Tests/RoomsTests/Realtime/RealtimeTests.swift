import BridgeTestSupport
import HubCore
import RoomsRuntime
import Testing

import Rooms

/// Joining and leaving rooms, as apps do.
@Suite(.timeLimit(.minutes(2))) struct RealtimeTests {
    @Test("join gives the same room for the same name until it is left", arguments: RoomServer.Kind.allCases)
    func sameRoom(_ kind: RoomServer.Kind) async throws {
        guard let server = try await RoomServer(kind) else { return }
        let rt = try server.client()
        let order = rt.join("order:1")
        #expect(order.name == "order:1" && rt.join("order:1") === order && rt.room("order:1") === order)
        try await order.ready()
        #expect(order.state == .joined && rt.join("order:1") === order)
        // Nothing that only looks like it.
        #expect(rt.room("order:2") == nil && rt.room("order:1 ") == nil && rt.room("") == nil)
        order.leave()
        #expect(order.state == .left && rt.room("order:1") == nil)
        let again = rt.join("order:1")
        #expect(again !== order)
        try await again.ready()
        let error = await #expect(throws: RoomError.self) { try await order.ready() }
        #expect(error?.code == .left)
        rt.leave("order:2")
        rt.leave("order:1")
        #expect(again.state == .left && rt.room("order:1") == nil)
        await rt.close()
        #expect(rt.join("order:1").state == .left)
    }

    @Test(
        "a room that is joined anew is another one, and each event reaches it once",
        arguments: RoomServer.Kind.allCases
    )
    func joinedAnew(_ kind: RoomServer.Kind) async throws {
        guard let server = try await RoomServer(kind) else { return }
        let rt = try server.client()
        let heard = Heard()
        var rooms: [Room] = []
        for turn in 0..<20 {
            let room = rt.join("order:1")
            room.onAny { _, data, _ in heard.add("\(turn) \(data)") }
            // Some are left before they are joined.
            if turn % 3 == 0 { try await room.ready() }
            if turn < 19 { room.leave() }
            rooms.append(room)
        }
        #expect(Set(rooms.map { ObjectIdentifier($0) }).count == 20)
        for old in rooms.dropLast() { old.leave() }
        #expect(rt.room("order:1") === rooms[19])
        try await rooms[19].ready()
        for number in 1...3 { try await server.publish("order:1", "\(number)") }
        try await eventually { heard.all.count >= 3 }
        #expect(heard.all == ["19 1", "19 2", "19 3"])
        #expect(rooms.dropLast().allSatisfy { $0.state == .left })
        await rt.close()
    }

    @Test(
        "the state is joining until the room is joined and while the link is lost",
        arguments: RoomServer.Kind.allCases
    )
    func states(_ kind: RoomServer.Kind) async throws {
        guard let server = try await RoomServer(kind) else { return }
        let link = try MovableLink(to: server.port)
        link.cut()
        let rt = try server.client(over: link)
        let heard = Heard()
        let room = rt.join("order:1", heard.listen)
        try await eventually("an attempt") { link.connections > 1 }
        #expect(room.state == .joining)
        link.mend()
        try await room.ready()
        #expect(room.state == .joined)
        link.cut()
        try await eventually("the loss") { room.state == .joining }
        let waiting = Task { try await room.ready() }
        try await eventually("some attempts") { heard.all.last == "error unavailable" }
        link.mend()
        try await waiting.value
        #expect(room.state == .joined)
        // That the server cannot be reached is told once until it is, and a loss that heals is no error.
        try await heard.become(["error unavailable", "joined", "error unavailable", "joined"])
        try await server.api.call("publish", #"{"channel":"order:1","data":1}"#)
        try await eventually { heard.all.last == "1" }
        rt.leave("order:1")
        #expect(room.state == .left)
        await rt.close()
    }

    @Test("a room that cannot be joined says why, and may be left and joined anew", arguments: RoomServer.Kind.allCases)
    func refused(_ kind: RoomServer.Kind) async throws {
        guard let server = try await RoomServer(kind) else { return }
        let rt = try server.client()
        for (name, code) in [("own:1", "forbidden"), ("nosuch:1", "no_rule"), ("order:ü", "bad_request")] {
            let heard = Heard()
            let room = rt.join(name, heard.listen)
            let error = await #expect(throws: RoomError.self) { try await room.ready() }
            #expect(error?.code.rawValue == code && room.state == .failed, "\(name): \(error?.description ?? "")")
            try await heard.become(["error \(code)"])
            #expect(rt.join(name) === room)
            room.leave()
            #expect(rt.join(name) !== room)
        }
        // The others go on.
        try await rt.join("order:1").ready()
        await rt.close()
    }

    @Test(
        "a grant joins a room that is not open, one of another user or room does not",
        arguments: RoomServer.Kind.allCases
    )
    func grants(_ kind: RoomServer.Kind) async throws {
        guard let server = try await RoomServer(kind) else { return }
        let rt = try server.client("ann") { options in
            options.grants["own:1"] = .init(token: RoomServer.token("ann", room: "own:1"))
            options.grants["own:2"] = .init(token: "no token at all")
        }
        try await rt.join("own:1").ready()
        let error = await #expect(throws: RoomError.self) { try await rt.join("own:2").ready() }
        #expect(error?.code == .forbidden)
        #expect(rt.room("own:1")?.state == .joined)
        await rt.close()
    }

    @Test("a room with a place for one user is full for the second, not for the first again")
    func full() async throws {
        let rule = RoomRule(pattern: "small:{id}", isPublic: true, presence: true, maxMembers: 1)
        guard let server = try await RoomServer(.hub, { $0.rooms = .configured([rule]) }) else { return }
        let clients = try ["ann", "ann", "bob"].map { try server.client($0) }
        for client in clients[..<2] { try await client.join("small:1").ready() }
        let error = await #expect(throws: RoomError.self) { try await clients[2].join("small:1").ready() }
        #expect(error?.code == .full)
        for client in clients { await client.close() }
    }

    // MARK: waiting

    @Test("all who wait for a room are told, also when it is joined already", arguments: RoomServer.Kind.allCases)
    func readyForMany(_ kind: RoomServer.Kind) async throws {
        guard let server = try await RoomServer(kind) else { return }
        let rt = try server.client()
        let room = rt.join("order:1")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<50 { group.addTask { try await room.ready() } }
            try await group.waitForAll()
        }
        try await room.ready()
        await rt.close()
    }

    @Test("who waits for a room that is left, or whose client is closed, is told", arguments: ["leave", "close"])
    func readyIsOver(_ how: String) async throws {
        let rt = try Realtime(url: "ws://127.0.0.1:1/connection/websocket")
        let room = rt.join("order:1")
        let waiting = Task { try await room.ready() }
        if how == "leave" { room.leave() } else { await rt.close() }
        let error = await #expect(throws: RoomError.self) { try await waiting.value }
        #expect(error?.code == .left)
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
        let error = #expect(throws: RoomError.self) { try Realtime(url: url) }
        #expect(error?.code == .badRequest)
    }
}

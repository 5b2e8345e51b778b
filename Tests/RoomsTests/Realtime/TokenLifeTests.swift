import BridgeTestSupport
import RoomsRuntime
import Testing

import Rooms

/// How long tokens are kept and used, and when others are fetched.
@Suite(.timeLimit(.minutes(2))) struct TokenLifeTests {
    /// An auth route whose tokens for `own:1` and the connection last so many seconds.
    private func route(
        _ life: @escaping @Sendable (Int) -> (connection: Int64, room: Int64)
    ) throws -> ScriptedRoute {
        try ScriptedRoute { connection, number in
            let (first, second) = life(number)
            let room = #""own:1":{"token":"\#(RoomServer.token("ann", room: "own:1", life: second))"}"#
            connection.answer(#"{"connection":"\#(RoomServer.token("ann", life: first))","rooms":{\#(room)}}"#)
        }
    }

    private func client(_ server: RoomServer, _ route: ScriptedRoute) throws -> Realtime {
        try server.client { $0.auth = "http://127.0.0.1:\(route.port)/auth" }
    }

    @Test(
        "tokens of three seconds are renewed in time, and neither connection nor room ends",
        arguments: RoomServer.Kind.allCases
    )
    func renewed(_ kind: RoomServer.Kind) async throws {
        guard let server = try await RoomServer(kind, tokenLife: .seconds(3)) else { return }
        let rt = try server.app("alice")
        let rooms = ["own:1", "talk:alice:bob"].map { rt.join($0) }
        let heard = rooms.map { Heard($0) }
        let leaving = Heard()
        rooms[1].on("leave") { _, _ in leaving.add("leave") }
        for room in rooms { try await room.ready() }
        let end = SystemClock.now + .seconds(7)
        try await eventually(within: .seconds(20), "seven seconds") { SystemClock.now >= end }
        for name in ["own:1", "talk:alice:bob"] { try await server.publish(name, "1") }
        for listener in heard { try await listener.become(["joined", "1"]) }
        #expect(leaving.all == [] && rooms[1].members.map(\.user) == ["alice"])
        await rt.close()
    }

    @Test("a token that was given runs out and another one is fetched", arguments: RoomServer.Kind.allCases)
    func given(_ kind: RoomServer.Kind) async throws {
        guard let server = try await RoomServer(kind) else { return }
        let rt = try server.app("alice") { options in
            options.token = RoomServer.token("alice", life: 2)
            options.grants = ["own:1": .init(token: RoomServer.token("alice", room: "own:1", life: 2))]
        }
        let heard = Heard()
        let room = rt.join("own:1", heard.listen)
        try await room.ready()
        let end = SystemClock.now + .seconds(4)
        try await eventually(within: .seconds(20), "four seconds") { SystemClock.now >= end }
        try await server.publish("own:1", "1")
        try await heard.become(["joined", "1"])
        await rt.close()
    }

    @Test(
        "a room that is joined anew uses the token that is kept, until half of its life is over",
        arguments: RoomServer.Kind.allCases
    )
    func kept(_ kind: RoomServer.Kind) async throws {
        guard let server = try await RoomServer(kind) else { return }
        let route = try route { _ in (3_600, 4) }
        let rt = try client(server, route)
        let start = SystemClock.now
        for _ in 0..<3 {
            try await rt.join("own:1").ready()
            rt.leave("own:1")
        }
        #expect(route.requests.count == 1)
        try await eventually("half of its life") { SystemClock.now >= start + .milliseconds(2_100) }
        try await rt.join("own:1").ready()
        #expect(route.requests.count == 2)
        let bodies = route.requests.map(\.body)
        #expect(bodies == [#"{"rooms":["own:1"],"connection":true}"#, #"{"rooms":["own:1"]}"#])
        await rt.close()
    }

    @Test(
        "a token that has run out is replaced by a fresh one; when that has too, the room is expired",
        arguments: RoomServer.Kind.allCases,
        [1, 2]
    )
    func expired(_ kind: RoomServer.Kind, _ bad: Int) async throws {
        guard let server = try await RoomServer(kind) else { return }
        let route = try route { number in (3_600, number < bad ? -600 + 60 * Int64(number) : 3_600) }
        let rt = try client(server, route)
        let room = rt.join("own:1")
        if bad == 1 {
            try await room.ready()
        } else {
            let error = await #expect(throws: RoomError.self) { try await room.ready() }
            #expect(error?.code == .expired)
        }
        #expect(route.requests.count == 2)
        await rt.close()
    }

    @Test("the same holds for the connection's token", arguments: RoomServer.Kind.allCases, [1, 2])
    func connectionExpired(_ kind: RoomServer.Kind, _ bad: Int) async throws {
        guard let server = try await RoomServer(kind) else { return }
        let route = try route { number in (number < bad ? -600 + 60 * Int64(number) : 3_600, 3_600) }
        let rt = try client(server, route)
        let room = rt.join("own:1")
        try await eventually("a second request") { route.requests.count > 1 }
        if bad == 1 {
            try await room.ready()
            #expect(route.requests.count == 2)
        } else {
            // It is tried again, at the pace of a connection that cannot be made.
            try await room.ready()
            #expect(route.requests.count == 3)
        }
        await rt.close()
    }

    @Test(
        "lives without end overflow no timer, and nothing is asked for again and again",
        arguments: RoomServer.Kind.allCases,
        [Int64.max, 1 << 53, 1 << 40, 1 << 32, 1 << 31]
    )
    func endless(_ kind: RoomServer.Kind, _ life: Int64) async throws {
        // The real server reads it as a float, which overflows into the past.
        if kind == .centrifugo, life == .max { return }
        guard let server = try await RoomServer(kind) else { return }
        let route = try route { _ in (life, life) }
        let rt = try client(server, route)
        let heard = Heard()
        let room = rt.join("own:1", heard.listen)
        try await room.ready()
        for number in 1...3 {
            try await server.publish("own:1", "\(number)")
            try await eventually { heard.all.last == "\(number)" }
        }
        #expect(heard.all == ["joined", "1", "2", "3"] && route.requests.count == 1)
        await rt.close()
    }

    @Test(
        "tokens that come when their connection is over are used by the next one, and asked for once",
        arguments: RoomServer.Kind.allCases
    )
    func lateAnswer(_ kind: RoomServer.Kind) async throws {
        guard let server = try await RoomServer(kind) else { return }
        let gate = Gate()
        defer { gate.open() }
        let slow = try ScriptedRoute { connection, number in
            // The first tokens are to be renewed after half a second; what is asked for then comes late.
            if number == 1 { gate.wait() }
            let life: Int64 = number == 0 ? 2 : 3_600
            let room = #""own:1":{"token":"\#(RoomServer.token("ann", room: "own:1"))"}"#
            connection.answer(#"{"connection":"\#(RoomServer.token("ann", life: life))","rooms":{\#(room)}}"#)
        }
        let link = try MovableLink(to: server.port)
        let rt = try server.client(over: link) { $0.auth = "http://127.0.0.1:\(slow.port)/auth" }
        let heard = Heard()
        let room = rt.join("own:1", heard.listen)
        try await room.ready()
        try await eventually("the request for another token") { slow.requests.count == 2 }
        link.cut()
        try await eventually { room.state == .joining }
        link.mend()
        gate.open()
        try await room.ready()
        try await server.publish("own:1", "1")
        try await heard.become(["joined", "joined", "1"])
        #expect(slow.requests.count == 2)
        await rt.close()
    }
}

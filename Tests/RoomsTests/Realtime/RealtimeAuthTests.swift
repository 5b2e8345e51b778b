import BridgeTestSupport
import RoomsRuntime
import Testing

import Rooms

/// How apps get into their rooms: the auth route, and grants.
@Suite(.timeLimit(.minutes(2))) struct RealtimeAuthTests {
    /// An answer of the auth route with a token for each of the rooms.
    private func answer(_ rooms: [String], user: String = "ann", connection: Bool = true) -> String {
        let grants = rooms.map { #""\#($0)":{"token":"\#(RoomServer.token(user, room: $0))"}"# }.joined(separator: ",")
        let token = connection ? #""connection":"\#(RoomServer.token(user))","# : ""
        return #"{\#(token)"rooms":{\#(grants)}}"#
    }

    @Test("each room is joined, or refused with what the auth route said", arguments: RoomServer.Kind.allCases)
    func joined(_ kind: RoomServer.Kind) async throws {
        guard let server = try await RoomServer(kind) else { return }
        let rt = try server.app("alice")
        let names = ["own:1", "own:2", "talk:alice:bob", "shop", "talk:bob:carol", "nosuch:1"]
        let rooms = names.map { rt.join($0) }
        let heard = Heard(rooms[0])
        for room in rooms[..<4] { try await room.ready() }
        let forbidden = await #expect(throws: RoomError.self) { try await rooms[4].ready() }
        #expect(forbidden?.code == .forbidden)
        let unknown = await #expect(throws: RoomError.self) { try await rooms[5].ready() }
        #expect(unknown?.code == .noRule)
        try await eventually { rooms[2].members.map(\.user) == ["alice"] }
        try await server.publish("own:1", "1")
        try await heard.become(["joined", "1"])
        await rt.close()
    }

    @Test(
        "all rooms joined in the same moment, and the connection's token, are asked for in one request with the headers",
        arguments: RoomServer.Kind.allCases
    )
    func oneRequest(_ kind: RoomServer.Kind) async throws {
        guard let server = try await RoomServer(kind) else { return }
        let names = (0..<100).map { "own:\($0)" }
        let body = answer(names)
        let route = try ScriptedRoute { connection, _ in connection.answer(body) }
        let calls = Lock(0)
        let rt = try server.client { options in
            options.auth = "http://127.0.0.1:\(route.port)/auth"
            options.headers = {
                // As one that refreshes a session would.
                await Task.yield()
                let call = calls.withLock { calls in
                    calls += 1
                    return calls
                }
                return ["Authorization": "Bearer secret", "X-Tenant": "\(call)"]
            }
        }
        let rooms = names.map { rt.join($0) }
        for room in rooms { try await room.ready() }
        // Instrumented code may take longer over a hundred joins than a request waits for more rooms (10 ms).
        let requests = route.requests
        #expect((1...(Sanitizer.isLoaded ? 10 : 1)).contains(requests.count))
        #expect(calls.withLock { $0 } == requests.count)
        for (index, request) in requests.enumerated() {
            let head = request.head.lowercased()
            #expect(head.contains("authorization: bearer secret\r\n") && head.contains("x-tenant: \(index + 1)\r\n"))
        }
        let asked = try requests.map { try JSONValue(json: $0.body) }
        #expect(asked.flatMap { $0["rooms"]?.array?.compactMap(\.string) ?? [] }.sorted() == names.sorted())
        #expect(asked.count { $0["connection"] == true } == 1)
        try await server.publish("own:7", "1")
        try await eventually { try await rooms[7].history().events.count == 1 }
        await rt.close()
    }

    @Test(
        "a client that is signed out joins public rooms by its grants, with no request at all",
        arguments: RoomServer.Kind.allCases
    )
    func grants(_ kind: RoomServer.Kind) async throws {
        guard let server = try await RoomServer(kind) else { return }
        let route = try ScriptedRoute { connection, _ in connection.answer("{}") }
        let rt = try server.client { options in
            options.auth = "http://127.0.0.1:\(route.port)/auth"
            options.grants = ["shop": .init(token: RoomServer.token("", room: "shop"))]
        }
        let heard = Heard()
        let room = rt.join("shop", heard.listen)
        try await room.ready()
        try await server.publish("shop", "1")
        try await heard.become(["joined", "1"])
        #expect(route.requests.isEmpty)
        await rt.close()
    }

    @Test(
        "a client with all it needs joins with no request: the connection's token and a grant of each room",
        arguments: RoomServer.Kind.allCases
    )
    func allGiven(_ kind: RoomServer.Kind) async throws {
        guard let server = try await RoomServer(kind) else { return }
        let route = try ScriptedRoute { connection, _ in connection.answer("{}") }
        let rt = try server.client("ann") { options in
            options.auth = "http://127.0.0.1:\(route.port)/auth"
            for name in ["own:1", "talk:ann:bob"] {
                options.grants[name] = .init(token: RoomServer.token("ann", room: name))
            }
        }
        let rooms = ["own:1", "talk:ann:bob"].map { rt.join($0) }
        for room in rooms { try await room.ready() }
        try await eventually { rooms[1].members.map(\.user) == ["ann"] }
        #expect(route.requests.isEmpty)
        await rt.close()
    }

    @Test(
        "who was nobody and joins a room of their own is somebody from then on, and the other rooms come along",
        arguments: RoomServer.Kind.allCases,
        [true, false]
    )
    func becomesKnown(_ kind: RoomServer.Kind, _ hasToken: Bool) async throws {
        guard let server = try await RoomServer(kind) else { return }
        // A token for nobody is not taken from somebody: the server would close the connection.
        let name = hasToken ? "shop" : "order:1"
        let token = hasToken ? RoomServer.token("", room: name) : ""
        let rt = try server.app("alice") { $0.grants = [name: .init(token: token)] }
        let heard = Heard()
        let room = rt.join(name, heard.listen)
        try await room.ready()
        let talk = rt.join("talk:alice:bob")
        try await talk.ready()
        try await eventually { talk.members.map(\.user) == ["alice"] && room.state == .joined }
        try await server.publish(name, "1")
        try await eventually { heard.all.last == "1" }
        #expect(heard.all.count { $0 == "1" } == 1)
        await rt.close()
    }

    // MARK: a route with trouble

    @Test(
        "an auth route with trouble is unavailable, told once, and asked again until it answers",
        arguments: RoomServer.Kind.allCases,
        ["500", "503", "404", "redirect", "html", "cut", "not json", "no rooms", "other room", "slow", "too large"]
    )
    func trouble(_ kind: RoomServer.Kind, _ trouble: String) async throws {
        guard let server = try await RoomServer(kind) else { return }
        let (good, other) = (answer(["own:1"]), answer(["own:2"]))
        let route = try ScriptedRoute { connection, number in
            // Told once, however often it happens.
            guard number < (trouble == "500" ? 2 : 1) else { return connection.answer(good) }
            switch trouble {
            case "500", "503", "404": connection.answer(good, status: Int(trouble) ?? 0)
            case "redirect": connection.write("HTTP/1.1 302 X\r\nlocation: /auth\r\ncontent-length: 0\r\n\r\n")
            case "html": connection.answer("<html>Sign in</html>")
            case "cut": connection.close()
            case "no rooms": connection.answer(#"{"connection":"\(RoomServer.token("ann"))"}"#)
            case "other room": connection.answer(other)
            // Nothing more until the client hangs up.
            case "slow": _ = connection.read()
            case "too large": connection.answer(good + String(repeating: " ", count: 5 << 20))
            default: connection.answer("{")
            }
        }
        let rt = try server.client { options in
            options.auth = "http://127.0.0.1:\(route.port)/auth"
            options.authTimeout = trouble == "slow" ? 0.2 : 10
        }
        let heard = Heard()
        let room = rt.join("own:1", heard.listen)
        try await room.ready()
        try await heard.become(["error unavailable", "joined"])
        #expect(route.requests.count == (trouble == "500" ? 3 : 2))
        await rt.close()
    }

    @Test(
        "an auth route that is down is unavailable, and the room goes on joining until it is there",
        arguments: RoomServer.Kind.allCases
    )
    func down(_ kind: RoomServer.Kind) async throws {
        guard let server = try await RoomServer(kind) else { return }
        let good = answer(["own:1"])
        let route = try ScriptedRoute { connection, _ in connection.answer(good) }
        let link = try MovableLink(to: route.port)
        link.cut()
        let rt = try server.client { $0.auth = "http://127.0.0.1:\(link.port)/auth" }
        let heard = Heard()
        let room = rt.join("own:1", heard.listen)
        try await eventually { heard.all == ["error unavailable"] && link.connections > 1 }
        #expect(room.state == .joining)
        link.mend()
        try await room.ready()
        #expect(heard.all.count { $0.hasPrefix("error") } == 1)
        await rt.close()
        let port = try HeldPort()
        let refused = try server.client { $0.auth = "http://127.0.0.1:\(port.number)/auth" }
        let other = Heard(refused.join("own:1"))
        try await other.become(["error unavailable"])
        await refused.close()
    }

    @Test(
        "a user whom the auth route does not know is unauthorized, and it is not asked again and again",
        arguments: RoomServer.Kind.allCases,
        [401, 403]
    )
    func unauthorized(_ kind: RoomServer.Kind, _ status: Int) async throws {
        guard let server = try await RoomServer(kind) else { return }
        let route = try ScriptedRoute { connection, _ in connection.answer("{}", status: status) }
        let rt = try server.client { $0.auth = "http://127.0.0.1:\(route.port)/auth" }
        let rooms = ["own:1", "own:2"].map { rt.join($0) }
        for room in rooms {
            let error = await #expect(throws: RoomError.self) { try await room.ready() }
            #expect(error?.code == .unauthorized)
        }
        #expect(route.requests.count <= 2)
        await rt.close()
        // The demo route does the same.
        let mallory = try server.app("mallory")
        let error = await #expect(throws: RoomError.self) { try await mallory.join("own:1").ready() }
        #expect(error?.code == .unauthorized)
        await mallory.close()
    }

    @Test(
        "headers that cannot be had are trouble as well, told without what the app's error says",
        arguments: RoomServer.Kind.allCases
    )
    func noHeaders(_ kind: RoomServer.Kind) async throws {
        struct SignedOut: Error, CustomStringConvertible {
            let description = "hush"
        }
        guard let server = try await RoomServer(kind) else { return }
        let calls = Lock(0)
        let rt = try server.app { options in
            options.headers = {
                let call = calls.withLock { calls in
                    calls += 1
                    return calls
                }
                if call < 2 { throw SignedOut() }
                return ["Authorization": "Bearer alice"]
            }
        }
        let room = rt.join("own:1")
        let errors = Lock<[JSONValue]>([])
        room.on("error") { error, _ in errors.withLock { $0.append(error) } }
        try await room.ready()
        let told = errors.withLock { $0 }
        #expect(told.map { $0["code"] } == ["unavailable"] && calls.withLock { $0 } == 2)
        #expect(told[0]["message"]?.string?.contains("hush") == false)
        await rt.close()
    }
}

import BridgeTestSupport
import Foundation
import HubCore
import RoomsRuntime
import RoomsWire
import Testing

@testable import Rooms

/// How apps get into their rooms: the auth route, grants, and keys of sealed events.
@Suite struct RealtimeAuthTests {
    private let hub: TestHub

    init() throws {
        hub = try TestHub { configuration in
            configuration.auth = .standard
            configuration.rooms = .configured([
                RoomRule(pattern: "order:{id}", history: 20),
                RoomRule(pattern: "chat:{a}:{b}", history: 20, presence: true),
                RoomRule(pattern: "shop", history: 20, isPublic: true),
            ])
        }
    }

    private func client(_ user: String?, _ change: (inout RealtimeOptions) -> Void = { _ in }) throws -> Realtime {
        var options = RealtimeOptions()
        options.auth = "http://127.0.0.1:\(hub.port)/auth"
        if let user { options.headers = { ["Authorization": "Bearer \(user)"] } }
        change(&options)
        return try Realtime(url: "ws://127.0.0.1:\(hub.port)/connection/websocket", options: options)
    }

    @Test("each room is joined, or refused with what the auth route said")
    func joined() async throws {
        let rt = try client("alice")
        let rooms = ["order:1", "order:2", "chat:alice:bob", "shop", "chat:bob:carol", "nosuch:1"].map { rt.join($0) }
        for room in rooms[..<4] { try await room.ready() }
        let forbidden = await #expect(throws: RoomError.self) { try await rooms[4].ready() }
        #expect(forbidden?.code == .forbidden)
        let unknown = await #expect(throws: RoomError.self) { try await rooms[5].ready() }
        #expect(unknown?.code == .noRule)
        try await eventually { rooms[2].members.map(\.user) == ["alice"] }
        await rt.close()
    }

    @Test("all rooms joined in the same moment, and the connection's token, are asked for in one request")
    func oneRequest() async throws {
        let hub = hub
        let route = try ScriptedRoute { connection, _ in
            let rooms = (0..<30).map {
                #""order:\#($0)":{"token":"\#(RealtimeTests.token("ann", room: "order:\($0)"))"}"#
            }
            connection.answer(
                #"{"connection":"\#(RealtimeTests.token("ann"))","rooms":{\#(rooms.joined(separator: ","))}}"#
            )
        }
        let headers = Lock(0)
        let rt = try client(nil) { options in
            options.auth = "http://127.0.0.1:\(route.port)/auth"
            options.headers = {
                headers.withLock { $0 += 1 }
                return ["Authorization": "Bearer secret", "X-Tenant": "7"]
            }
        }
        let rooms = (0..<30).map { rt.join("order:\($0)") }
        for room in rooms { try await room.ready() }
        #expect(route.requests.count == 1 && headers.withLock { $0 } == 1)
        let head = route.requests[0].head.lowercased()
        #expect(head.contains("authorization: bearer secret\r\n") && head.contains("x-tenant: 7\r\n"))
        try await hub.publish("order:7", "1")
        try await eventually { (try? await rooms[7].history())?.events.count == 1 }
        await rt.close()
    }

    @Test("a client that is signed out joins public rooms by its grants, with no request at all")
    func grants() async throws {
        let route = try ScriptedRoute { connection, _ in connection.answer("{}") }
        let rt = try client(nil) { options in
            options.auth = "http://127.0.0.1:\(route.port)/auth"
            options.grants = ["shop": .init(token: RealtimeTests.token("", room: "shop"))]
        }
        try await rt.join("shop").ready()
        #expect(route.requests.isEmpty)
        await rt.close()
    }

    @Test(
        "who was nobody and joins a room of their own is somebody from then on, and the other rooms come along",
        arguments: [true, false]
    )
    func becomesKnown(_ hasToken: Bool) async throws {
        // A token for nobody is not taken from somebody: the server would close the connection.
        let token = hasToken ? RealtimeTests.token("", room: "shop") : ""
        let rt = try client("alice") { $0.grants = ["shop": .init(token: token)] }
        let shop = rt.join("shop")
        let heard = Heard()
        shop.onAny { _, data, _ in heard.add("\(data)") }
        try await shop.ready()
        let chat = rt.join("chat:alice:bob")
        try await chat.ready()
        try await eventually { chat.members.map(\.user) == ["alice"] && shop.state == .joined }
        try await hub.publish("shop", "1")
        try await eventually { heard.all == ["1"] }
        await rt.close()
    }

    @Test(
        "an auth route with trouble is unavailable, told once, and asked again until it answers",
        arguments: ["500", "html", "cut", "not json"]
    )
    func trouble(_ kind: String) async throws {
        let route = try ScriptedRoute { connection, number in
            guard number < 2 else {
                let token = RealtimeTests.token("", room: "order:1")
                return connection.answer(#"{"rooms":{"order:1":{"token":"\#(token)"}}}"#)
            }
            switch kind {
            case "500": connection.answer("oops", status: 500)
            case "html": connection.answer("<html>Sign in</html>")
            case "cut": connection.close()
            default: connection.answer("{")
            }
        }
        let rt = try client(nil) { $0.auth = "http://127.0.0.1:\(route.port)/auth" }
        let room = rt.join("order:1")
        let errors = Heard()
        room.on("error") { error, _ in errors.add(error["code"]?.string ?? "") }
        try await room.ready()
        try await eventually { errors.all == ["unavailable"] }
        await rt.close()
    }

    @Test("a user whom the auth route does not know is unauthorized")
    func unauthorized() async throws {
        let rt = try client("mallory")
        let error = await #expect(throws: RoomError.self) { try await rt.join("order:1").ready() }
        #expect(error?.code == .unauthorized)
        await rt.close()
    }

    // MARK: sealed events

    private static let key = [UInt8](repeating: 7, count: 32)

    private func seal(_ json: String, _ key: [UInt8] = key, kid: ByteString = "k1") throws -> String {
        let cipher = try #require(AuthenticatedCipher(key: Secret(key)))
        let sealed = SealedValue.seal(Array(json.utf8), as: kid, with: cipher)
        return #"{"event":"said","sealed":"\#(String(decoding: sealed, as: UTF8.self))"}"#
    }

    @Test("sealed events reach handlers opened, with keys from the options, a grant or the auth route")
    func sealed() async throws {
        let encoded = String(decoding: Base64.encodeURL(Self.key), as: UTF8.self)
        let route = try ScriptedRoute { connection, _ in
            let token = RealtimeTests.token("", room: "shop")
            connection.answer(#"{"rooms":{"shop":{"token":"\#(token)","keys":{"k1":"\#(encoded)"}}}}"#)
        }
        let clients = [
            try client(nil) { options in
                options.auth = nil
                options.keys = ["k1": Self.key]
            },
            try client(nil) { options in
                options.auth = nil
                options.grants = ["shop": .init(token: "", keys: ["k1": Self.key])]
            },
            try client(nil) { $0.auth = "http://127.0.0.1:\(route.port)/auth" },
        ]
        let heard = Heard()
        for client in clients {
            let room = client.join("shop")
            room.on("said") { data, _ in heard.add(data["text"]?.string ?? "") }
            try await room.ready()
        }
        try await hub.publish("shop", try seal(#"{"text":"hello"}"#))
        try await eventually { heard.all == ["hello", "hello", "hello"] }
        for client in clients { await client.close() }
    }

    @Test("what cannot be opened is the error sealed, and reaches no handler; the next event does")
    func cannotOpen() async throws {
        let rt = try client(nil) { options in
            options.auth = nil
            options.keys = ["k1": Self.key]
        }
        let room = rt.join("shop")
        let (said, errors) = (Heard(), Heard())
        room.onAny { event, _, _ in said.add(event) }
        room.on("error") { error, _ in errors.add(error["code"]?.string ?? "") }
        try await room.ready()
        try await hub.publish("shop", try seal("1", [UInt8](repeating: 8, count: 32)))
        try await hub.publish("shop", try seal("1", kid: "other"))
        try await hub.publish("shop", #"{"event":"said","sealed":"no"}"#)
        try await hub.publish("shop", try seal("1"))
        try await eventually { said.all == ["said"] }
        #expect(errors.all == ["sealed", "sealed", "sealed"])
        await rt.close()
    }
}

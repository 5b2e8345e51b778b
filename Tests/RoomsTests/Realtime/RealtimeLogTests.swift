import BridgeTestSupport
import HubCore
import RoomsRuntime
import RoomsWire
import Testing

@testable import Rooms

/// What an app's log hears of the library.
@Suite struct RealtimeLogTests {
    private let hub: TestHub

    init() throws {
        hub = try TestHub { $0.rooms = .configured([RoomRule(pattern: "live:{id}", isPublic: true)]) }
    }

    private func client(
        _ url: String,
        _ heard: Heard,
        _ change: (inout RealtimeOptions) -> Void = { _ in }
    ) throws
        -> Realtime
    {
        var options = RealtimeOptions()
        options.log = { heard.add("\($0): \($1)") }
        change(&options)
        return try Realtime(url: url, options: options)
    }

    @Test("it hears what happens, all of it by the time the client is closed")
    func changes() async throws {
        let heard = Heard()
        let rt = try client("ws://127.0.0.1:\(hub.port)/connection/websocket", heard)
        try await rt.join("live:1").ready()
        await #expect(throws: RoomError.self) { try await rt.join("nosuch:1").ready() }
        await rt.close()
        #expect(heard.all.contains { $0.hasPrefix("notice: connected to the server") })
        #expect(heard.all.contains { $0.hasPrefix("warning: a room is live-only") && $0.contains("room=live:1") })
        #expect(heard.all.contains { $0.contains("room=nosuch:1") && $0.contains("code=102") })
    }

    @Test("what the auth route and the app's headers hold stays out of it")
    func secrets() async throws {
        let route = try ScriptedRoute { connection, _ in connection.answer(#"{"rooms":{"live:1":{"token":"s3cret"}}"#) }
        let heard = Heard()
        let rt = try client("ws://127.0.0.1:\(hub.port)/connection/websocket", heard) { options in
            options.auth = "http://127.0.0.1:\(route.port)/auth"
            options.headers = { ["Authorization": "Bearer s3cret"] }
            options.token = "s3cret"
        }
        rt.join("live:1")
        try await eventually { heard.all.contains { $0.contains("the auth route cannot be used") } }
        await rt.close()
        #expect(!heard.all.contains { $0.contains("s3cret") })
    }

    @Test("a log that takes its time delays no event")
    func slow() async throws {
        let (gate, heard) = (Gate(), Heard())
        let rt = try client("ws://127.0.0.1:\(hub.port)/connection/websocket", heard) { options in
            options.log = { _, _ in gate.wait() }
        }
        let room = rt.join("live:1")
        room.onAny { _, data, _ in heard.add("\(data)") }
        try await room.ready()
        try await hub.publish("live:1", "1")
        try await heard.become(["1"])
        gate.open()
        await rt.close()
    }
}

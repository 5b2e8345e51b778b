import BridgeTestSupport
import HubCore
import RoomsRuntime
import RoomsWire
import Testing

@testable import Rooms

/// What the library does not do for an app, and says so, with everything else going on.
@Suite(.timeLimit(.minutes(1))) struct RealtimeRefusalTests {
    private let hub: TestHub

    init() throws {
        hub = try TestHub { configuration in
            configuration.rooms = .configured([
                RoomRule(pattern: "order:{id}", history: 200, isPublic: true, membersMay: [.history, .publish])
            ])
        }
    }

    private func client(_ change: (inout RealtimeOptions) -> Void = { _ in }) throws -> Realtime {
        var options = RealtimeOptions()
        change(&options)
        return try Realtime(url: "ws://127.0.0.1:\(hub.port)/connection/websocket", options: options)
    }

    @Test(
        "a saved position that is none fails the room instead of starting anew in silence",
        arguments: ["7", ":7", "epoch:", "epoch:-1", "epoch:18446744073709551616", "a\r\nb"]
    )
    func badPosition(_ id: String) async throws {
        let rt = try client()
        let room = rt.join("order:1", after: id)
        let error = await #expect(throws: RoomError.self) { try await room.ready() }
        #expect(error?.code == .badRequest && room.state == .failed)
        #expect(error?.message.contains("\r") == false)
        rt.leave("order:1")
        try await rt.join("order:1").ready()
        await rt.close()
    }

    @Test("the id of an event that was not kept is no position, and no mistake")
    func emptyPosition() async throws {
        let rt = try client()
        try await rt.join("order:1", after: "").ready()
        await rt.close()
    }

    @Test("what no server would take is refused before it is sent, and the link lives on")
    func largePublish() async throws {
        let rt = try client()
        let (room, drops) = (rt.join("order:1"), Heard())
        room.on("joined") { _, _ in drops.add("joined") }
        try await room.ready()
        let tooLarge = JSONValue(String(repeating: "x", count: 65_000))
        let error = await #expect(throws: RoomError.self) { try await room.publish("said", tooLarge) }
        #expect(error?.code == .tooLarge)
        // The largest that is sent comes through.
        let envelope = #"{"event":"said","data":""}"#.utf8.count
        try await room.publish("said", JSONValue(String(repeating: "x", count: 65_000 - envelope)))
        #expect(drops.all == ["joined"])
        await rt.close()
    }

    @Test("who leaves a room while something is asked in it gets an answer, also when the connection goes with it")
    func leftMeanwhile() async throws {
        let rt = try client { $0.roomsPerConnection = 1 }
        try await rt.join("order:1").ready()
        for number in 2..<12 {
            let room = rt.join("order:\(number)")
            try await room.ready()
            async let page = room.history()
            room.leave()
            do {
                _ = try await page
            } catch let error as RoomError {
                #expect(error.code == .left)
            }
        }
        await rt.close()
    }
}

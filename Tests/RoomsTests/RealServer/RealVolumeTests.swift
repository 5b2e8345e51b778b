import BridgeTestSupport
import RoomsRuntime
import RoomsWire
import Testing

@testable import Rooms

/// Much that was missed, from a real server.
@Suite struct RealVolumeTests {
    private func publishLarge(_ count: Int, bytes: Int, to room: String, of server: RealServer) async throws {
        let text = String(repeating: "x", count: bytes)
        try await server.api.publish(room, (1...count).map { #"{"n":\#($0),"x":"\#(text)"}"# })
    }

    @Test(
        "C61: a recovery answer of 5 MB is taken in, whatever the server does behind it",
        arguments: Engine.allCases,
        ["order:1", "nohistory:1"]
    )
    func largeRecovery(engine: Engine, room: String) async throws {
        guard let server = try await RealServer.started(engine) else { return }
        let scene = try RecoveryScene(server, rooms: [room])
        try await scene.begin()
        try await scene.away(.link) { _ in try await publishLarge(50, bytes: 100_000, to: room, of: server) }
        try await scene.expectEvents(["event A/1-53"], within: .seconds(30))
        // A close behind it may come between them.
        try await eventually("the last join") { scene.statuses.last == "connected" }
        try await server.api.publish(room, numbers: 54...54)
        try await scene.expectEvents(["event A/1-54"])
        #expect(scene.statuses.count { $0 == "connected" } < 15)
    }

    @Test("as many as the server is told to give are recovered at once", arguments: Engine.allCases)
    func raisedLimit(_ engine: Engine) async throws {
        let client = #""recovery_max_publication_limit": 900"#
        guard let server = try await RealServer.started(engine, client: client) else { return }
        let scene = try RecoveryScene(server, rooms: ["nohistory:1"])
        try await scene.begin()
        try await scene.away(.link) { try await $0.publish(900) }
        let back = ["joined A/0", "event A/1-3", "joined A/3", "replay A/4-903"]
        try await scene.expect(back)
        try await scene.away(.link) { try await $0.publish(901) }
        try await scene.expect(back + ["joined A/903", "gap not_permitted A/904-1804 then A/1804"])
        scene.expectOrder()
    }

    @Test("C62: over a slow link fifty rooms with much missed are all recovered", arguments: Engine.allCases)
    func slowLink(_ engine: Engine) async throws {
        guard let server = try await RealServer.started(engine) else { return }
        for room in 0..<50 { try await publishLarge(10, bytes: 10_000, to: "order:\(room)", of: server) }
        let link = try SlowLink(to: server.port, bytesPerSecond: 1_000_000)
        let specifications = (0..<50).map { RoomSpecification(name: ByteString("order:\($0)"), start: .earliest) }
        let live = try LiveConnection(port: link.port, rooms: specifications)
        try await eventually(within: .seconds(90), "the events") {
            (0..<50).allSatisfy { live.sink.events($0).count == 10 }
        }
        for room in 0..<50 { #expect(story(live.sink.items, room: room) == ["joined A/0", "replay A/1-10"]) }
        #expect(live.sink.statuses == ["connecting", "connected"])
    }
}

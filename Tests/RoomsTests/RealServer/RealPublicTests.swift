import BridgeTestSupport
import Rooms
import RoomsRuntime
import Testing

/// Recovery as an app sees it, with a real server.
@Suite struct RealPublicTests {
    private func join(_ name: String, _ port: UInt16) throws -> (Realtime, Room, Heard) {
        let rt = try Realtime(url: "ws://127.0.0.1:\(port)/connection/websocket")
        let room = rt.join(name)
        let heard = Heard()
        room.on("joined") { _, _ in heard.add("joined") }
        room.onAny { _, data, meta in heard.add("\(data["n"]?.string ?? "\(data)")" + (meta.replayed ? "*" : "")) }
        room.on("error") { error, _ in
            heard.add("error \(error["code"]?.string ?? "") \(error["reason"]?.string ?? "")")
        }
        return (rt, room, heard)
    }

    private static let trouble = "error unavailable "

    private func numbers(_ range: ClosedRange<Int>, replayed: Bool = false) -> [String] {
        range.map { #"{"n":\#($0)}"# + (replayed ? "*" : "") }
    }

    private func expect(
        _ heard: Heard,
        _ expected: [String],
        _ location: SourceLocation = #_sourceLocation
    ) async throws {
        // How long a link was away is not determined, and so is whether that was told.
        do {
            try await eventually { heard.all.filter { $0 != Self.trouble } == expected }
        } catch is NotInTime {
            #expect(heard.all.filter { $0 != Self.trouble } == expected, sourceLocation: location)
        }
    }

    @Test(
        "a link that breaks: what was missed comes first and is marked; what is gone is an error",
        arguments: Engine.allCases
    )
    func dropped(_ engine: Engine) async throws {
        guard let server = try await RealServer.started(engine) else { return }
        let link = try MovableLink(to: server.port)
        let (rt, room, heard) = try join("few:1", link.port)
        try await room.ready()
        try await server.api.publish("few:1", numbers: 1...3)
        var story = ["joined"] + numbers(1...3)
        try await expect(heard, story)
        link.cut()
        try await eventually("the loss of the link") { room.state == .joining }
        try await server.api.publish("few:1", numbers: 4...8)
        link.mend()
        story += ["joined"] + numbers(4...8, replayed: true)
        try await expect(heard, story)
        try await server.api.publish("few:1", numbers: 9...10)
        story += numbers(9...10)
        try await expect(heard, story)
        link.cut()
        try await eventually("the loss of the link") { room.state == .joining }
        try await server.api.publish("few:1", numbers: 11...25)
        link.mend()
        story += ["joined", "error gap trimmed"] + numbers(16...25, replayed: true)
        try await expect(heard, story)
        link.cut()
        try await eventually("the loss of the link") { room.state == .joining }
        try await server.forget()
        try await server.api.publish("few:1", numbers: 26...27)
        link.mend()
        story += ["joined", "error gap epoch_changed"] + numbers(26...27, replayed: true)
        try await expect(heard, story)
        await rt.close()
    }

    @Test("Redis is down while a room is to be joined: it is never failed, and joined when Redis is back")
    func brokerDown() async throws {
        guard let server = try await RealServer.started(.redis), let redis = server.redis else { return }
        let link = try MovableLink(to: server.port)
        let (rt, room, heard) = try join("order:1", link.port)
        try await room.ready()
        try await server.api.publish("order:1", numbers: 1...3)
        try await expect(heard, ["joined"] + numbers(1...3))
        redis.freeze()
        link.cut()
        try await eventually("the loss of the link") { room.state == .joining }
        link.mend()
        try await eventually("the trouble") { heard.all.last == Self.trouble }
        #expect(room.state == .joining)
        redis.thaw()
        try await room.ready()
        try await server.api.publish("order:1", numbers: 4...5)
        try await expect(heard, ["joined"] + numbers(1...3) + ["joined"] + numbers(4...5))
        await rt.close()
    }
}

import BridgeTestSupport
import RoomsRuntime
import Testing

@testable import Rooms

/// Two servers with the same rooms, since they share a Redis.
@Suite struct RealNodesTests {
    private func servers() async throws -> (near: RealServer, far: RealServer)? {
        guard let redis = try RedisProcess(), let near = try RealServer(redis: redis),
            let far = try RealServer(redis: redis)
        else { return nil }
        try await redis.start()
        try await near.start()
        try await far.start()
        return (near, far)
    }

    @Test(
        "a client that moves to another server hears what it missed first, and has no gap",
        arguments: Absence.allCases
    )
    func moved(_ absence: Absence) async throws {
        guard let (near, far) = try await servers() else { return }
        let scene = try RecoveryScene(near, rooms: (0..<10).map { "order:\($0)" })
        try await scene.begin()
        try await scene.away(absence) { scene in
            try await near.stop()
            try await scene.publish(5, by: far)
            scene.link.mend(to: far.port)
        }
        let begun = ["joined A/0", "event A/1-3", "joined A/3", "replay A/4-8"]
        for room in scene.names.indices { try await scene.expect(begun, in: room) }
        try await scene.publish(2, by: far)
        for room in scene.names.indices { try await scene.expect(begun + ["event A/9-10"], in: room) }
        scene.expectOrder()
    }

    @Test("a server is killed while both of them publish: the client goes on at the other, and nothing is lost")
    func killed() async throws {
        guard let (near, far) = try await servers() else { return }
        let scene = try RecoveryScene(near, rooms: ["order:1", "order:2"])
        try await scene.begin()
        for round in 0..<10 {
            try await scene.publish(5, by: round < 4 ? near : far)
            if round == 4 { try await near.kill() }
            if round == 7 { scene.link.mend(to: far.port) }
        }
        for room in 0..<2 { try await scene.expectEvents(["event A/1-53"], in: room) }
        scene.expectOrder()
    }
}

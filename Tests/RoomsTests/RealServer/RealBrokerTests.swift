import BridgeTestSupport
import RoomsRuntime
import Testing

@testable import Rooms

/// A Redis that fails, forgets, or loses messages on their way, under a server whose clients stay connected.
@Suite struct RealBrokerTests {
    private static let begun = ["joined A/0", "event A/1-3"]

    private func scene(_ rooms: [String] = ["order:1"], keepsData: Bool = false) async throws -> RecoveryScene? {
        guard let redis = try RedisProcess(keepsData: keepsData), let server = try RealServer(redis: redis) else {
            return nil
        }
        try await redis.start()
        try await server.start()
        let scene = try RecoveryScene(server, rooms: rooms)
        try await scene.begin()
        return scene
    }

    @Test("it forgot everything: the next event begins another stream, and is not lost")
    func emptied() async throws {
        guard let scene = try await scene() else { return }
        try await scene.redis.flush()
        try await scene.publish(1)
        let back = Self.begun + ["joined A/3", "gap epoch_changed A/4- then B/0", "replay B/1"]
        try await scene.expect(back)
        try await scene.publish(2)
        try await scene.expect(back + ["event B/2-3"])
        scene.expectOrder()
        #expect(scene.statuses == ["connecting", "connected"])
    }

    @Test("it forgot everything, and nothing is published: the server finds out, and the client is told")
    func emptiedQuietly() async throws {
        guard let scene = try await scene() else { return }
        try await scene.redis.flush()
        let back = Self.begun + ["joined A/3", "gap epoch_changed A/4- then B/0"]
        try await scene.expect(back)
        try await scene.publish(2)
        try await scene.expect(back + ["event B/1-2"])
        scene.expectOrder()
        #expect(scene.statuses == ["connecting", "connected"])
    }

    @Test("it forgot one room: the others hear nothing of it")
    func oneDeleted() async throws {
        guard let scene = try await scene(["order:1", "order:2"]) else { return }
        try await scene.deleteStream(0)
        try await scene.publish(1)
        let back = Self.begun + ["joined A/3", "gap epoch_changed A/4- then B/0", "replay B/1"]
        try await scene.expect(back)
        try await scene.publish(1)
        try await scene.expect(back + ["event B/2"])
        try await scene.expect(["joined A/0", "event A/1-5"], in: 1)
        scene.expectOrder()
    }

    @Test("it was set back to an older copy of its data: a gap, and what is new from then on")
    func setBack() async throws {
        guard let scene = try await scene() else { return }
        try await scene.setBack(to: 1, of: 3)
        let back = Self.begun + ["joined A/3", "gap went_back A/2-3 then A#1/1"]
        try await scene.expect(back)
        try await scene.publish(2)
        try await scene.expect(back + ["event A#1/2-3"])
        scene.expectOrder()
        #expect(scene.statuses == ["connecting", "connected"])
    }

    /// A scene at a server whose link to Redis was cut while another server published two events.
    private func lossy(positionCheck: String) async throws -> RecoveryScene? {
        guard let redis = try RedisProcess() else { return nil }
        try await redis.start()
        let link = try MovableLink(to: redis.port)
        let near = try RealServer(redis: redis, redisPort: link.port, positionCheck: positionCheck)
        guard let near, let far = try RealServer(redis: redis) else { return nil }
        try await near.start()
        try await far.start()
        let scene = try RecoveryScene(near, rooms: ["order:1"])
        try await scene.begin()
        link.cut()
        try await scene.publish(2, by: far)
        link.mend()
        scene.keep(link)
        return scene
    }

    @Test("messages were lost on their way to the server: it finds out, and the client is told")
    func lostQuietly() async throws {
        guard let scene = try await lossy(positionCheck: "1s") else { return }
        let back = Self.begun + ["joined A/3", "replay A/4-5"]
        try await scene.expect(back)
        try await scene.publish(2)
        try await scene.expect(back + ["event A/6-7"])
        scene.expectOrder()
        #expect(scene.statuses == ["connecting", "connected"])
    }

    @Test("messages were lost on their way to the server: the next one that comes shows it")
    func lostBeforeAnother() async throws {
        guard let scene = try await lossy(positionCheck: "60s") else { return }
        var last = 5
        try await eventually("another join") {
            if (try? await scene.publish(1)) != nil { last += 1 }
            return scene.story().contains("joined A/3")
        }
        try await scene.expectEvents(["event A/1-\(last)"])
        #expect(scene.story().prefix(4).last?.hasPrefix("replay A/4") == true)
        scene.expectOrder()
        #expect(scene.statuses == ["connecting", "connected"])
    }

    enum Failure: String, CaseIterable, CustomTestStringConvertible, Sendable {
        /// It stands still, its sockets stay.
        case frozen
        /// It was killed, and is back with all that it had.
        case killed
        /// It was killed, and is back empty.
        case replaced

        var testDescription: String { rawValue }

        func begin(_ redis: RedisProcess) async throws {
            if self == .frozen { redis.freeze() } else { try await redis.kill() }
        }

        func end(_ redis: RedisProcess) async throws {
            if self == .frozen { redis.thaw() } else { try await redis.start() }
        }
    }

    private func waitForServer(_ scene: RecoveryScene, isUp: Bool) async throws {
        try await eventually("a server whose Redis is \(isUp ? "back" : "down")") {
            let answer = try? await scene.server.api.call("history", #"{"channel":"order:1"}"#)
            return (answer != nil) == isUp
        }
    }

    @Test(
        "down while rooms are joined: they stay so, and nothing is lost but what it lost",
        arguments: Failure.allCases
    )
    func downWhileJoined(_ failure: Failure) async throws {
        guard let scene = try await scene(["order:1", "order:2"], keepsData: failure != .replaced) else { return }
        let redis = try scene.redis
        try await failure.begin(redis)
        try await waitForServer(scene, isUp: false)
        #expect(scene.statuses == ["connecting", "connected"])
        try await failure.end(redis)
        try await waitForServer(scene, isUp: true)
        try await scene.publish(4)
        let expected =
            failure == .replaced ? ["event A/1-3", "gap epoch_changed A/4- then B/0", "event B/1-4"] : ["event A/1-7"]
        for room in 0..<2 { try await scene.expectEvents(expected, in: room) }
        scene.expectOrder()
        // A server that missed the events itself ends the subscription, and may not be able to renew it at once.
        #expect(Set(scene.statuses).isSubset(of: ["connecting", "connected", "waiting 3004"]))
    }

    @Test(
        "C65: down while rooms are to be joined: no room fails, and all are joined when it is back",
        arguments: Failure.allCases
    )
    func downWhileJoining(_ failure: Failure) async throws {
        let names = (0..<20).map { "order:\($0)" }
        guard let scene = try await scene(names, keepsData: failure != .replaced) else { return }
        let redis = try scene.redis
        try await scene.cut()
        try await scene.publish(2)
        try await failure.begin(redis)
        scene.link.mend()
        try await eventually("some refusals") { scene.statuses.count { $0 == "waiting 3004" } >= 3 }
        try await failure.end(redis)
        let expected = failure == .replaced ? ["gap epoch_changed A/4- then B/0"] : ["replay A/4-5"]
        for room in names.indices { try await scene.expect(Self.begun + ["joined A/3"] + expected, in: room) }
        try await scene.publish(2)
        let last = failure == .replaced ? "event B/1-2" : "event A/6-7"
        for room in names.indices { try await scene.expect(Self.begun + ["joined A/3"] + expected + [last], in: room) }
        scene.expectOrder()
        #expect(Set(scene.statuses) == ["connecting", "connected", "waiting 0", "waiting 3004"])
    }

    @Test("down while missed events are fetched: they are all there in the end", arguments: [Failure.frozen, .killed])
    func downWhileFilling(_ failure: Failure) async throws {
        guard let scene = try await scene(keepsData: true) else { return }
        let redis = try scene.redis
        let large = #"{"x":"\#(String(repeating: "x", count: 4_000))"}"#
        for _ in 0..<9 { try await scene.server.api.publish("order:1", Array(repeating: large, count: 100)) }
        let link = try SlowLink(to: scene.server.port, bytesPerSecond: 4_000_000)
        let live = try LiveConnection(port: link.port, rooms: [RoomSpecification(name: "order:1", start: .earliest)])
        try await eventually("the first page") { !live.sink.events().isEmpty }
        try await failure.begin(redis)
        try await waitForServer(scene, isUp: false)
        // A page takes a tenth of a second on this link: the next one was asked for, and did not come.
        var (count, since) = (0, SystemClock.now)
        try await eventually("a standstill") {
            if count != live.sink.events().count { (count, since) = (live.sink.events().count, SystemClock.now) }
            return SystemClock.now - since > .milliseconds(400)
        }
        #expect(count < 903)
        try await failure.end(redis)
        try await eventually("all of it") { live.sink.events().count == 903 }
        #expect(story(live.sink.items) == ["joined A/0", "replay A/1-903"])
        #expect(live.sink.statuses == ["connecting", "connected"])
    }
}

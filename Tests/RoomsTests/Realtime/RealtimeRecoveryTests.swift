import BridgeTestSupport
import HubCore
import LocalHTTP
import RoomsRuntime
import Testing

import Rooms

/// Nothing lost on a reconnect: what was missed comes first, in order and marked, then what is new.
@Suite(.timeLimit(.minutes(2))) struct RealtimeRecoveryTests {
    /// A client over a link, in `order:1` to `order:3`, that has heard one event in each.
    private struct Scene {
        let link: MovableLink
        let rt: Realtime
        let rooms: [Room]
        let heard: [Heard]

        init(_ server: RoomServer) async throws {
            link = try MovableLink(to: server.port)
            let rt = try server.client("ann", over: link)
            self.rt = rt
            rooms = (1...3).map { rt.join("order:\($0)") }
            heard = rooms.map { Heard($0) }
            for room in rooms { try await room.ready() }
            for number in 1...3 { try await server.publish("order:\(number)", "1") }
            for listener in heard { try await listener.become(["joined", "1"], story: true) }
        }

        /// Publishes 2 to 9 in each room where nobody hears it.
        func miss(on server: RoomServer) async throws {
            for number in 1...3 { try await server.api.publish("order:\(number)", (2...9).map { "\($0)" }) }
        }

        /// Publishes 10 in each room, and expects that nothing is missing, twice or in another order.
        func expectAll(on server: RoomServer) async throws {
            for room in rooms { try await room.ready() }
            for number in 1...3 { try await server.publish("order:\(number)", "10") }
            let all = ["joined", "1", "joined"] + (2...9).map { "\($0)*" } + ["10"]
            for listener in heard { try await listener.become(all, story: true) }
            await rt.close()
        }
    }

    @Test(
        "after a drop come the events that were missed, in order and marked, then the new ones",
        arguments: RoomServer.Kind.allCases
    )
    func drop(_ kind: RoomServer.Kind) async throws {
        guard let server = try await RoomServer(kind) else { return }
        let scene = try await Scene(server)
        scene.link.cut()
        for room in scene.rooms { try await eventually { room.state == .joining } }
        try await scene.miss(on: server)
        scene.link.mend()
        try await scene.expectAll(on: server)
    }

    @Test("after a move to another address of the server the same", arguments: [RoomServer.Kind.hub])
    func move(_ kind: RoomServer.Kind) async throws {
        guard let server = try await RoomServer(kind, { $0.listen = ["127.0.0.1:0", "127.0.0.1:0"] }) else { return }
        let scene = try await Scene(server)
        scene.link.cut()
        try await scene.miss(on: server)
        scene.link.mend(to: server.ports[1])
        try await scene.expectAll(on: server)
    }

    @Test("after a move to another server that has the same rooms, the same")
    func moveBetweenServers() async throws {
        guard let program = try RequiredProgram.redis.find() else { return }
        let held = try HeldPort()
        let words = ["--port", "\(held.number)", "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
        let redis = try ChildProcess(program, words)
        _ = try await redis.line(containing: "Ready to accept connections")
        let address = "redis://127.0.0.1:\(held.number)"
        guard let first = try await RoomServer(.centrifugo, redis: address),
            let second = try await RoomServer(.centrifugo, redis: address)
        else { return }
        let scene = try await Scene(first)
        scene.link.cut()
        try await first.stop()
        try await scene.miss(on: second)
        scene.link.mend(to: second.port)
        try await scene.expectAll(on: second)
        try await redis.stop()
    }

    @Test("what was missed has its sender, id and time as if nothing had happened", arguments: RoomServer.Kind.allCases)
    func replayedMeta(_ kind: RoomServer.Kind) async throws {
        guard let server = try await RoomServer(kind) else { return }
        let link = try MovableLink(to: server.port)
        let (ann, bob) = (try server.client("ann", over: link), try server.client("bob"))
        let room = ann.join("chat:1")
        let metas = Lock<[EventMeta]>([])
        room.onAny { _, _, meta in metas.withLock { $0.append(meta) } }
        try await room.ready()
        let other = bob.join("chat:1")
        let others = Lock<[EventMeta]>([])
        other.onAny { _, _, meta in others.withLock { $0.append(meta) } }
        try await other.ready()
        link.cut()
        try await eventually { room.state == .joining }
        try await other.publish("said", "hello")
        try await server.publish("chat:1", #"{"event":"x","data":1,"at":1700000000123}"#)
        link.mend()
        try await eventually { metas.withLock { $0.count } == 2 && others.withLock { $0.count } == 2 }
        let (missed, live) = (metas.withLock { $0 }, others.withLock { $0 })
        #expect(missed.allSatisfy(\.replayed) && live.allSatisfy { !$0.replayed })
        #expect(missed.map(\.from) == ["bob", nil] && live.map(\.from) == ["bob", nil])
        #expect(missed.map(\.id) == live.map(\.id) && !missed[0].id.isEmpty)
        #expect(missed[1].at == 1_700_000_000_123)
        for client in [ann, bob] { await client.close() }
    }

    @Test(
        "a server that ends the connection is come back to, and nothing is lost meanwhile",
        arguments: RoomServer.Kind.allCases
    )
    func disconnected(_ kind: RoomServer.Kind) async throws {
        guard let server = try await RoomServer(kind) else { return }
        let rt = try server.client("ann")
        let heard = Heard()
        let room = rt.join("order:1", heard.listen)
        try await room.ready()
        for round in 0..<5 {
            try await server.disconnect("ann", code: [3_000, 3_001, 3_008, 4_000, 3_012][round])
            try await server.api.publish("order:1", (1...10).map { "\(round * 10 + $0)" })
            try await eventually("round \(round)") { heard.story.last?.hasPrefix("\(round * 10 + 10)") == true }
        }
        let numbers = heard.story.filter { $0 != "joined" }.map { $0.replacing("*", with: "") }
        #expect(numbers == (1...50).map { "\($0)" })
        #expect(heard.story.count { $0 == "joined" } == 6)
        await rt.close()
    }

    // MARK: gaps

    @Test(
        "what the server keeps no more is told as a gap, before the events that are left",
        arguments: RoomServer.Kind.allCases
    )
    func trimmed(_ kind: RoomServer.Kind) async throws {
        guard let server = try await RoomServer(kind) else { return }
        let link = try MovableLink(to: server.port)
        let rt = try server.client(over: link)
        let heard = Heard()
        let room = rt.join("few:1", heard.listen)
        let gaps = Lock<[JSONValue]>([])
        room.on("error") { error, _ in gaps.withLock { $0.append(error) } }
        try await room.ready()
        try await server.publish("few:1", "1")
        try await heard.become(["joined", "1"], story: true)
        link.cut()
        try await eventually { room.state == .joining }
        try await server.api.publish("few:1", (2...9).map { "\($0)" })
        link.mend()
        try await eventually { heard.story.last == "9*" }
        try await server.publish("few:1", "10")
        try await eventually { heard.story.last == "10" }
        #expect(heard.story == ["joined", "1", "joined", "error gap trimmed", "7*", "8*", "9*", "10"])
        let gap = gaps.withLock { $0[0] }
        #expect(gap["from"] == 2 && gap["to"] == 6 && gap["message"]?.string?.isEmpty == false)
        await rt.close()
    }

    @Test(
        "a server that comes back without its streams is a gap, and the new stream comes from its beginning",
        arguments: RoomServer.Kind.allCases
    )
    func restart(_ kind: RoomServer.Kind) async throws {
        guard let server = try await RoomServer(kind) else { return }
        let link = try MovableLink(to: server.port)
        let rt = try server.client(over: link)
        let heard = Heard()
        let room = rt.join("order:1", heard.listen)
        try await room.ready()
        try await server.publish("order:1", "1")
        try await heard.become(["joined", "1"], story: true)
        link.cut()
        try await server.restart()
        try await server.api.publish("order:1", ["2", "3"])
        link.mend()
        try await eventually { heard.story.last?.hasPrefix("3") == true }
        try await server.publish("order:1", "4")
        try await eventually { heard.story.last == "4" }
        #expect(heard.story == ["joined", "1", "joined", "error gap epoch_changed", "2*", "3*", "4"])
        await rt.close()
    }

    @Test(
        "a room that keeps nothing goes on after a drop, without what was missed",
        arguments: RoomServer.Kind.allCases
    )
    func nothingKept(_ kind: RoomServer.Kind) async throws {
        guard let server = try await RoomServer(kind) else { return }
        let link = try MovableLink(to: server.port)
        let rt = try server.client(over: link)
        let heard = Heard()
        let room = rt.join("live:1", heard.listen)
        try await room.ready()
        link.cut()
        try await eventually { room.state == .joining }
        try await server.publish("live:1", "1")
        link.mend()
        try await room.ready()
        try await server.publish("live:1", "2")
        try await eventually { heard.story.last == "2" }
        #expect(heard.story == ["joined", "joined", "2"])
        await rt.close()
    }

    // MARK: saved positions

    @Test("a new process goes on behind the last event that the old one handled", arguments: RoomServer.Kind.allCases)
    func savedPosition(_ kind: RoomServer.Kind) async throws {
        guard let server = try await RoomServer(kind) else { return }
        let first = try server.client("ann")
        let ids = Lock<[String]>([])
        let room = first.join("order:1")
        room.onAny { _, _, meta in ids.withLock { $0.append(meta.id) } }
        try await room.ready()
        try await server.api.publish("order:1", ["1", "2"])
        try await eventually { ids.withLock { $0.count } == 2 }
        await first.close()
        try await server.api.publish("order:1", ["3", "4"])
        let second = try server.client("ann")
        // Behind the first one, as if the second had not been handled.
        let heard = Heard()
        second.join("order:1", after: ids.withLock { $0[0] }, heard.listen)
        try await eventually { heard.story.count >= 4 }
        try await server.publish("order:1", "5")
        try await heard.become(["joined", "2*", "3*", "4*", "5"], story: true)
        await second.close()
    }

    @Test("a saved position of a stream that is no more is a gap", arguments: RoomServer.Kind.allCases)
    func savedPositionIsGone(_ kind: RoomServer.Kind) async throws {
        guard let server = try await RoomServer(kind) else { return }
        try await server.api.publish("order:1", ["1", "2"])
        let rt = try server.client("ann")
        let heard = Heard(rt.join("order:1", after: "OtherEpo:1"))
        try await eventually { heard.story.last == "2*" }
        #expect(heard.story == ["joined", "error gap epoch_changed", "1*", "2*"])
        await rt.close()
    }
}

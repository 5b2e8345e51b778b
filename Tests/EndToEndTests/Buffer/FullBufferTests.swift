internal import BridgeTestSupport
internal import RoomsRuntime
internal import Testing

extension EndToEnd {
    /// An endpoint that is down fills its share of the buffer: the others do not notice.
    @Suite(.timeLimit(.minutes(3))) struct FullBufferTests {
        private static let text = String(repeating: "x", count: 2_000)
        private static let over = "an endpoint holds too much of the buffer"
        private static let below = "an endpoint holds less of the buffer again"

        /// `count` events of about 2 KiB; with each fifty of them one that `b` gets, so that they do not come all at once.
        private func publish(_ count: Int, to room: String, _ scene: BufferScene) async throws {
            for _ in 0..<count / 50 {
                try await scene.publish(room, Array(repeating: "\"\(Self.text)\"", count: 50))
                _ = try await latency(1, scene)
            }
        }

        /// How long each of some events takes from the server to `b`.
        private func latency(_ count: Int, _ scene: BufferScene) async throws -> Duration {
            var worst = Duration.zero
            let receiver = try scene["b"]
            for _ in 0..<count {
                let before = receiver.acceptedCount
                let start = SystemClock.now
                try await scene.publish("order:b", "1")
                try await scene.bridge.eventually("an event at b") { receiver.acceptedCount > before }
                worst = max(worst, SystemClock.now - start)
            }
            return worst
        }

        @Test func `dead endpoints leave room for the others, and get everything when they are back`() async throws {
            let scene = try await BufferScene(["a", "b", "c"]) { setup, receivers in
                for (name, rooms) in [("a", ["order:a1", "order:a2"]), ("b", ["order:b"]), ("c", ["order:c"])] {
                    receivers[name].map { setup.add(endpoint: name, for: $0.address, rooms: rooms) }
                }
                setup.extra = #", "buffer": { "max_size": "16MiB" }"#
            }
            try await scene.bridge.start()
            try await scene.bridge.joined(["order:a1", "order:a2", "order:b", "order:c"])
            _ = try await latency(3, scene)
            try scene["a"].refuse()
            // More than its share: its rooms are left, what follows stays with the server.
            for room in ["order:a1", "order:a2"] { try await publish(3_500, to: room, scene) }
            try await scene.bridge.eventually("the rooms of a left") { scene.lines(Self.over).count == 1 }
            let line = try #require(scene.lines(Self.over).first)
            #expect(line.contains("endpoint=a") && line.contains("limit=16777216"), "\(line)")
            for room in ["order:a1", "order:a2"] { try await publish(500, to: room, scene) }
            #expect(try await latency(20, scene) < .seconds(1))
            // A second one, too.
            try scene["c"].refuse()
            try await publish(2_000, to: "order:c", scene)
            try await scene.bridge.eventually("the room of c left") { scene.lines(Self.over).count == 2 }
            #expect(try await latency(20, scene) < .seconds(1))
            #expect(scene.lines("the buffer is full").isEmpty, "\(scene.bridge.log)")
            // It is as before after a restart.
            #expect(try await scene.bridge.terminate() == .status(0))
            try await scene.bridge.start()
            try await scene.bridge.eventually("both over") { scene.lines(Self.over).count == 2 }
            try await scene.bridge.joined(["order:b"])
            #expect(try await latency(5, scene) < .seconds(1))
            try scene["a"].listen()
            try await scene.expect("a", "order:a1", has: 1...4_000, within: .seconds(60))
            try await scene.expect("a", "order:a2", has: 1...4_000, within: .seconds(60))
            try scene["c"].listen()
            try await scene.expect("c", "order:c", has: 1...2_000, within: .seconds(60))
            let count = try scene["b"].requests.count
            try await scene.expect("b", "order:b", has: 1...count)
            #expect(scene.lines("the buffer is full").isEmpty && scene.lines("room.gap").isEmpty, "\(scene.bridge.log)")
            // It does not go to and fro: what the server kept comes in as room is made, so a few rounds are fair.
            #expect(scene.lines(Self.over).count <= 4, "\(scene.bridge.log)")
            #expect(scene.lines(Self.over).count == scene.lines(Self.below).count, "\(scene.bridge.log)")
            for name in ["a", "b", "c"] {
                #expect(try scene[name].requests.allSatisfy { $0["roombridge-type"] == "room.event" })
            }
            try await scene.close()
        }
    }
}

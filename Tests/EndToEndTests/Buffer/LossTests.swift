internal import BridgeTestSupport
internal import RoomsRuntime
internal import Testing

extension EndToEnd {
    /// An endpoint that may lose its oldest events is told what it lost, and it alone.
    @Suite(.timeLimit(.minutes(2))) struct LossTests {
        private static let room = "order:1"
        private static let line = "an endpoint loses its oldest events"

        /// Endpoint `a` with these options, and `b`, both for the room.
        private func scene(_ options: String) async throws -> BufferScene {
            try await BufferScene(["a", "b"]) { setup, receivers in
                for (name, options) in [("a", options), ("b", "")] {
                    guard let receiver = receivers[name] else { continue }
                    setup.add(endpoint: name, for: receiver.address, rooms: [Self.room], options: options)
                }
                setup.extra = #", "buffer": { "max_size": "8MiB" }"#
            }
        }

        /// What `a` accepted: a gap from the first event on, then everything to `last`; the end of the gap.
        private func expectGapThenRest(_ scene: BufferScene, to last: UInt64) async throws -> UInt64 {
            let receiver = try scene["a"]
            try await scene.bridge.eventually(within: .seconds(30), "the last event at a") {
                receiver.requests.contains { $0.status == 200 && $0["roombridge-offset"] == "\(last)" }
            }
            let accepted = receiver.requests.filter { $0.status == 200 }
            let gap = try #require(accepted.first)
            let data = JSONSlice(gap.message.body)["data"]
            #expect(gap["roombridge-type"] == "room.gap" && data?["gap"]?["reason"]?.string == "retention")
            #expect(data?["gap"]?["from"]?.unsigned == 1 && gap["roombridge-prev-seq"] == "0")
            let end = try #require(data?["gap"]?["to"]?.unsigned)
            // The seq of the last event that was lost.
            #expect(gap["roombridge-seq"] == "\(end)")
            let rest = accepted.dropFirst()
            #expect(rest.map { $0["roombridge-offset"] } == ((end + 1)...last).map { "\($0)" })
            #expect(
                rest.first?["roombridge-prev-seq"] == "\(end)" && rest.allSatisfy { $0["roombridge-skipped"] == nil }
            )
            return end
        }

        @Test func `with "overflow": "gap" the oldest go, the room stays joined, others have everything`() async throws
        {
            let scene = try await scene(#", "overflow": "gap""#)
            try scene["a"].refuse()
            try await scene.bridge.start()
            try await scene.bridge.joined([Self.room])
            let text = "\"" + String(repeating: "x", count: 2_000) + "\""
            for part in 1...50 {
                try await scene.publish(Self.room, Array(repeating: text, count: 100))
                try await scene.bridge.eventually("part \(part) at b") { try scene["b"].acceptedCount == part * 100 }
            }
            try await scene.bridge.eventually("the journal's line") { !scene.lines(Self.line).isEmpty }
            #expect(scene.lines(Self.line).allSatisfy { $0.contains("endpoint=a") && $0.contains("reason=overflow") })
            // It is known after a restart.
            #expect(try await scene.bridge.terminate() == .status(0))
            try await scene.bridge.start()
            try scene["a"].listen()
            let end = try await expectGapThenRest(scene, to: 5_000)
            // It kept about 0.8 of the buffer.
            #expect((1_500...3_000).contains(end), "\(end)")
            try await scene.expect("b", Self.room, has: 1...5_000)
            #expect(scene.lines("its rooms are left").isEmpty, "\(scene.bridge.log)")
            try await scene.close()
        }

        @Test func `with "max_age" what has waited longer goes`() async throws {
            let scene = try await scene(#", "max_age": "1s""#)
            try scene["a"].refuse()
            try await scene.bridge.start()
            try await scene.bridge.joined([Self.room])
            try await scene.publish(Self.room, "1", "2", "3")
            _ = try await scene.bridge.line(containing: Self.line)
            try scene["a"].behave(.answer(200))
            try await scene.publish(Self.room, "4")
            try scene["a"].listen()
            let end = try await expectGapThenRest(scene, to: 4)
            #expect(end == 3)
            try await scene.expect("b", Self.room, has: 1...4)
            // An endpoint that is well loses nothing.
            #expect(scene.lines(Self.line).count == 1 && scene.lines("endpoint=b reason").isEmpty)
            try await scene.close()
        }
    }
}

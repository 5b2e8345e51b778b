internal import BridgeTestSupport
internal import RoomsRuntime
internal import Testing

extension EndToEnd {
    /// An endpoint that fails in one of many ways loses nothing, gets nothing out of order, and holds nobody else up.
    @Suite(.timeLimit(.minutes(2))) struct BadEndpointTests {
        struct Failure: Sendable, CustomTestStringConvertible {
            let testDescription: String
            var behaviour = RecordingReceiver.Behaviour.answer(200)
            var isDown = false
            /// What the journal says of it.
            var complaint: String
        }

        static let failures: [Failure] = [
            Failure(testDescription: "is down", isDown: true, complaint: "nothing listens there"),
            Failure(testDescription: "hangs up", behaviour: .hangUp, complaint: "closed"),
            Failure(
                testDescription: "answers 302",
                behaviour: .answer(302, headers: ["location: http://127.0.0.1:1/elsewhere"]),
                complaint: "answered 302"
            ),
            Failure(testDescription: "answers 400", behaviour: .answer(400), complaint: "answered 400"),
            Failure(testDescription: "answers 500", behaviour: .answer(500), complaint: "answered 500"),
        ]

        @Test(arguments: failures)
        func `an endpoint that fails gets everything in order once it is well`(_ failure: Failure) async throws {
            let scene = try await BadEndpointScene()
            if failure.isDown { scene.bad.refuse() }
            scene.bad.behave(failure.behaviour)
            scene.publish(3)
            try await scene.expectGood(3)
            try await scene.bridge.eventually(within: .seconds(10), "\"\(failure.complaint)\"") {
                scene.bridge.log.split(separator: "\n").contains {
                    $0.contains("bad") && $0.contains(failure.complaint)
                }
            }
            if !failure.isDown { try await eventually("an attempt") { scene.bad.count > 0 } }
            // One line for a change of state, never one for each attempt.
            #expect(scene.bridge.log.split(separator: "\n").count { $0.contains(failure.complaint) } <= 2)
            #expect(Set(scene.bad.requests.map { $0["roombridge-offset"] }).subtracting(["1"]).isEmpty)
            scene.bad.listen()
            scene.bad.behave(.answer(200))
            try await scene.expectBad(3)
            let accepted = scene.bad.requests.filter { $0.status == 200 }
            #expect(accepted.map { $0["roombridge-offset"] } == ["1", "2", "3"])
            try await scene.close()
        }

        @Test func `one event that is refused for good becomes a dead letter, and the next one tells of it`()
            async throws
        {
            let scene = try await BadEndpointScene()
            scene.bad.behave(.refuse(offset: "2", 413))
            scene.publish(4)
            try await scene.expectGood(4)
            try await scene.expectBad(3)
            let accepted = scene.bad.requests.filter { $0.status == 200 }
            #expect(accepted.map { $0["roombridge-offset"] } == ["1", "3", "4"])
            #expect(accepted.map { $0["roombridge-skipped"] } == [nil, "1", nil])
            #expect(accepted.map { $0["roombridge-prev-seq"] } == ["0", "1", "3"])
            try await scene.bridge.eventually("the journal's line") {
                scene.bridge.log.contains("it is among the dead letters")
                    && scene.bridge.log.contains("reason=too_large")
            }
            // It is not tried again, also not by the next process.
            #expect(try await scene.bridge.terminate() == .status(0))
            let before = scene.bad.count
            try await scene.bridge.start()
            scene.publish(1)
            try await scene.expectBad(4)
            #expect(scene.bad.count == before + 1)
            try await scene.close()
        }

        @Test func `an endpoint that hangs holds up neither others nor the end`() async throws {
            let scene = try await BadEndpointScene()
            scene.bad.behave(.hang)
            scene.publish(20)
            try await scene.expectGood(20)
            #expect(scene.bad.count == 1)
            let start = SystemClock.now
            let exit = try await scene.bridge.terminate()
            #expect(exit == .status(0), "\(scene.bridge.log)")
            #expect(SystemClock.now - start < .seconds(9))
            scene.bad.behave(.answer(200))
            try await scene.bridge.start()
            try await scene.expectBad(20)
            let offsets = scene.bad.requests.filter { $0.status == 200 }.map { $0["roombridge-offset"] }
            #expect(offsets == (1...20).map { "\($0)" })
            try await scene.close()
        }

        @Test func `an endless answer is cut off and counts by its status`() async throws {
            let scene = try await BadEndpointScene()
            scene.bad.behave(.endlessBody)
            scene.publish(3)
            try await scene.expectGood(3)
            try await scene.bridge.eventually(within: .seconds(20), "three requests") {
                scene.bad.count >= 3
            }
            #expect(scene.bad.requests.map { $0["roombridge-offset"] } == ["1", "2", "3"])
            #expect(scene.bad.connectionCount == 3)
            let memory = try scene.bridge.residentBytes()
            #expect(memory < 200 << 20)
            try await scene.close()
        }
    }
}

/// One server, one bridge, a room that goes to a good endpoint and to a bad one.
final class BadEndpointScene {
    let server: ScriptedServer
    let good: RecordingReceiver
    let bad: RecordingReceiver
    let bridge: BridgeProcess

    init() async throws {
        server = try ScriptedServer(.honest)
        good = try RecordingReceiver()
        bad = try RecordingReceiver()
        var setup = BridgeSetup(url: server.url)
        setup.add(endpoint: "good", for: good.address, rooms: ["shop"])
        setup.add(endpoint: "bad", for: bad.address, rooms: ["shop"])
        bridge = try BridgeProcess(setup)
        try await bridge.start()
        try await bridge.eventually("the room joined") { server.hasJoined("shop") }
    }

    func publish(_ count: Int) {
        for number in 1...count { server.publish(Array(#"{"n":\#(number)}"#.utf8), to: "shop") }
    }

    func expectGood(_ count: Int) async throws { try await expect(good, count) }

    func expectBad(_ count: Int) async throws { try await expect(bad, count) }

    private func expect(_ receiver: RecordingReceiver, _ count: Int) async throws {
        try await bridge.eventually(within: .seconds(20), "\(count) accepted") {
            receiver.acceptedCount >= count
        }
    }

    func close() async throws {
        let exit = try await bridge.terminate()
        #expect(exit == .status(0), "\(bridge.log)")
    }
}

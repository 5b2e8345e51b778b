internal import BridgeTestSupport
internal import Foundation
internal import RoomsRuntime
internal import Testing

extension EndToEnd {
    /// `roombridge status` against the running service.
    @Suite(.timeLimit(.minutes(1))) struct StatusCommandTests {
        private func status(_ bridge: BridgeProcess, _ arguments: String...) async throws -> String {
            let child = try ChildProcess(
                Programs.bridge,
                ["status", "--state-dir", bridge.stateDirectory] + arguments,
                environment: Programs.quiet
            )
            let exit = try await child.wait()
            #expect(exit == .status(0), "\(child.output)")
            return child.output
        }

        @Test func `it tells of a service that is well, and of an endpoint that holds`() async throws {
            let server = try ScriptedServer(.honest)
            let receiver = try RecordingReceiver()
            var setup = BridgeSetup(url: server.url)
            setup.add(endpoint: "test", for: receiver.address, rooms: ["shop"])
            let bridge = try BridgeProcess(setup)
            try await bridge.start()
            try await bridge.eventually("the room joined") { server.hasJoined("shop") }
            try await bridge.eventually("a page that says so") {
                let page = try await status(bridge)
                return page.contains("main  connected for ") && page.contains(", 1 of 1 rooms joined\n")
                    && page.contains("test  takes events, nothing waits\n")
            }
            receiver.refuse()
            server.publish(Array("1".utf8), to: "shop")
            server.publish(Array("2".utf8), to: "shop")
            try await bridge.eventually("a page with the hold") {
                let page = try await status(bridge)
                return page.contains("test  holds for ") && page.contains("2 events wait")
                    && page.contains("next attempt in ")
            }
            let json = try JSONSerialization.jsonObject(with: Data(try await status(bridge, "--json").utf8))
            let object = try #require(json as? [String: Any])
            #expect(object["state"] as? String == "running")
            let endpoint = try #require((object["endpoints"] as? [[String: Any]])?.first)
            #expect(endpoint["state"] as? String == "holding")
            #expect(endpoint["waiting_events"] as? Int == 2)
            #expect((endpoint["failures"] as? Int ?? 0) > 0)
            #expect((object["buffer"] as? [String: Any])?["events"] as? Int == 2)
            // The line of the service manager follows by itself.
            try await bridge.eventually("STATUS") {
                bridge.received("STATUS=1 of 1 rooms joined, 2 events wait, endpoint test holds")
            }
            _ = try await bridge.terminate()
        }

        @Test func `without a service it says so and exits with 69`() async throws {
            let folder = try TemporaryDirectory()
            let child = try ChildProcess(
                Programs.bridge,
                ["status", "--state-dir", folder.path],
                environment: Programs.quiet
            )
            #expect(try await child.wait() == .status(69))
            #expect(child.output.contains("the service is not running"), "\(child.output)")
        }
    }
}

internal import BridgeTestSupport
internal import Foundation
internal import RoomsRuntime
internal import Testing

extension EndToEnd {
    /// What the service tells its manager, and what it does when the manager asks.
    @Suite(.timeLimit(.minutes(1))) struct LifecycleTests {
        private func bridge(
            _ server: ScriptedServer,
            _ receiver: RecordingReceiver,
            environment: [String: String] = [:]
        ) throws -> BridgeProcess {
            var setup = BridgeSetup(url: server.url)
            setup.add(endpoint: "test", for: receiver.address, rooms: ["shop"])
            return try BridgeProcess(setup, environment: environment)
        }

        /// What is said between RELOADING and the READY behind it.
        private func reload(_ bridge: BridgeProcess, saying text: String) async throws {
            bridge.forgetNotifications()
            let child = try #require(bridge.child)
            child.signal(SIGHUP)
            _ = try await bridge.line(containing: text)
            try await bridge.eventually("READY after RELOADING") { bridge.received("READY=1") }
            let history = bridge.notifications
            let start = try #require(history.firstIndex(of: "RELOADING=1"))
            let end = try #require(history.firstIndex(of: "READY=1"))
            #expect(start < end)
            let time = try #require(history[start + 1].wholeMatch(of: /MONOTONIC_USEC=(\d+)/))
            #expect(UInt64(time.output.1).map { $0 > 0 && $0 <= SystemClock.now.nanoseconds / 1_000 } == true)
        }

        @Test func `SIGHUP looks at the configuration and changes nothing`() async throws {
            let server = try ScriptedServer(.honest)
            let receiver = try RecordingReceiver()
            let bridge = try bridge(server, receiver)
            try await bridge.start()
            try await bridge.eventually("the room joined") { server.hasJoined("shop") }
            try await reload(bridge, saying: "the configuration is good and as it was")
            var other = BridgeSetup(url: server.url)
            other.add(endpoint: "other", for: receiver.address, rooms: ["shop"])
            try bridge.configure(other)
            try await reload(
                bridge,
                saying: "the configuration is good and has changed: it counts from the next start on"
            )
            try bridge.folder.write("{ \"servers\": 1 }", to: "config.json")
            try await reload(bridge, saying: "config.json:1:14: servers: ")
            #expect(bridge.log.contains("the configuration that runs stays as it is"))
            // It goes on as if nothing had been.
            server.publish(Array("1".utf8), to: "shop")
            try await bridge.eventually("the event") { receiver.acceptedCount == 1 }
            #expect(server.closes.isEmpty)
            #expect(try await bridge.terminate() == .status(0))
        }

        @Test func `the watchdog is fed while it runs, and not while it stands still`() async throws {
            let bridge = try bridge(
                ScriptedServer(.honest),
                RecordingReceiver(),
                environment: ["WATCHDOG_USEC": "300000"]
            )
            try await bridge.start()
            let child = try #require(bridge.child)
            try await bridge.eventually("signs of life") { bridge.notifications.count { $0 == "WATCHDOG=1" } >= 3 }
            child.signal(SIGSTOP)
            try await bridge.eventually("it stands still") { bridge.isStopped }
            bridge.forgetNotifications()
            #expect(bridge.notifications.isEmpty)
            child.signal(SIGCONT)
            try await bridge.eventually("signs of life") { bridge.notifications.contains("WATCHDOG=1") }
            #expect(try await bridge.terminate() == .status(0))
        }

        @Test func `without a watchdog none is fed`() async throws {
            let bridge = try bridge(ScriptedServer(.honest), RecordingReceiver())
            try await bridge.start()
            #expect(try await bridge.terminate() == .status(0))
            #expect(!bridge.notifications.contains("WATCHDOG=1"))
        }

        @Test func `a refused configuration is told with ERRNO before the end`() async throws {
            let bridge = try bridge(ScriptedServer(.honest), RecordingReceiver())
            try bridge.folder.write("{ \"servers\": 1 }", to: "config.json")
            let child = try bridge.launch()
            #expect(try await child.wait() == .status(78))
            #expect(bridge.received("ERRNO=22"))
            #expect(bridge.notifications.contains { $0.hasPrefix("STATUS=") && $0.contains("config.json:1:") })
            #expect(!bridge.received("READY=1"))
        }

        @Test func `a second instance says that the state is in use`() async throws {
            let bridge = try bridge(ScriptedServer(.honest), RecordingReceiver())
            try await bridge.start()
            let first = try #require(bridge.child)
            bridge.forgetNotifications()
            let second = try bridge.launch()
            #expect(try await second.wait() == .status(69))
            #expect(bridge.notifications.contains { $0.hasPrefix("ERRNO=") })
            #expect(try await first.stop(within: .seconds(10)) == .status(0))
        }

        @Test func `a receiver whose clock is off is told once, with the difference`() async throws {
            let server = try ScriptedServer(.honest)
            let receiver = try RecordingReceiver()
            let bridge = try bridge(server, receiver)
            receiver.behave(.answer(200, headers: ["date: Thu, 01 Jan 2015 00:00:00 GMT", "connection: close"]))
            try await bridge.start()
            try await bridge.eventually("the room joined") { server.hasJoined("shop") }
            for number in 1...3 { server.publish(Array("\(number)".utf8), to: "shop") }
            try await bridge.eventually("the events") { receiver.acceptedCount == 3 }
            #expect(try await bridge.terminate() == .status(0))
            let lines = bridge.log.split(separator: "\n").filter { $0.contains("this machine's clock") }
            #expect(lines.count == 1, "\(bridge.log)")
            #expect(lines.first?.contains("endpoint=test skew=") == true || lines.first?.contains("skew=\"") == true)
            #expect(lines.first?.contains("ahead") == true)
        }
    }
}

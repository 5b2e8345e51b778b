internal import BridgeTestSupport
internal import Testing

/// What is wrong with a configuration is said at once, with its place, and nothing starts.
@Suite(.timeLimit(.minutes(1))) struct BadConfigurationTests {
    @Test(arguments: BadConfiguration.all, ["check", "run"])
    func `a bad configuration is refused with its place and the cure`(
        _ configuration: BadConfiguration,
        _ verb: String
    ) async throws {
        let folder = try TemporaryDirectory()
        let file = try folder.write(configuration.text, to: "config.json")
        var arguments = [verb, "--config", file]
        if verb == "run" { arguments += ["--state-dir", folder.file("state")] }
        let child = try ChildProcess(Programs.bridge, arguments, environment: Programs.quiet)
        let exit = try await child.wait()
        #expect(exit == .status(78), "\(child.output)")
        for complaint in configuration.complaints {
            #expect(child.output.contains(complaint), "\(configuration): \(child.output)")
        }
        #expect(child.output.contains(file), "\(child.output)")
    }

    @Test func `a configuration that is not there is a configuration error`() async throws {
        let child = try ChildProcess(
            Programs.bridge,
            ["run", "--config", "/nonexistent/config.json", "--state-dir", "/nonexistent/state"],
            environment: Programs.quiet
        )
        #expect(try await child.wait() == .status(78))
        #expect(child.output.contains("/nonexistent/config.json"))
    }

    @Test(arguments: [["--no-such-option"], ["no-such-verb"], ["run", "--config"]])
    func `a command line that makes no sense is a usage error`(_ arguments: [String]) async throws {
        let child = try ChildProcess(Programs.bridge, arguments, environment: Programs.quiet)
        let exit = try await child.wait()
        #expect(exit == .status(64), "\(child.output)")
    }

    @Test func `a good configuration passes the check`() async throws {
        let receiver = try RecordingReceiver()
        var setup = BridgeSetup(url: "ws://127.0.0.1:8000/connection/websocket")
        setup.add(endpoint: "app", for: receiver.address, rooms: ["shop"])
        let folder = try TemporaryDirectory()
        let file = try folder.write(setup.text, to: "config.json")
        let child = try ChildProcess(
            Programs.bridge,
            ["check", "--config", file],
            environment: [
                "RB_TOKEN_SECRET": RealtimeServers.tokenSecret, "RB_SIGNING": BridgeProcess.signingSecret,
                "SWIFT_BACKTRACE": "enable=no",
            ]
        )
        let exit = try await child.wait()
        #expect(exit == .status(0), "\(child.output)")
        #expect(!child.output.contains(RealtimeServers.tokenSecret))
        #expect(receiver.connectionCount == 0)
    }
}

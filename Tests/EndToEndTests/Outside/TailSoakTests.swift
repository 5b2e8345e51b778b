internal import BridgeTestSupport
internal import Testing

extension EndToEnd {
    /// As `TailRecoveryTests`, with the pings and the time of the real world.
    @Suite(.enabled(if: Soak.isWanted, "\(Soak.reason)"), .timeLimit(.minutes(5))) struct TailSoakTests {
        @Test(
            "a process that stood still for a minute hears what it missed, then goes on",
            arguments: TailServers.allCases
        )
        func minute(_ kind: TailServers) async throws {
            guard let server = try await kind.start(ping: 25_000, pong: 8_000) else { return }
            let folder = try TemporaryDirectory()
            let token = try folder.write(TailServers.token("tail"), to: "token")
            let tail = try TailProcess(["--token-file", token, server.webSocketURL, "order:1", "small:1"])
            try await TailRecoveryTests.standStill(tail, for: .seconds(60), server)
        }
    }
}

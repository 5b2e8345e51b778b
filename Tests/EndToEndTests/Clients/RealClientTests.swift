internal import BridgeTestSupport
internal import Foundation
internal import Testing

/// Clients of PyPI that we did not write judge the hub: `centrifuge-python` in both its formats, and `cent`.
///
/// The programs in `Programs` are judged themselves first: all that they check holds on the real server.
@Suite(.timeLimit(.minutes(2))) struct RealClientTests {
    static let programs = ["centrifuge_session.py", "cent_session.py"]
    static let formats = ["json", "protobuf"]

    @Test("the real server is as the programs say", arguments: programs, formats)
    func realServer(_ program: String, _ format: String) async throws {
        guard let server = try CentrifugoProcess(configuration: try resource("centrifugo.json")) else { return }
        try await judge(server, program, format)
    }

    @Test("S31 real clients find all that they need on the hub", arguments: programs, formats)
    func hub(_ program: String, _ format: String) async throws {
        try await judge(try HubProcess(configuration: try resource("roomhub.json")), program, format)
    }

    private func judge(_ server: any RealtimeServer, _ program: String, _ format: String) async throws {
        try await server.start()
        let child = try ChildProcess(
            try Programs.python(),
            [
                path(program), format, server.webSocketURL, server.apiURL, RealtimeServers.apiKey,
                RealtimeServers.tokenSecret,
            ],
            environment: ["PYTHONDONTWRITEBYTECODE": "1"]
        )
        let exit = try await child.wait(within: .seconds(100))
        let lines = child.output.split(separator: "\n").map(String.init)
        let passed = lines.count { $0.hasPrefix("ok ") }
        for line in lines where !line.hasPrefix("ok ") && line != lines.last { Issue.record("\(server): \(line)") }
        #expect(exit == .status(0))
        #expect(lines.last == "\(passed) checks, 0 failed")
        #expect(passed >= 25)
        try await server.stop()
    }

    private func path(_ name: String) -> String { Programs.root + "/Tests/EndToEndTests/Clients/Programs/" + name }

    private func resource(_ name: String) throws -> String { try String(contentsOfFile: path(name), encoding: .utf8) }
}

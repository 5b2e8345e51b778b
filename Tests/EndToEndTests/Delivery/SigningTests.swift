internal import BridgeTestSupport
internal import Foundation
internal import RoomsRuntime
internal import Testing

extension EndToEnd {
    /// Signatures in the eyes of others, and of `roombridge verify`.
    @Suite(.timeLimit(.minutes(1))) struct SigningTests {
        @Test func `standardwebhooks accepts v1, cryptography v1a, and verify both`() async throws {
            let server = try ScriptedServer(.honest)
            let folder = try TemporaryDirectory()
            let key = try await run(["keygen", "--ed25519", "--out", folder.file("pair")], .status(0))
            let publicKey = String(try #require(key.split(separator: "\n").first { $0.hasPrefix("whpk_") }))
            let receiver = try await PythonReceiver(publicKey: publicKey)
            var setup = BridgeSetup(url: server.url)
            setup.add(endpoint: "test", for: receiver.address, rooms: ["shop"])
            let signing = #"[ { "file": "\#(folder.file("pair"))" }, { "env": "RB_SIGNING" } ]"#
            setup.endpoints["test"] =
                #"{ "url": "http://127.0.0.1:\#(receiver.port)/hook", "signing": \#(signing) }"#
            let bridge = try BridgeProcess(setup)
            try await bridge.start()
            try await bridge.eventually("the room joined") { server.hasJoined("shop") }
            for payload in ["1", "{ \"a\": \"é\" }", "\"\\u0000\""] { server.publish(Array(payload.utf8), to: "shop") }
            try await bridge.eventually("the events") { receiver.entries.count == 3 }
            #expect(receiver.entries.allSatisfy { $0.isVerified && $0.isVerifiedByKey })
            _ = try await bridge.terminate()

            let entry = receiver.entries[1]
            let lines = entry.headers.map { "\($0.key): \($0.value)\r\n" }.joined()
            try folder.write(
                "POST /hook HTTP/1.1\r\n\(lines)\r\n" + String(decoding: entry.body, as: UTF8.self),
                to: "kept"
            )
            try folder.write(BridgeProcess.signingSecret, to: "secret")
            try folder.write(publicKey, to: "public")
            try folder.write("whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD", to: "other")
            for name in ["pair", "public", "secret"] {
                let said = try await run(["verify", "--secret", folder.file(name), folder.file("kept")], .status(0))
                #expect(said.hasPrefix("good: signed right (v1\(name == "secret" ? "" : "a"), "), "\(said)")
            }
            let said = try await run(["verify", "--secret", folder.file("other"), folder.file("kept")], .status(1))
            #expect(said.hasPrefix("wrong key: "), "\(said)")
        }

        /// What it printed.
        private func run(_ arguments: [String], _ expected: ChildProcess.Exit) async throws -> String {
            let child = try ChildProcess(Programs.bridge, arguments)
            let exit = try await child.wait()
            #expect(exit == expected, "\(arguments): \(child.output)")
            return child.output
        }
    }
}

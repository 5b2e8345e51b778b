internal import BridgeTestSupport
internal import Foundation
internal import RoomsRuntime
internal import Testing

extension EndToEnd {
    /// The service under a journald that the test plays, in a mount namespace of the service's own.
    @Suite(.timeLimit(.minutes(1))) struct JournalTests {
        /// What a shell has to do so that standard error is the journal and the journal is `socket`.
        private static func shell(_ socket: String, _ stream: String) -> String {
            "export JOURNAL_STREAM=$(stat -c %d:%i '\(stream)'); "
                + "set -- unshare --mount --propagation private sh -c 'mkdir -p /run/systemd/journal "
                + "&& mount -t tmpfs tmpfs /run/systemd/journal && ln -s \(socket) /run/systemd/journal/socket "
                + "&& exec \"$@\"' sh \"$@\"; "
        }

        @Test(.enabled(if: getuid() == 0, "only root can give the service a journal of the test's own"))
        func `under systemd every line is an entry with its fields, and nothing goes to standard error`() async throws {
            let server = try ScriptedServer(.honest)
            let receiver = try RecordingReceiver()
            var setup = BridgeSetup(url: server.url)
            setup.add(endpoint: "test", for: receiver.address, rooms: ["shop"])
            let bridge = try BridgeProcess(setup)
            let journal = try JournalSocketStub(bridge.folder.file("journal"))
            let log = bridge.folder.file("log.1")
            try await bridge.start(through: Self.shell(bridge.folder.file("journal"), log))
            var entries: [[String: [String]]] = []
            func entry(_ text: String) async throws -> [String: [String]] {
                try await bridge.eventually("the entry \(text)") {
                    entries += journal.all()
                    return entries.contains { $0["MESSAGE"]?.first?.hasPrefix(text) == true }
                }
                return entries.first { $0["MESSAGE"]?.first?.hasPrefix(text) == true } ?? [:]
            }
            let started = try await entry("started")
            #expect(started["PRIORITY"] == ["5"] && started["SYSLOG_IDENTIFIER"] == ["roombridge"])
            let joined = try await entry("room joined")
            #expect(joined["ROOM"] == ["shop"] && joined["SERVER"] == ["main"])
            #expect(joined["MESSAGE_ID"]?.first?.count == 32)
            receiver.refuse()
            server.publish(Array("1".utf8), to: "shop")
            let held = try await entry("the endpoint is not well")
            #expect(held["PRIORITY"] == ["4"] && held["ENDPOINT"] == ["test"])
            #expect(try await bridge.terminate() == .status(0))
            _ = try await entry("stopped")
            #expect(bridge.log.isEmpty, "\(bridge.log)")
        }

        @Test(.enabled(if: getuid() == 0, "only root can give the service a journal of the test's own"))
        func `a journal that hangs keeps nobody waiting`() async throws {
            let server = try ScriptedServer(.honest)
            let receiver = try RecordingReceiver()
            var setup = BridgeSetup(url: server.url)
            setup.add(endpoint: "test", for: receiver.address, rooms: ["shop"])
            let bridge = try BridgeProcess(setup)
            let journal = try JournalSocketStub(bridge.folder.file("journal"))
            journal.fill()
            let log = bridge.folder.file("log.1")
            try await bridge.start(through: Self.shell(bridge.folder.file("journal"), log))
            try await bridge.eventually("the room joined") { server.hasJoined("shop") }
            server.publish(Array("1".utf8), to: "shop")
            try await bridge.eventually("the event") { receiver.acceptedCount == 1 }
            #expect(try await bridge.terminate() == .status(0))
        }
    }
}

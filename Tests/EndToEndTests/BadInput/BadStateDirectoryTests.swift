internal import BridgeTestSupport
internal import CRoomsLinux
internal import Foundation
internal import Testing

/// A state directory that cannot be used ends the start with its own exit code and a line that says what to do.
@Suite(.timeLimit(.minutes(1))) struct BadStateDirectoryTests {
    @Test func `a file in the place of the directory`() async throws {
        let bridge = try Self.bridge()
        try FileManager.default.removeItem(atPath: bridge.stateDirectory)
        try bridge.folder.write("not a directory", to: "state")
        let child = try bridge.launch()
        #expect(try await child.wait() == .status(73), "\(child.output)")
        #expect(child.output.contains(bridge.stateDirectory), "\(child.output)")
        #expect(try String(contentsOfFile: bridge.stateDirectory, encoding: .utf8) == "not a directory")
    }

    @Test func `a directory that another bridge uses`() async throws {
        let bridge = try Self.bridge()
        try await bridge.start()
        let first = try #require(bridge.child)
        let second = try bridge.launch()
        #expect(try await second.wait() == .status(69), "\(second.output)")
        #expect(first.exit == nil)
        #expect(second.output.contains("process \(first.pid) "), "\(second.output)")
    }

    @Test func `a directory that may not be written`() async throws {
        let bridge = try Self.bridge()
        chmod(bridge.folder.path, 0o755)
        chmod(bridge.folder.file("config.json"), 0o644)
        chmod(bridge.stateDirectory, 0o555)
        let child = try bridge.launch(asNobody: getuid() == 0)
        #expect(try await child.wait() == .status(73), "\(child.output)")
        #expect(child.output.contains(bridge.stateDirectory), "\(child.output)")
        chmod(bridge.stateDirectory, 0o755)
    }

    /// A bridge whose server is not there: it starts all the same.
    private static func bridge() throws -> BridgeProcess {
        let receiver = try RecordingReceiver()
        var setup = BridgeSetup(url: "ws://127.0.0.1:9/connection/websocket")
        setup.add(endpoint: "test", for: receiver.address, rooms: ["shop"])
        return try BridgeProcess(setup)
    }
}

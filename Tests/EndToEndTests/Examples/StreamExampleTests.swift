internal import BridgeTestSupport
internal import Foundation
internal import RoomsRuntime
internal import Testing

extension EndToEnd {
    /// The receivers of deploy/examples/stream behind the real bridge, killed while they work.
    @Suite(.timeLimit(.minutes(2))) struct StreamExampleTests {
        static let room = "order:1042"

        @Test("the Python receiver keeps each event once, in order, through its own kill and the bridge's")
        func python() async throws {
            for mode in ["line", "protocol"] {
                let line = try await StreamExampleLine(ack: mode)
                let receiver = try StreamExampleReceiver(line.folder, mode)
                try await receiver.start()
                for number in 1...10 { try await line.publish("\(number)") }
                try await eventually("the first events") { try receiver.kept().count >= 3 }
                try await receiver.kill()
                for number in 11...20 { try await line.publish("\(number)") }
                try await receiver.start()
                try await eventually("more events") { try receiver.kept().count >= 11 }
                _ = try await line.bridge.kill()
                for number in 21...30 { try await line.publish("\(number)") }
                try await line.bridge.start()
                try await line.bridge.eventually("all events") { try receiver.kept().count >= 30 }
                #expect(try receiver.kept() == (1...30).map { "\($0)" }, "\(mode)")
                try await line.close()
                try await receiver.stop()
            }
        }

        @Test func `with read the Python receiver has every event`() async throws {
            let line = try await StreamExampleLine(ack: "read")
            let receiver = try StreamExampleReceiver(line.folder, "read")
            try await receiver.start()
            for number in 1...20 { try await line.publish("{\n  \"n\": \(number)\n}") }
            try await line.bridge.eventually("all events") { try receiver.kept().count >= 20 }
            #expect(try receiver.kept() == (1...20).map { "{  \"n\": \($0)}" })
            try await line.close()
            try await receiver.stop()
        }

        @Test func `the shell receiver takes events behind a socket of systemd, and goes on after a kill`() async throws
        {
            guard try RequiredProgram.systemd.find() != nil else { return }
            let line = try await StreamExampleLine(ack: "line")
            let file = line.folder.file("kept")
            func launch() throws -> ChildProcess {
                try? FileManager.default.removeItem(atPath: line.folder.file("s"))
                let words = ["--accept", "--inetd", "--listen=\(line.folder.file("s"))"]
                return try ChildProcess(
                    "systemd-socket-activate",
                    words + [StreamExampleReceiver.path("receiver.sh"), file]
                )
            }
            func kept() -> [String] {
                let text = (try? String(contentsOfFile: file, encoding: .utf8)) ?? ""
                var seen: Set<ByteString> = []
                return text.split(separator: "\n").compactMap { line in
                    let object = JSONSlice(Array(line.utf8))
                    guard let id = object["id"]?.string, seen.insert(id).inserted else { return nil }
                    return object["data"]?["data"].map { String(decoding: $0.raw, as: UTF8.self) }
                }
            }
            var receiver = try launch()
            for number in 1...10 { try await line.publish("\(number)") }
            try await line.bridge.eventually("the first events") { kept().count >= 10 }
            try await receiver.kill()
            for number in 11...20 { try await line.publish("\(number)") }
            receiver = try launch()
            try await line.bridge.eventually("all events") { kept().count >= 20 }
            #expect(kept() == (1...20).map { "\($0)" })
            try await line.close()
            try await receiver.kill()
        }
    }
}

/// Hub and bridge, with one endpoint that is a stream socket.
private final class StreamExampleLine {
    let folder: TemporaryDirectory
    let bridge: BridgeProcess
    private let hub: HubProcess

    init(ack: String) async throws {
        folder = try TemporaryDirectory()
        hub = try HubProcess()
        try await hub.start()
        var setup = BridgeSetup(url: hub.webSocketURL)
        let room = EndToEnd.StreamExampleTests.room
        setup.endpoints["app"] = #"{ "unix": "\#(folder.file("s"))", "protocol": "ndjson", "ack": "\#(ack)" }"#
        setup.rooms = [#"{ "room": "\#(room)", "to": ["app"] }"#]
        bridge = try BridgeProcess(setup)
        try await bridge.start()
        try await bridge.joined([room])
    }

    func publish(_ data: String) async throws {
        try await hub.publish(#"{"channel":"\#(EndToEnd.StreamExampleTests.room)","data":\#(data)}"#)
    }

    func close() async throws {
        #expect(try await bridge.terminate() == .status(0), "\(bridge.log)")
        try await hub.stop()
    }
}

/// receiver.py, with a folder that outlives each of its lives.
private final class StreamExampleReceiver {
    private let folder: TemporaryDirectory
    private let mode: String
    private var child: ChildProcess?

    init(_ folder: TemporaryDirectory, _ mode: String) throws {
        self.folder = folder
        self.mode = mode
    }

    static func path(_ name: String) -> String { Programs.root + "/deploy/examples/stream/" + name }

    func start() async throws {
        let words = [Self.path("receiver.py"), mode, folder.file("s"), folder.file("state")]
        let child = try ChildProcess("python3", words)
        self.child = child
        _ = try await child.line(containing: "receiver listens")
    }

    func kill() async throws { try await child?.kill() }

    func stop() async throws {
        #expect(try await child?.stop() == .status(0), "\(child?.output ?? "")")
    }

    /// The data of what it kept, in order.
    func kept() throws -> [String] {
        let query =
            "import sqlite3,sys\nfor line, in sqlite3.connect(sys.argv[1]).execute("
            + "'SELECT line FROM messages ORDER BY place'): sys.stdout.buffer.write(line)"
        let child = try ChildProcess("python3", ["-c", query, folder.file("state") + "/receiver.db"])
        try blockingEventually("the query") { child.exit != nil }
        return child.output.split(separator: "\n").compactMap { line in
            JSONSlice(Array(line.utf8))["data"]?["data"].map { String(decoding: $0.raw, as: UTF8.self) }
        }
    }
}

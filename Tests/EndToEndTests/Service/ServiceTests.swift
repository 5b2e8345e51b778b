internal import BridgeTestSupport
internal import Foundation
internal import RoomsRuntime
internal import RoomsWire
internal import Testing

extension EndToEnd {
    /// What a service manager sees.
    @Suite(.timeLimit(.minutes(1))) struct ServiceTests {
        @Test("C25: SIGTERM closes with 1000, finishes what is in flight, says STOPPING and exits with 0")
        func terminated() async throws {
            let server = try ScriptedServer(.honest)
            let receiver = try RecordingReceiver()
            let bridge = try await Self.joined(server, receiver)
            receiver.holdNext(1)
            server.publish(Array("1".utf8), to: "shop")
            server.publish(Array("2".utf8), to: "shop")
            try await bridge.eventually("a delivery in flight") { receiver.heldCount == 1 }
            let start = SystemClock.now
            let child = try #require(bridge.child)
            child.signal(15)
            try await bridge.eventually("STOPPING") { bridge.received("STOPPING=1") }
            try await bridge.eventually("the end of the connection") { server.openConnections == 0 }
            #expect(child.exit == nil)
            receiver.release()
            let exit = try await child.wait()
            #expect(exit == .status(0), "\(bridge.log)")
            #expect(SystemClock.now - start < .seconds(6))
            #expect(server.closes == [1000])
            // Nothing new was begun, and what was finished is not repeated.
            #expect(receiver.count == 1, "\(receiver.requests.map { ($0.message.headers, $0.status) }) \(bridge.log)")
            try await bridge.start()
            try await bridge.eventually("the second event") { receiver.acceptedCount == 2 }
            #expect(receiver.requests.map { $0["roombridge-offset"] } == ["1", "2"])
            // Both events were stored before it ended, and no more than they.
            try await bridge.eventually("the room joined again") { !server.resumed.isEmpty }
            #expect(server.resumed == [StreamPosition(offset: 2, epoch: "scripted")])
            #expect(bridge.received("READY=1"))
            _ = try await bridge.terminate()
        }

        @Test func `SIGTERM waits at most 5 seconds for a delivery`() async throws {
            let server = try ScriptedServer(.honest)
            let receiver = try RecordingReceiver()
            let bridge = try await Self.joined(server, receiver)
            receiver.behave(.hang)
            server.publish(Array("1".utf8), to: "shop")
            try await bridge.eventually("a delivery in flight") { receiver.count == 1 }
            let start = SystemClock.now
            let exit = try await bridge.terminate()
            #expect(exit == .status(0), "\(bridge.log)")
            let time = SystemClock.now - start
            #expect(time > .seconds(3) && time < .seconds(9), "it took \(time)")
        }

        @Test func `SIGTERM right after the start is a clean end`() async throws {
            let server = try ScriptedServer(.honest)
            let receiver = try RecordingReceiver()
            let bridge = try Self.bridge(server, receiver)
            let child = try bridge.launch()
            child.signal(15)
            let exit = try await child.wait()
            // Before `main` has its handler the signal ends the process itself.
            #expect(exit == .status(0) || exit == .signal(15), "\(bridge.log)")
            try await bridge.start()
            #expect(try await bridge.terminate() == .status(0))
        }

        @Test func `SIGTERM ends it although nobody reads its standard error`() async throws {
            let server = try ScriptedServer(.honest)
            let receiver = try RecordingReceiver()
            let bridge = try Self.bridge(server, receiver)
            // A pipe that is full to the last byte, and stays so.
            let pipe = bridge.folder.file("pipe")
            try await bridge.start(through: "mkfifo '\(pipe)'; exec 2<>'\(pipe)'; head -c 65536 /dev/zero >&2; ")
            #expect(try await bridge.terminate(within: .seconds(8)) == .status(0))
        }

        @Test func `closed standard descriptors are no obstacle`() async throws {
            let server = try ScriptedServer(.honest)
            let receiver = try RecordingReceiver()
            let bridge = try Self.bridge(server, receiver)
            try await bridge.start(through: "exec <&- >&- 2>&-; ")
            let pid = try #require(bridge.child).pid
            for number in 0...2 {
                #expect(
                    try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(pid)/fd/\(number)")
                        == "/dev/null"
                )
            }
            try await bridge.eventually("the room joined") { server.hasJoined("shop") }
            #expect(try await bridge.terminate() == .status(0))
        }

        @Test func `too few descriptors are refused with what would be right`() async throws {
            let bridge = try Self.bridge(ScriptedServer(.honest), RecordingReceiver())
            let child = try bridge.launch(through: "ulimit -n 12; ")
            #expect(try await child.wait() == .status(78), "\(child.output)")
            #expect(child.output.contains("the limit of open files is 12, must be at least 64"), "\(child.output)")
            #expect(child.output.contains("LimitNOFILE"), "\(child.output)")
        }

        @Test("C58: secrets are in no output")
        func secrets() async throws {
            let server = try ScriptedServer(.close(3500, "invalid token"))
            let receiver = try RecordingReceiver()
            let bridge = try Self.bridge(server, receiver)
            try await bridge.start()
            _ = try await bridge.line(containing: "3500")
            _ = try await bridge.terminate()
            #expect(!bridge.log.contains(RealtimeServers.tokenSecret))
            #expect(!bridge.log.contains(BridgeProcess.signingSecret.dropFirst(6)))
            #expect(!bridge.log.contains("eyJ"), "a token is in the journal")
        }

        private static func bridge(_ server: ScriptedServer, _ receiver: RecordingReceiver) throws -> BridgeProcess {
            var setup = BridgeSetup(url: server.url)
            setup.add(endpoint: "test", for: receiver.address, rooms: ["shop"])
            return try BridgeProcess(setup)
        }

        private static func joined(
            _ server: ScriptedServer,
            _ receiver: RecordingReceiver
        ) async throws -> BridgeProcess {
            let bridge = try Self.bridge(server, receiver)
            try await bridge.start()
            try await bridge.eventually("the room joined") { server.hasJoined("shop") }
            return bridge
        }
    }
}

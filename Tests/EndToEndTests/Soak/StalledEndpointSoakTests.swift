internal import BridgeTestSupport
internal import Foundation
internal import RoomsRuntime
internal import Testing

extension EndToEnd {
    /// A stall of ROOMBRIDGE_SOAK_SECONDS (600).
    @Suite(.enabled(if: Soak.isWanted, Comment(rawValue: Soak.reason)), .timeLimit(.minutes(60)))
    struct StalledEndpointSoakTests {
        @Test("C49: an endpoint that stalls at 100 events a second costs no 3008: the reader keeps up, the disk grows")
        func stalled() async throws {
            guard let server = try CentrifugoProcess() else { return }
            try await server.start()
            let receiver = try RecordingReceiver()
            receiver.behave(.hang)
            let rooms = (1...8).map { "order:stall-\($0)" }
            let bridge = try BridgeProcess(BridgeSetup(server, receiver: receiver, rooms: rooms))
            try await bridge.start()
            try await bridge.joined(rooms)
            let publisher = LoadPublisher(port: server.port, rooms: rooms, seed: 49)
            var sizes: [Int] = []
            let memory = try bridge.residentBytes()
            for part in 1...Soak.parts {
                try await publish(100 * Soak.seconds / Soak.parts, publisher, over: Soak.seconds / Soak.parts)
                sizes.append(try bridge.stateBytes())
                Soak.say(
                    "\(part) of \(Soak.parts): \(sizes[sizes.count - 1] >> 10) KiB on disk, "
                        + "\(try bridge.residentBytes() >> 10) KiB of memory"
                )
            }
            let published = publisher.result.published.count
            #expect(publisher.result.uncertain.isEmpty)
            #expect(published == 100 * Soak.seconds / Soak.parts * Soak.parts)
            // What was published waits on disk, all of it, and nothing of it in memory.
            #expect(zip(sizes, sizes.dropFirst()).allSatisfy { $0 < $1 }, "\(sizes)")
            #expect((sizes.last ?? 0) > published * 300)
            if !Sanitizer.isLoaded { #expect(try bridge.residentBytes() - memory < 48 << 20) }
            let lines = bridge.log.split(separator: "\n")
            #expect(!bridge.log.contains("3008"), "\(bridge.log)")
            #expect(lines.count { $0.contains("connected to the server") } == 1, "\(bridge.log)")
            #expect(!server.output.contains(#""slow""#), "\(server.output.suffix(2_000))")
            // Then the endpoint is back, and gets everything, each room in order.
            receiver.behave(.answer(200))
            receiver.refuse()
            receiver.listen()
            try await bridge.eventually(within: .seconds(120 + Soak.seconds / 4), "everything at the endpoint") {
                receiver.acceptedCount >= published
            }
            var log = RunLog(kills: [], allowsGaps: false)
            (log.published, log.uncertain) = publisher.result
            log.receptions = receiver.receptions().filter { $0.accepted != nil }
            let report = RunChecker.check(log)
            #expect(report.faults.isEmpty, "\(report)\n\(bridge.log)")
            #expect(try await bridge.terminate() == .status(0))
            try await server.stop()
        }

        /// As many events, evenly over as many seconds.
        private func publish(_ count: Int, _ publisher: LoadPublisher, over seconds: Int) async throws {
            let start = SystemClock.now
            var released = 0
            try await eventually(within: .seconds(seconds + 60), "a part of the run") {
                let elapsed = (SystemClock.now - start) / .seconds(seconds)
                let due = min(count, Int(elapsed * Double(count)))
                if due > released {
                    publisher.release(due - released)
                    released = due
                }
                return released == count
            }
            try await publisher.finish()
        }
    }
}

extension Soak {
    fileprivate static let parts = 10
    fileprivate static let seconds =
        ProcessInfo.processInfo.environment["ROOMBRIDGE_SOAK_SECONDS"].flatMap { Int($0) } ?? 600

    fileprivate static func say(_ text: String) {
        FileHandle.standardError.write(Data("soak: \(text)\n".utf8))
    }
}

extension BridgeProcess {
    /// What its state directory holds.
    fileprivate func stateBytes() throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: stateDirectory).reduce(0) { sum, name in
            let attributes = try FileManager.default.attributesOfItem(atPath: stateDirectory + "/" + name)
            return sum + ((attributes[.size] as? Int) ?? 0)
        }
    }
}

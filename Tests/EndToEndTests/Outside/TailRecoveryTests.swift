internal import BridgeTestSupport
internal import Foundation
internal import RoomsRuntime
internal import Testing

extension EndToEnd {
    /// An app in a process of its own that is stopped, ended and killed: what was missed comes first, and nothing is lost.
    @Suite(.timeLimit(.minutes(2))) struct TailRecoveryTests {
        private let folder: TemporaryDirectory
        private let token: String

        init() throws {
            folder = try TemporaryDirectory()
            token = try folder.write(TailServers.token("tail"), to: "token")
        }

        private func tail(_ server: any RealtimeServer, _ rooms: [String], state: String? = nil) throws -> TailProcess {
            let options = ["--token-file", token] + (state.map { ["--state", $0] } ?? [])
            return try TailProcess(options + [server.webSocketURL] + rooms)
        }

        @Test(
            "a process that stood still until the server dropped it hears what it missed, then goes on",
            arguments: TailServers.allCases
        )
        func stopped(_ kind: TailServers) async throws {
            guard let server = try await kind.start() else { return }
            try await Self.standStill(try tail(server, ["order:1", "small:1"]), server)
        }

        /// Stops `tail` for at least that long, and until the server has dropped it.
        static func standStill(
            _ tail: TailProcess,
            for time: Duration = .zero,
            _ server: any RealtimeServer
        ) async throws {
            try await tail.joined(["order:1", "small:1"])
            for room in ["order:1", "small:1"] {
                try await server.publish(1...5, to: room)
                try await tail.wait(for: 5, "live events of \(room)") { $0.events(of: room) }
            }
            tail.child.signal(SIGSTOP)
            for room in ["order:1", "small:1"] { try await server.publish(6...30, to: room) }
            let start = SystemClock.now
            try await eventually(within: time + .seconds(60), "the server drops it") {
                guard SystemClock.now - start >= time else { return false }
                return try await !server.hasSubscribers()
            }
            for room in ["order:1", "small:1"] { try await server.publish(31...60, to: room) }
            tail.child.signal(SIGCONT)
            try await tail.wait(for: 60, "what was missed") { $0.events(of: "order:1") }
            try await tail.wait(for: 1, "a gap") { $0.own("error", of: "small:1") }
            try await tail.wait(for: 1, "what is kept") { $0.events(of: "small:1").filter { $0.number == 60 } }
            for room in ["order:1", "small:1"] {
                try await server.publish(61...65, to: room)
                try await tail.wait(for: 1, "new events of \(room)") { $0.events(of: room).filter { $0.number == 65 } }
            }
            #expect(try await tail.child.stop() == .status(0))

            let orders = tail.events(of: "order:1")
            #expect(orders.map(\.number) == Array(1...65))
            #expect(orders.filter { 31...60 ~= $0.number ?? 0 }.allSatisfy { $0.isReplayed })
            #expect(orders.filter { !(6...60 ~= $0.number ?? 0) }.allSatisfy { !$0.isReplayed })
            #expect(tail.own("error", of: "order:1").isEmpty)

            // Its ten newest came, and the gap names exactly the others.
            let gap = try #require(tail.own("error", of: "small:1").first?.data)
            #expect(gap["code"]?.string == "gap" && gap["reason"]?.string == "trimmed")
            let missing = Int(try #require(gap["from"]?.unsigned))...Int(try #require(gap["to"]?.unsigned))
            let heard = tail.events(of: "small:1").compactMap(\.number)
            #expect(heard == Array(1...65).filter { !missing.contains($0) } && missing.upperBound == 50)
        }

        @Test(
            "a process that was ended, killed or killed in the middle goes on where it was",
            arguments: TailServers.allCases
        )
        func restarted(_ kind: TailServers) async throws {
            guard let server = try await kind.start() else { return }
            let state = folder.file("state")
            let room = "order:1"
            var lives: [TailProcess] = []

            // Killed before the first event: the place where it came in is known.
            lives.append(try tail(server, [room], state: state))
            try await lives[0].joined([room])
            try await eventually("a saved place") {
                try String(contentsOfFile: state, encoding: .utf8).contains(#"{"order:1":"#)
            }
            try await lives[0].child.kill()
            try await server.publish(1...5, to: room)

            // Ended with SIGTERM.
            lives.append(try tail(server, [room], state: state))
            try await lives[1].wait(for: 5, "what was missed") { $0.events(of: room) }
            try await server.publish(6...10, to: room)
            try await lives[1].wait(for: 10, "new ones") { $0.events(of: room) }
            #expect(try await lives[1].child.stop() == .status(0))
            try await server.publish(11...20, to: room)

            // Killed in the middle of many.
            lives.append(try tail(server, [room], state: state))
            try await lives[2].wait(for: 10, "what was missed") { $0.events(of: room) }
            for start in stride(from: 21, through: 481, by: 20) {
                try await server.publish(start...(start + 19), to: room)
                if lives[2].events(of: room).count >= 60 { lives[2].child.signal(SIGKILL) }
            }
            #expect(try await lives[2].child.wait() == .signal(SIGKILL))

            lives.append(try tail(server, [room], state: state))
            try await lives[3].wait(for: 1, "the last") { $0.events(of: room).filter { $0.number == 500 } }
            try await server.publish(501...505, to: room)
            try await lives[3].wait(for: 1, "new ones") { $0.events(of: room).filter { $0.number == 505 } }
            #expect(try await lives[3].child.stop(within: .seconds(5)) == .status(0))

            let heard = lives.map { $0.events(of: room).compactMap(\.number) }
            #expect(heard[0] == [] && heard[1] == Array(1...10))
            let last = try #require(heard[2].last)
            #expect(last < 500 && heard[2] == Array(11...last))
            // A crash between the line and the saved place repeats that one.
            let first = try #require(heard[3].first)
            #expect(last...(last + 1) ~= first && heard[3] == Array(first...505))
            #expect(lives[1].events(of: room).prefix(5).allSatisfy { $0.isReplayed })
            #expect(lives.allSatisfy { $0.own("error", of: room).isEmpty })
        }
    }
}

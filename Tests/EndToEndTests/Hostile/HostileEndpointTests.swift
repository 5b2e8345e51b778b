internal import BridgeTestSupport
internal import Foundation
internal import RoomsRuntime
internal import Testing

extension EndToEnd {
    /// Endpoints that attack the bridge that delivers to them.
    @Suite(.timeLimit(.minutes(3))) struct HostileEndpointTests {
        @Test func `endpoints that attack cost no memory, follow nothing, and hold nobody else up`() async throws {
            let trap = try RawServer { _ in }
            let bomb = try await Self.bomb()
            #expect(bomb.count < 65_536)
            let endpoints = try HostileEndpoint.Trick.all(bomb: bomb, trap: trap.port).map { try HostileEndpoint($0) }
            #expect(endpoints.count >= 30)
            let server = try ScriptedServer(.honest)
            let good = try RecordingReceiver()
            var setup = BridgeSetup(url: server.url)
            setup.add(endpoint: "good", for: good.address, rooms: ["shop"])
            for endpoint in endpoints {
                setup.add(endpoint: endpoint.trick.name, for: endpoint.address, rooms: ["shop"])
            }
            let bridge = try BridgeProcess(setup)
            try await bridge.start()
            try await bridge.eventually("the room joined") { server.hasJoined("shop") }

            try await attack(endpoints, good, server, bridge, events: 10)
            let before = try bridge.residentBytes()
            try await attack(endpoints, good, server, bridge, events: 60)
            let growth = try bridge.residentBytes() - before
            if !Sanitizer.isLoaded { #expect(growth < 2 << 20, "grew by \(growth) bytes") }

            for endpoint in endpoints {
                let (name, requests) = (endpoint.trick.name, endpoint.requests)
                let offsets = requests.map(\.offset)
                switch endpoint.trick.outcome {
                case .delivered:
                    #expect(offsets == (1...60).map { "\($0)" }, "\(name)")
                case .held:
                    #expect(Set(offsets) == ["1"], "\(name)")
                }
                #expect(requests.allSatisfy { Self.isOrdinary($0.head) }, "\(name)")
            }
            #expect(trap.connections == 0)

            // Nothing of that was lost: those that behave get the rest, in order.
            for endpoint in endpoints { endpoint.behave() }
            let patient: Set<String> = ["never", "pause", "silence", "half-a-head"]
            for endpoint in endpoints where !patient.contains(endpoint.trick.name) {
                try await bridge.eventually(within: .seconds(40), "\(endpoint.trick.name) is well") {
                    endpoint.requests.last?.offset == "60"
                }
                let accepted = endpoint.requests.filter { !$0.wasHostile || endpoint.trick.outcome == .delivered }
                #expect(accepted.map(\.offset) == (1...60).map { "\($0)" }, "\(endpoint.trick.name)")
            }
            #expect(try await bridge.terminate() == .status(0))
        }

        /// Up to so many events; waits until each endpoint has had what it gets.
        private func attack(
            _ endpoints: [HostileEndpoint],
            _ good: RecordingReceiver,
            _ server: ScriptedServer,
            _ bridge: BridgeProcess,
            events: Int
        ) async throws {
            for number in good.acceptedCount..<events { server.publish(Array(#"{"n":\#(number)}"#.utf8), to: "shop") }
            try await bridge.eventually(within: .seconds(30), "the good endpoint's events") {
                good.acceptedCount >= events
            }
            for endpoint in endpoints {
                let wanted = endpoint.trick.outcome == .delivered ? events : 1
                try await bridge.eventually(within: .seconds(Sanitizer.isLoaded ? 90 : 30), "\(endpoint.trick.name)") {
                    endpoint.requests.count >= wanted
                }
            }
        }

        /// The request asks for nothing that its answer could make use of, and carries nothing that an answer gave.
        private static func isOrdinary(_ head: String) -> Bool {
            let names = head.split(separator: "\r\n").dropFirst().compactMap {
                $0.split(separator: ":").first?.lowercased()
            }
            let forbidden: Set<String> = [
                "accept-encoding", "te", "cookie", "authorization", "expect", "upgrade", "range",
            ]
            return head.hasPrefix("POST /hook HTTP/1.1\r\n") && forbidden.isDisjoint(with: names)
        }

        /// 60 MiB of zeros in 60 KiB.
        private static func bomb() async throws -> [UInt8] {
            let folder = try TemporaryDirectory()
            let command = "head -c 62914560 /dev/zero | gzip -9 > '\(folder.file("bomb"))'"
            let child = try ChildProcess("sh", ["-c", command])
            guard try await child.wait(within: .seconds(30)) == .status(0) else {
                throw ChildProcess.Failure(child.output)
            }
            return [UInt8](FileManager.default.contents(atPath: folder.file("bomb")) ?? Data())
        }

        @Test func `the environment's proxies are not used`() async throws {
            let trap = try RawServer { _ in }
            let folder = try TemporaryDirectory()
            let server = try ScriptedServer(.honest)
            let receivers = [try RecordingReceiver(), try RecordingReceiver(path: folder.file("receiver.sock"))]
            var setup = BridgeSetup(url: server.url)
            setup.add(endpoint: "tcp", for: receivers[0].address, rooms: ["shop"])
            setup.add(endpoint: "unix", for: receivers[1].address, rooms: ["shop"])
            let names = [
                "http_proxy", "https_proxy", "all_proxy", "ws_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY",
            ]
            let proxies = names.map { ($0, "http://127.0.0.1:\(trap.port)") }
            let environment = Dictionary(uniqueKeysWithValues: proxies + [("no_proxy", ""), ("NO_PROXY", "")])
            let bridge = try BridgeProcess(setup, environment: environment)
            try await bridge.start()
            try await bridge.eventually("the room joined") { server.hasJoined("shop") }
            server.publish(Array("{}".utf8), to: "shop")
            for receiver in receivers {
                try await bridge.eventually("the event") { receiver.acceptedCount == 1 }
            }
            #expect(trap.connections == 0)
            #expect(try await bridge.terminate() == .status(0))
        }

        @Test func `no name that comes from outside adds a line to a request`() async throws {
            let server = try ScriptedServer(.honest)
            let trick = HostileEndpoint.Trick(name: "test", outcome: .delivered) { $0.answer() }
            let endpoint = try HostileEndpoint(trick)
            endpoint.behave()
            var setup = BridgeSetup(url: server.url)
            setup.add(endpoint: "test", for: endpoint.address, rooms: ["shop"])
            let bridge = try BridgeProcess(setup)
            try await bridge.start()
            try await bridge.eventually("the room joined") { server.hasJoined("shop") }
            let names = [
                #"plain"#, #"a\r\nx-evil: 1"#, #"a\nx-evil: 1"#, #"a\rx-evil: 1"#,
                #"a\r\n\r\nPOST /evil HTTP/1.1\r\n\r\n"#,
                #"a\u0000b"#, #"a\u000bb\u007f"#, #"a%0d%0ax-evil: 1"#, #"\u2028x-evil: 1"#, #"\"quoted\" \\ text"#,
                "größe 🙂",
            ]
            for name in names { server.publish(Array(#"{"event":"\#(name)","data":{}}"#.utf8), to: "shop") }
            try await bridge.eventually("all events") { endpoint.requests.count >= names.count }
            let requests = endpoint.requests
            #expect(requests.count == names.count)
            #expect(requests.allSatisfy { $0.head.hasPrefix("POST /hook HTTP/1.1\r\n") })
            let lines = requests.map { $0.head.split(separator: "\r\n", omittingEmptySubsequences: false) }
            #expect(Set(lines.map(\.count)).count == 1)
            #expect(!requests.contains { $0.head.contains("\r\nx-evil") })
            // What stands in the field is printable ASCII.
            #expect(requests.allSatisfy { $0.head.utf8.allSatisfy { $0 == 13 || $0 == 10 || 0x20...0x7e ~= $0 } })
            #expect(try await bridge.terminate() == .status(0))
        }
    }
}

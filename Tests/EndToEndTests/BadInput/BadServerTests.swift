internal import BridgeTestSupport
internal import RoomsRuntime
internal import Testing

extension EndToEnd {
    /// A server that misbehaves: the journal says how, nothing is lost, nothing spins, nothing dies.
    @Suite(.timeLimit(.minutes(2))) struct BadServerTests {
        struct Mischief: Sendable, CustomTestStringConvertible {
            let testDescription: String
            let script: ScriptedServer.Script
            let complaint: String
            /// Nobody but an operator can cure it, so it is tried again only after minutes.
            var isTerminal = true
        }

        static let mischief: [Mischief] = [
            Mischief(testDescription: "answers 403", script: .refuse(403), complaint: "403", isTerminal: false),
            Mischief(testDescription: "closes with 3500", script: .close(3500, "invalid token"), complaint: "3500"),
            Mischief(testDescription: "speaks no protobuf", script: .json, complaint: "centrifuge-protobuf"),
            Mischief(testDescription: "sends rubbish", script: .rubbish, complaint: "protobuf frame"),
        ]

        @Test(arguments: mischief)
        func `the journal says what the server did, once, and all goes on when it is well`(
            _ mischief: Mischief
        ) async throws {
            let server = try ScriptedServer(mischief.script)
            let receiver = try RecordingReceiver()
            let bridge = try Self.bridge(server.url, receiver)
            try await bridge.start()
            try await bridge.eventually("\"\(mischief.complaint)\"") { bridge.log.contains(mischief.complaint) }
            #expect(server.connections <= 5, "it tries again without a pause")
            #expect(bridge.child?.exit == nil, "\(bridge.log)")
            server.play(.honest)
            server.publish(Array("1".utf8), to: "shop")
            if mischief.isTerminal {
                #expect(server.connections == 1)
                let exit = try await bridge.terminate()
                #expect(exit == .status(0), "\(bridge.log)")
                try await bridge.start()
            }
            try await bridge.eventually(within: .seconds(20), "the room joined") { server.hasJoined("shop") }
            server.publish(Array("2".utf8), to: "shop")
            try await bridge.eventually("both events") { receiver.acceptedCount == 2 }
            let exit = try await bridge.terminate()
            #expect(exit == .status(0), "\(bridge.log)")
        }

        @Test func `a server that is down neither delays the start nor the end`() async throws {
            let port = try HeldPort()
            let receiver = try RecordingReceiver()
            let bridge = try Self.bridge("ws://127.0.0.1:\(port.number)/connection/websocket", receiver)
            try await bridge.start()
            _ = try await bridge.line(containing: "nothing listens there")
            let exit = try await bridge.terminate()
            #expect(exit == .status(0), "\(bridge.log)")
        }

        @Test func `a message of 5 MiB arrives whole`() async throws {
            let server = try ScriptedServer(.honest)
            let receiver = try RecordingReceiver()
            let bridge = try Self.bridge(server.url, receiver)
            try await bridge.start()
            try await bridge.eventually("the room joined") { server.hasJoined("shop") }
            let data = Array("\"".utf8) + [UInt8](repeating: UInt8(ascii: "m"), count: 5 << 20) + Array("\"".utf8)
            server.publish(data, to: "shop")
            try await bridge.eventually(within: .seconds(20), "it arrived") {
                receiver.acceptedCount == 1
            }
            let request = try #require(receiver.requests.first)
            #expect(JSONSlice(request.message.body)["data"]?["data"]?.raw == data)
            let exit = try await bridge.terminate()
            #expect(exit == .status(0), "\(bridge.log)")
        }

        @Test func `a server that hangs up after each recovery reply is got ahead with`() async throws {
            let server = try ScriptedServer(.honest)
            let receiver = try RecordingReceiver()
            let rooms = ["shop", "order:1", "order:2"]
            let bridge = try Self.bridge(server.url, receiver, rooms)
            try await bridge.start()
            for room in rooms {
                server.publish(Array("0".utf8), to: ByteString(room))
            }
            try await bridge.eventually("the first events") { receiver.acceptedCount == 3 }
            _ = try await bridge.kill()
            server.play(.closeAfterRecovery)
            for number in 1...40 {
                for room in rooms { server.publish(Array("\(number)".utf8), to: ByteString(room)) }
            }
            try await bridge.start()
            try await bridge.eventually(within: .seconds(30), "123 events") {
                receiver.acceptedCount >= 123
            }
            let receptions = receiver.receptions()
            for room in rooms as [String] {
                var offsets: [UInt64] = []
                for reception in receptions where reception.room == ByteString(room) {
                    if case .event(let offset, _) = reception.item, !offsets.contains(offset) { offsets.append(offset) }
                }
                #expect(offsets == Array(1...41), "\(room)")
            }
            #expect(receptions.allSatisfy { if case .gap = $0.item { false } else { true } })
            #expect(server.recoveries > 0)
            let exit = try await bridge.terminate()
            #expect(exit == .status(0), "\(bridge.log)")
        }

        private static func bridge(
            _ url: String,
            _ receiver: RecordingReceiver,
            _ rooms: [String] = ["shop"]
        ) throws -> BridgeProcess {
            var setup = BridgeSetup(url: url)
            setup.add(endpoint: "test", for: receiver.address, rooms: rooms, from: "earliest")
            return try BridgeProcess(setup)
        }
    }
}

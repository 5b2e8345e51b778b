internal import BridgeTestSupport
internal import Foundation
internal import Rooms
internal import RoomsRuntime
internal import RoomsWire
internal import Testing

extension EndToEnd {
    /// Who comes and goes, how many are there, and whether the room is joined, where a route asks for it.
    @Suite(.timeLimit(.minutes(2))) struct NoticeTests {
        private static let room = "lounge:1"

        /// Somebody in the room who is not the bridge.
        private func guest(_ user: String, _ server: some RealtimeServer) async throws -> Realtime {
            var options = RealtimeOptions()
            let token = TokenKey(Secret(RealtimeServers.tokenSecret)).sign { claims in
                claims.key(literal: "sub")
                claims.string(user)
            }
            options.token = String(decoding: token.bytes, as: UTF8.self)
            let realtime = try Realtime(url: server.webSocketURL, options: options)
            try await realtime.join(Self.room).ready()
            return realtime
        }

        /// What the endpoint got: the member that its type names, or the event's offset.
        private func story(_ receiver: RecordingReceiver) -> [String] {
            receiver.requests.filter { $0.status == 200 }.map { request in
                let data = JSONSlice(request.message.body)["data"]
                switch request["roombridge-type"] {
                case "room.member":
                    let member = data?["member"]
                    return "\(member?["event"]?.string ?? "?") \(member?["user"]?.string ?? "?")"
                case "room.count": return "count \(data?["count"]?["n"]?.unsigned ?? 99)"
                case "room.state": return data?["state"]?["state"]?.string?.string ?? "?"
                case let type: return "\(type ?? "?") \(request["roombridge-offset"] ?? "?")"
                }
            }
        }

        @Test(
            "an endpoint that asks is told, in order among the events; one that does not is not",
            arguments: GapTests.Server.allCases
        )
        func told(_ kind: GapTests.Server) async throws {
            guard let server = try kind.make() else { return }
            let silent = try RecordingReceiver()
            let scene = try await GapScene(server, room: Self.room) { setup in
                setup.rooms = [#"{ "room": "\#(Self.room)", "to": ["test"], "types": ["member", "count", "state"] }"#]
                setup.add(endpoint: "silent", for: silent.address, rooms: [Self.room])
            }
            var expected: [String] = []
            func expect(_ more: String..., location: SourceLocation = #_sourceLocation) async throws {
                expected += more
                try await scene.bridge.eventually("\(expected), got \(story(scene.receiver))") {
                    story(scene.receiver).count >= expected.count
                }
                #expect(story(scene.receiver) == expected, sourceLocation: location)
            }
            // The bridge itself is nobody there.
            try await expect("joined", "count 0")
            let ann = try await guest("ann", server)
            try await expect("join ann", "count 1")
            try await scene.publish(1)
            try await expect("room.event 1")
            let bob = try await guest("bob", server)
            try await expect("join bob", "count 2")
            await ann.close()
            try await expect("leave ann", "count 1")
            // What did not change over a restart is no news.
            try await scene.away {}
            try await scene.publish(1)
            try await expect("room.event 2")
            try await scene.call("unsubscribe", #"{"user":"bridge","channel":"\#(Self.room)"}"#)
            try await expect("kicked")
            await bob.close()
            #expect(silent.requests.map { $0["roombridge-type"] } == ["room.event", "room.event"])
            let requests = scene.requests
            #expect(requests.map { $0["roombridge-seq"] } == requests.indices.map { "\($0 + 1)" })
            #expect(Set(requests.map { $0["webhook-id"] }).count == requests.count)
            let kicked = JSONSlice(try #require(requests.last).message.body)
            #expect(kicked["data"]?["state"]?["code"]?.string == "kicked" && kicked["type"]?.string == "room.state")
            #expect(kicked["data"]?["meta"]?["seq"]?.unsigned == UInt64(requests.count))
            try await scene.close()
        }

        @Test("a refused room is told of once, and again when it is joined")
        func refused() async throws {
            let server = try HubProcess()
            try await server.start()
            let receiver = try RecordingReceiver()
            var setup = BridgeSetup(server, receiver: receiver, rooms: [])
            // Without a token this room is closed.
            setup.user = nil
            setup.rooms = [#"{ "room": "order:1", "to": ["test"], "events": [], "types": ["state"] }"#]
            let bridge = try BridgeProcess(setup)
            try await bridge.start()
            try await bridge.eventually("the refusal") { story(receiver) == ["failed"] }
            #expect(JSONSlice(receiver.requests[0].message.body)["data"]?["state"]?["code"]?.string == "forbidden")
            #expect(try await bridge.terminate() == .status(0))
            try await bridge.start()
            try await bridge.eventually("the second refusal") { bridge.log.contains("a room cannot be joined") }
            #expect(try await bridge.terminate() == .status(0))
            setup.user = "bridge"
            try bridge.configure(setup)
            try await bridge.start()
            try await bridge.eventually("the join") { story(receiver) == ["failed", "joined"] }
            #expect(try await bridge.terminate() == .status(0))
            try await server.stop()
        }
    }
}

internal import BridgeTestSupport
internal import Foundation
internal import RoomsRuntime
internal import Testing

extension EndToEnd {
    /// A server's `api` fills what clients may not read.
    @Suite(.timeLimit(.minutes(2))) struct HistoryAPITests {
        private static let room = "nohistory:1"
        private static let key = ["RB_API_KEY": RealtimeServers.apiKey]

        private func scene(_ server: some RealtimeServer) async throws -> GapScene {
            try await GapScene(server, room: Self.room, environment: Self.key) { setup in
                setup.server = #", "api": { "url": "\#(server.apiURL)", "key": { "env": "RB_API_KEY" } }"#
            }
        }

        private func data(_ request: RecordingReceiver.Request) -> String {
            let data = JSONSlice(request.message.body)["data"]
            return String(decoding: data.flatMap { EventData.bytes(in: $0) } ?? [], as: UTF8.self)
        }

        @Test(
            "more than a recovery holds comes whole, in order, with the ids of the events",
            arguments: GapTests.Server.allCases
        )
        func fills(_ kind: GapTests.Server) async throws {
            guard let server = try kind.make() else { return }
            let scene = try await scene(server)
            try await scene.publish(3)
            let odd = #"{"n":12345678901234567890,"k":1.10,"k":1,"u":"\u00e9\ud800"}"#
            try await scene.away {
                try await scene.publish(500)
                try await scene.publish([odd])
                try await scene.call("publish", #"{"channel":"\#(Self.room)","data":7,"tags":{"event":"tagged"}}"#)
            }
            try await scene.publish(1)
            try await scene.expect((1...506).map { "\($0)" })
            let requests = scene.requests
            #expect(data(requests[499]) == "500" && data(requests[503]) == odd && data(requests[504]) == "7")
            #expect(requests[504]["roombridge-event"] == "tagged")
            #expect(requests.allSatisfy { $0["webhook-id"] == scene.id(of: $0, incarnation: 0) })
            #expect(requests[3..<503].allSatisfy { $0["roombridge-replayed"] == "true" })
            #expect(scene.bridge.log.contains("read through the server's API"))
            try await scene.close()
        }

        @Test(
            "what is not JSON is a gap where the server's API cannot write it, and it alone",
            arguments: GapTests.Server.allCases
        )
        func binary(_ kind: GapTests.Server) async throws {
            guard let server = try kind.make() else { return }
            let scene = try await scene(server)
            try await scene.publish(3)
            let bytes = "\u{1}not JSON"
            try await scene.away {
                try await scene.publish(200)
                let text = Data(bytes.utf8).base64EncodedString()
                try await scene.call("publish", #"{"channel":"\#(Self.room)","b64data":"\#(text)"}"#)
                try await scene.publish(200)
            }
            let hole = kind == .hub ? "204" : "gap not_permitted 204-204"
            try await scene.expect((1...203).map { "\($0)" } + [hole] + (205...404).map { "\($0)" })
            if kind == .hub { #expect(data(scene.requests[203]) == bytes) }
            try await scene.close()
        }

        @Test(
            "a key that the server does not take costs nothing: the room waits until there is a good one",
            arguments: GapTests.Server.allCases
        )
        func wrongKey(_ kind: GapTests.Server) async throws {
            guard let server = try kind.make() else { return }
            let folder = try TemporaryDirectory()
            func write(_ key: String) throws {
                let path = try folder.write(key, to: "key")
                try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
            }
            try write("another")
            let scene = try await GapScene(server, room: Self.room) { setup in
                setup.server = #", "api": { "url": "\#(server.apiURL)/", "key": { "file": "\#(folder.file("key"))" } }"#
            }
            try await scene.publish(3)
            try await scene.expect(["1", "2", "3"])
            try await scene.away { try await scene.publish(400) }
            let line = try await scene.bridge.line(containing: "API cannot be asked")
            #expect(line.contains("401") && !line.contains("another"))
            try await scene.publish(1)
            try write(RealtimeServers.apiKey)
            try await scene.expect((1...404).map { "\($0)" }, within: .seconds(45))
            try await scene.close()
        }

        @Test("many rooms at once are filled, each in order, with a restart of the server's link in between")
        func manyRooms() async throws {
            let server = try HubProcess()
            try await server.start()
            let api = ServerAPI(port: server.port, key: RealtimeServers.apiKey)
            let rooms = (1...12).map { "nohistory:\($0)" }
            for room in rooms { try await api.publish(room, numbers: 1...700) }
            let receiver = try RecordingReceiver()
            var setup = BridgeSetup(server, receiver: receiver, rooms: rooms, from: "earliest")
            setup.server = #", "api": { "url": "\#(server.apiURL)", "key": { "env": "RB_API_KEY" } }"#
            let bridge = try BridgeProcess(setup, environment: Self.key)
            try await bridge.start()
            // Questions that are on their way then are asked again.
            try await bridge.eventually("the first pages") { receiver.count > 0 }
            try await server.fault("cut", "{}")
            try await bridge.eventually(within: .seconds(40), "all events") { receiver.acceptedCount == 12 * 700 }
            let accepted = Dictionary(grouping: receiver.requests.filter { $0.status == 200 }) { $0["roombridge-room"] }
            for room in rooms {
                let offsets = accepted[room]?.compactMap { $0["roombridge-offset"] }
                #expect(offsets == (1...700).map { "\($0)" }, "\(room)")
            }
            #expect(try await bridge.terminate() == .status(0))
            try await server.stop()
        }

        @Test("a room that was never joined begins with the oldest event", arguments: GapTests.Server.allCases)
        func earliest(_ kind: GapTests.Server) async throws {
            guard let server = try kind.make() else { return }
            try await server.start()
            let api = ServerAPI(port: server.port, key: RealtimeServers.apiKey)
            try await api.publish(Self.room, numbers: 1...400)
            let receiver = try RecordingReceiver()
            var setup = BridgeSetup(server, receiver: receiver, rooms: [Self.room], from: "earliest")
            setup.server = #", "api": { "url": "\#(server.apiURL)", "key": { "env": "RB_API_KEY" } }"#
            let bridge = try BridgeProcess(setup, environment: Self.key)
            try await bridge.start()
            try await bridge.eventually("all events") { receiver.acceptedCount == 400 }
            #expect(GapScene.story(receiver) == (1...400).map { "\($0)" })
            #expect(try await bridge.terminate() == .status(0))
            try await server.stop()
        }
    }
}

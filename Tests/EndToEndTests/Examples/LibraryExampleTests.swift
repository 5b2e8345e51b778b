internal import BridgeTestSupport
internal import Foundation
internal import RoomsRuntime
internal import Testing

import Rooms

extension EndToEnd {
    /// The client library through the servers that people copy into their apps.
    @Suite(.timeLimit(.minutes(2))) struct LibraryExampleTests {
        @Test(arguments: ExampleLanguage.allCases, ["roomhub", "Centrifugo"])
        func `an app joins its own order, hears its events, and is refused another's`(
            _ language: ExampleLanguage,
            _ kind: String
        ) async throws {
            guard let pair = try await ServerAndExample(kind, language) else { return }
            let rt = try Self.client(pair, user: "alice")
            let names = ["order:1042", "order:1043", "chat:alice:bob", "x:1"]
            let rooms = names.map { rt.join($0) }
            let heard = Lock<[String]>([])
            rooms[0].on("updated") { data, meta in
                heard.withLock { $0.append("\(data["status"]?.string ?? "") by \(meta.from ?? "the server")") }
            }
            try await rooms[0].ready()
            try await rooms[2].ready()
            for (room, code) in [(rooms[1], "forbidden"), (rooms[3], "no_rule")] {
                let error = await #expect(throws: RoomError.self) { try await room.ready() }
                #expect(error?.code.rawValue == code, "\(room.name)")
            }
            try await eventually { rooms[2].members.map(\.user) == ["alice"] }
            let data = #"{"event":"updated","data":{"status":"sent"}}"#
            try await pair.api.call("publish", #"{"channel":"order:1042","data":\#(data)}"#)
            try await pair.api.call("publish", #"{"channel":"order:1043","data":\#(data)}"#)
            try await eventually { heard.withLock { $0 } == ["sent by the server"] }
            let page = try await rooms[0].history()
            #expect(page.events.map(\.event) == ["updated"])
            // Who owns the other order joins that.
            let bob = try Self.client(pair, user: "bob")
            try await bob.join("order:1043").ready()
            let refused = await #expect(throws: RoomError.self) { try await bob.join("order:1042").ready() }
            #expect(refused?.code == .forbidden)
            for client in [rt, bob] { await client.close() }
            try await pair.stop()
        }

        @Test(arguments: ExampleLanguage.allCases, ["roomhub", "Centrifugo"])
        func `who is signed out joins what is public by the grants of the app's configuration, with no request`(
            _ language: ExampleLanguage,
            _ kind: String
        ) async throws {
            guard let pair = try await ServerAndExample(kind, language) else { return }
            let config = try await pair.example.config(as: nil)
            var options = RealtimeOptions()
            // An auth route that nobody can ask.
            options.auth = "http://127.0.0.1:1/realtime/auth"
            let token = config["grants"]?["shop"]?["token"]?.string?.string ?? ""
            options.grants = ["shop": .init(token: token)]
            let rt = try Realtime(url: config["url"]?.string?.string ?? "", options: options)
            let heard = Lock<[String]>([])
            let shop = rt.join("shop")
            shop.onAny { event, data, _ in heard.withLock { $0.append("\(event) \(data)") } }
            try await shop.ready()
            try await pair.api.call("publish", #"{"channel":"shop","data":{"event":"sale","data":7}}"#)
            try await eventually { heard.withLock { $0 } == ["sale 7"] }
            await rt.close()
            // The route says the same of a public room, and of an order that it is nobody's.
            let guest = try Self.client(pair, user: nil)
            let order = guest.join("order:1042")
            try await guest.join("shop").ready()
            let error = await #expect(throws: RoomError.self) { try await order.ready() }
            #expect(error?.code == .forbidden)
            await guest.close()
            try await pair.stop()
        }

        private static func client(_ pair: ServerAndExample, user: String?) throws -> Realtime {
            var options = RealtimeOptions()
            options.auth = "http://127.0.0.1:\(pair.example.port)/realtime/auth"
            if let user { options.headers = { ["Authorization": "Bearer \(user)"] } }
            return try Realtime(url: pair.server.webSocketURL, options: options)
        }
    }
}

/// A realtime server and one of the examples beside it, which has told it of its rooms.
private struct ServerAndExample {
    let server: any RealtimeServer
    let example: ExampleServer
    let api: ServerAPI

    /// Nil when a program is not installed and nobody insists on it.
    ///
    /// A real server has the rooms of the examples' README.
    init?(_ kind: String, _ language: ExampleLanguage) async throws {
        let isHub = kind == "roomhub"
        let started: (any RealtimeServer)? =
            if isHub {
                try HubProcess(configuration: ExampleServer.bareHub)
            } else {
                try CentrifugoProcess(configuration: ExampleServer.readmeConfiguration())
            }
        guard let server = started, let example = try ExampleServer(language, hub: server.port) else { return nil }
        self.server = server
        self.example = example
        let key = isHub ? RealtimeServers.apiKey : "roomhub-api-key"
        api = ServerAPI(port: server.port, key: key)
        try await server.start()
        try await example.start(secret: isHub ? RealtimeServers.tokenSecret : "roomhub-token-secret", apiKey: key)
        // PHP tells the hub when it is asked itself.
        _ = try await example.config(as: nil)
        _ = try await example.line(containing: isHub ? "rooms: declared" : "rooms: the hub takes no declarations")
    }

    func stop() async throws {
        try await example.stop()
        try await server.stop()
    }
}

internal import BridgeTestSupport
internal import Foundation
internal import RoomsRuntime
internal import Testing

extension EndToEnd {
    /// What cannot be had any more reaches the receiver as `room.gap`, in order, for each reason and its real cause.
    ///
    /// `retention` is in `LossTests`.
    @Suite(.timeLimit(.minutes(2))) struct GapTests {
        enum Server: String, CaseIterable, Sendable {
            case hub
            case centrifugo

            func make() throws -> (any RealtimeServer)? {
                switch self {
                case .hub: try HubProcess()
                case .centrifugo: try CentrifugoProcess()
                }
            }
        }

        @Test("trimmed: what the server no longer kept when we came back", arguments: Server.allCases)
        func trimmed(_ kind: Server) async throws {
            guard let server = try kind.make() else { return }
            let scene = try await GapScene(server, room: "small:1")
            try await scene.publish(3)
            try await scene.away { try await scene.publish(20) }
            try await scene.publish(1)
            try await scene.expect(["1", "2", "3", "gap trimmed 4-13"] + (14...24).map { "\($0)" })
            try await scene.close()
        }

        @Test(
            "not_permitted: more than a recovery holds, where clients may not read the history",
            arguments: Server.allCases
        )
        func notPermitted(_ kind: Server) async throws {
            guard let server = try kind.make() else { return }
            let scene = try await GapScene(server, room: "nohistory:1")
            try await scene.publish(3)
            try await scene.away { try await scene.publish(301) }
            try await scene.publish(1)
            try await scene.expect(["1", "2", "3", "gap not_permitted 4-304", "305"])
            try await scene.close()
        }

        @Test("epoch_changed: the server was started anew, and what begins there comes from its first event on")
        func epochChanged() async throws {
            let server = try HubProcess()
            let scene = try await GapScene(server, room: "order:1")
            try await scene.publish(3)
            try await server.kill()
            try await server.start()
            try await scene.publish(2)
            try await scene.expect(["1", "2", "3", "gap epoch_changed 4-", "1", "2"])
            let epochs = scene.requests.map { $0["roombridge-epoch"] }
            #expect(Set(epochs[0...3]).count == 1 && Set(epochs[4...]).count == 1 && epochs[0] != epochs[4])
            try await scene.close()
        }

        @Test("invalidated: the server says that all positions are void", arguments: Server.allCases)
        func invalidated(_ kind: Server) async throws {
            guard let server = try kind.make() else { return }
            let scene = try await GapScene(server, room: "order:1")
            try await scene.publish(3)
            let request = #"{"user":"bridge","disconnect":{"code":3014,"reason":"state invalidated"}}"#
            try await scene.call("disconnect", request)
            try await scene.expect(["1", "2", "3", "gap invalidated 4-"])
            try await scene.publish(1)
            try await scene.expect(["1", "2", "3", "gap invalidated 4-", "4"])
            try await scene.close()
        }

        @Test("went_back: ids of what is published anew never are those of what it replaces, also over restarts")
        func wentBack() async throws {
            let server = try HubProcess()
            let scene = try await GapScene(server, room: "order:1")
            try await scene.publish(4)
            var story = ["1", "2", "3", "4", "gap went_back 2-4"]
            try await server.fault("go_back", #"{"channel":"order:1","offset":1}"#)
            try await scene.expect(story)
            try await scene.publish(2)
            story += ["2", "3"]
            try await scene.expect(story)
            // While nobody looks, to the same place once more.
            try await scene.away {
                try await server.fault("go_back", #"{"channel":"order:1","offset":1,"noticed":"never"}"#)
            }
            story += ["gap went_back 2-3"]
            try await scene.expect(story)
            try await scene.publish(3)
            story += ["2", "3", "4"]
            try await scene.expect(story)
            try await scene.away {}
            try await scene.publish(1)
            story += ["5"]
            try await scene.expect(story)
            let ids = scene.requests.map { $0["webhook-id"] ?? "" }
            #expect(Set(ids).count == story.count, "\(ids)")
            // As design and DELIVERY.md derive them: the number of times that the stream went back at the end.
            let incarnations = [0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 2]
            for (index, request) in scene.requests.enumerated() {
                #expect(ids[index] == scene.id(of: request, incarnation: incarnations[index]), "\(index)")
            }
            try await scene.close()
        }

        @Test("too_large: the one event that never comes through, and no other")
        func tooLarge() async throws {
            let scene = try await KilledScene(ScriptedServer(.honest))
            for number in 4...6 { scene.server.publish(Array("\(number)".utf8), to: "shop") }
            scene.server.play(.choke(5))
            try await scene.bridge.start()
            try await scene.bridge.eventually(within: .seconds(60), "the sixth event") {
                scene.receiver.requests.last?["roombridge-offset"] == "6"
            }
            #expect(GapScene.story(scene.receiver) == ["1", "2", "3", "4", "gap too_large 5-5", "6"])
            #expect(try await scene.bridge.terminate() == .status(0))
        }

        @Test("filtered: a server that keeps some events from us is believed after three rounds")
        func filtered() async throws {
            let server = try ScriptedServer(.hide([2, 4, 6, 8, 10]))
            let receiver = try RecordingReceiver()
            var setup = BridgeSetup(url: server.url)
            setup.add(endpoint: "test", for: receiver.address, rooms: ["shop"])
            let bridge = try BridgeProcess(setup)
            try await bridge.start()
            try await bridge.eventually("the room joined") { server.hasJoined("shop") }
            for number in 1...11 {
                server.publish(Array("\(number)".utf8), to: "shop")
                guard number % 2 == 1 else { continue }
                try await bridge.eventually(within: .seconds(30), "event \(number)") {
                    receiver.requests.last?["roombridge-offset"] == "\(number)"
                }
            }
            let gaps = GapScene.story(receiver).filter { $0.hasPrefix("gap") }
            #expect(
                gaps == [
                    "gap trimmed 2-2", "gap trimmed 4-4", "gap trimmed 6-6", "gap filtered 8-8", "gap filtered 10-10",
                ]
            )
            #expect(try await bridge.terminate() == .status(0))
        }

        @Test("damaged: an event that the disk did not keep")
        func damaged() async throws {
            let scene = try await GapScene(HubProcess(), room: "order:1")
            scene.receiver.refuse()
            let texts = (1...3).map { #""payload number \#($0)""# }
            try await scene.publish(texts)
            try await scene.stop()
            let path = scene.bridge.stateDirectory + "/store.db"
            var file = try Data(contentsOf: URL(fileURLWithPath: path))
            let place = try #require(file.range(of: Data("payload number 2".utf8)))
            file[place.lowerBound] ^= 1
            try file.write(to: URL(fileURLWithPath: path))
            scene.receiver.listen()
            try await scene.bridge.start()
            try await scene.expect(["1", "gap damaged 2-2", "3"])
            #expect(scene.bridge.log.contains("a stored event is damaged"))
            try await scene.close()
        }
    }
}

/// A server, a receiver, and a bridge in one room that comes and goes.
final class GapScene {
    let server: any RealtimeServer
    let receiver: RecordingReceiver
    let bridge: BridgeProcess
    private let room: String
    private let api: ServerAPI
    private var published = 0

    /// `setup` may change the bridge's configuration.
    init(
        _ server: some RealtimeServer,
        room: String,
        environment: [String: String] = [:],
        _ setup: (inout BridgeSetup) -> Void = { _ in }
    ) async throws {
        try await server.start()
        self.server = server
        self.room = room
        api = ServerAPI(port: server.port, key: RealtimeServers.apiKey)
        receiver = try RecordingReceiver()
        var configuration = BridgeSetup(server, receiver: receiver, rooms: [room])
        setup(&configuration)
        bridge = try BridgeProcess(configuration, environment: environment)
        try await bridge.start()
        try await bridge.joined([room])
    }

    func publish(_ count: Int) async throws {
        try await publish((published + 1...published + count).map { "\($0)" })
    }

    /// JSON texts.
    func publish(_ texts: [String]) async throws {
        published += texts.count
        try await api.publish(room, texts)
    }

    func call(_ method: String, _ body: String) async throws {
        try await api.call(method, body)
    }

    func stop() async throws {
        #expect(try await bridge.terminate() == .status(0), "\(bridge.log)")
    }

    /// The bridge is not there while `body` runs.
    func away(_ body: () async throws -> Void) async throws {
        try await stop()
        try await body()
        try await bridge.start()
        try await bridge.joined([room])
    }

    /// What was accepted, in order; retried ones once.
    var requests: [RecordingReceiver.Request] { receiver.requests.filter { $0.status == 200 } }

    /// Each event by its offset, each gap by reason and bounds.
    static func story(_ receiver: RecordingReceiver) -> [String] {
        receiver.requests.filter { $0.status == 200 }.map { request in
            guard request["roombridge-type"] == "room.gap" else { return request["roombridge-offset"] ?? "-" }
            let gap = JSONSlice(request.message.body)["data"]?["gap"]
            let (from, to) = (gap?["from"]?.unsigned, gap?["to"]?.unsigned)
            return "gap \(gap?["reason"]?.string ?? "?") \(from ?? 0)-\(to.map { "\($0)" } ?? "")"
        }
    }

    /// Waits for the story, of which each part has the next seq.
    func expect(
        _ story: [String],
        within limit: Duration = .seconds(15),
        _ location: SourceLocation = #_sourceLocation
    ) async throws {
        try await bridge.eventually(within: limit, "\(story.count) at the receiver") {
            requests.count >= story.count
        }
        #expect(Self.story(receiver) == story, sourceLocation: location)
        let seqs = requests.map { $0["roombridge-seq"] }
        #expect(seqs == (1...story.count).map { "\($0)" }, sourceLocation: location)
    }

    /// The id that the documentation derives for the server `main`.
    func id(of request: RecordingReceiver.Request, incarnation: Int) -> String {
        var parts = ["main", room, request["roombridge-epoch"] ?? ""]
        let offset = request["roombridge-offset"] ?? ""
        if request["roombridge-type"] == "room.gap" {
            let gap = JSONSlice(request.message.body)["data"]?["gap"]
            parts += ["gap", gap?["reason"]?.string?.string ?? "", offset, "\(incarnation)"]
        } else {
            parts += incarnation == 0 ? [offset] : [offset, "\(incarnation)"]
        }
        let text = parts.map { Array($0.utf8) }.joined(separator: [0])
        return "rb_" + String(decoding: Base32.encode(Digest.sha256([Array(text)]).prefix(20)), as: UTF8.self)
    }

    func close() async throws {
        try await stop()
        try await server.stop()
    }
}

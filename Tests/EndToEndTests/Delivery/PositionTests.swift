internal import BridgeTestSupport
internal import RoomsRuntime
internal import RoomsWire
internal import Testing

extension EndToEnd {
    /// Events with positions at the end of the number range, and events with none.
    @Suite(.timeLimit(.minutes(1))) struct PositionTests {
        @Test(
            "C52: offsets above 2^53 are decoded, stored, sent and asked for unchanged, also over a kill",
            arguments: [1 << 53, 1 << 62, UInt64(Int64.max), UInt64.max - 4] as [UInt64]
        )
        func largeOffsets(first: UInt64) async throws {
            let scene = try await KilledScene(ScriptedServer(.honest, first: first))
            let (server, receiver, bridge) = (scene.server, scene.receiver, scene.bridge)
            server.publish(Array("4".utf8), to: "shop")
            try await bridge.start()
            try await bridge.eventually("the fourth event") { receiver.acceptedCount == 4 }
            let offsets = (1...4).map { first + $0 }
            #expect(receiver.requests.map { $0["roombridge-offset"] } == offsets.map { "\($0)" })
            for (request, offset) in zip(receiver.requests, offsets) {
                let meta = JSONSlice(request.message.body)["data"]?["meta"]
                #expect(meta?["offset"]?.unsigned == offset)
                #expect(meta?["id"]?.string == ByteString("scripted:\(offset)"))
            }
            #expect(server.resumed == [StreamPosition(offset: first + 3, epoch: "scripted")])
            #expect(try await bridge.terminate() == .status(0))
        }

        @Test(
            "C48: events of a room without history go out with an id of our own, without a position, and it is told",
            arguments: [nil, "bridge"]
        )
        func liveOnly(user: String?) async throws {
            let server = try HubProcess(
                configuration: """
                    {
                      "listen": ["127.0.0.1:PORT"],
                      "api_key": { "env": "HUB_API_KEY" },
                      "token_secret": { "env": "HUB_TOKEN_SECRET" },
                      "rooms": [ { "pattern": "live:{id}", "public": true } ]
                    }
                    """
            )
            try await server.start()
            let receiver = try RecordingReceiver()
            var setup = BridgeSetup(server, receiver: receiver, rooms: ["live:1"])
            setup.user = user
            let bridge = try BridgeProcess(setup)
            try await bridge.start()
            try await bridge.joined(["live:1"])
            for number in 1...2 {
                try await server.publish(#"{"channel":"live:1","data":\#(number)}"#)
            }
            try await bridge.eventually("two events") { receiver.acceptedCount == 2 }
            let ids = receiver.requests.compactMap { $0["webhook-id"] }
            #expect(Set(ids).count == 2 && ids.allSatisfy { $0.hasPrefix("rb_l_") }, "\(ids)")
            for (index, request) in receiver.requests.enumerated() {
                #expect(request["roombridge-offset"] == nil && request["roombridge-epoch"] == nil)
                #expect(request["roombridge-seq"] == "\(index + 1)")
                let data = JSONSlice(request.message.body)["data"]
                #expect(data?.verbatim("data") == Array("\(index + 1)".utf8))
                #expect(data?["meta"]?["id"] == nil && data?["meta"]?["offset"] == nil)
            }
            // Our own tokens ask for recovery, which a room without history grants and cannot keep.
            let line = user == nil ? "a room is live-only" : "an event came without a position"
            #expect(bridge.log.split(separator: "\n").count { $0.contains(line) } == 1, "\(bridge.log)")
            #expect(try await bridge.terminate() == .status(0))
            try await server.stop()
        }
    }
}

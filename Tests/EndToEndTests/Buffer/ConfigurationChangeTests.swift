internal import BridgeTestSupport
internal import Foundation
internal import RoomsRuntime
internal import Testing

extension EndToEnd {
    /// What a change of the configuration does, and what it leaves alone.
    @Suite(.timeLimit(.minutes(2))) struct ConfigurationChangeTests {
        private static let room = "order:1"

        @Test func `an endpoint that is added begins with what comes then`() async throws {
            let scene = try await BufferScene(["a", "b"]) { $0.add(endpoint: "a", for: $1, rooms: [Self.room]) }
            try await scene.bridge.start()
            try await scene.bridge.joined([Self.room])
            try await scene.publish(Self.room, "1", "2")
            try await scene.expect("a", Self.room, has: 1...2)
            try scene["a"].refuse()
            try await scene.publish(Self.room, "3")
            _ = try await scene.bridge.line(containing: "the endpoint is not well")
            try await scene.restart { setup, receivers in
                setup.add(endpoint: "a", for: receivers, rooms: [Self.room], from: "earliest")
                setup.add(endpoint: "b", for: receivers, rooms: [Self.room], from: "earliest")
            }
            try await scene.bridge.joined([Self.room])
            try await scene.publish(Self.room, "4")
            try await scene.expect("b", Self.room, has: 4...4)
            #expect(try scene["b"].requests.map { $0["roombridge-seq"] } == ["4"])
            #expect(try scene["b"].requests.map { $0["roombridge-prev-seq"] } == ["0"])
            try scene["a"].listen()
            try await scene.expect("a", Self.room, has: 1...4)
            try await scene.close()
        }

        @Test func `an endpoint that is taken out loses what waited, and the journal says how much`() async throws {
            let rooms = [Self.room, "order:2"]
            let scene = try await BufferScene(["a", "b", "c"]) { setup, receivers in
                setup.add(endpoint: "a", for: receivers, rooms: rooms)
                setup.add(endpoint: "b", for: receivers, rooms: [Self.room])
                setup.add(endpoint: "c", for: receivers, rooms: rooms)
            }
            try scene["a"].refuse()
            try scene["b"].refuse()
            try await scene.bridge.start()
            try await scene.bridge.joined(rooms)
            try await scene.publish(Self.room, "1", "2", "3")
            try await scene.publish("order:2", "1", "2")
            try await scene.bridge.eventually("both wait") { scene.lines("the endpoint is not well").count == 2 }
            // What one has, all of them wait for.
            try await scene.expect("c", Self.room, has: 1...3)
            try await scene.expect("c", "order:2", has: 1...2)
            try await scene.restart { $0.add(endpoint: "b", for: $1, rooms: [Self.room]) }
            let line = try #require(scene.lines("is not configured any more").first { $0.contains("endpoint=a") })
            #expect(line.contains("what waited for it is dropped") && line.contains("endpoint=a"), "\(line)")
            #expect(line.contains("count=5"), "\(line)")
            try scene["b"].listen()
            try await scene.expect("b", Self.room, has: 1...3)
            // Put back, it is a new one.
            try scene["a"].listen()
            try await scene.restart { setup, receivers in
                setup.add(endpoint: "a", for: receivers, rooms: [Self.room])
                setup.add(endpoint: "b", for: receivers, rooms: [Self.room])
            }
            try await scene.bridge.joined([Self.room])
            try await scene.publish(Self.room, "4")
            try await scene.expect("a", Self.room, has: 4...4)
            try await scene.close()
        }

        @Test func `a room that is taken out keeps its place, and goes on there whatever "from" says`() async throws {
            let scene = try await BufferScene(["a"]) { $0.add(endpoint: "a", for: $1, rooms: [Self.room, "order:2"]) }
            try await scene.bridge.start()
            try await scene.bridge.joined([Self.room, "order:2"])
            try await scene.publish(Self.room, "1", "2")
            try await scene.expect("a", Self.room, has: 1...2)
            // What waits of it is delivered after it is gone.
            try scene["a"].refuse()
            try await scene.publish(Self.room, "3")
            _ = try await scene.bridge.line(containing: "the endpoint is not well")
            try await scene.restart { $0.add(endpoint: "a", for: $1, rooms: ["order:2"]) }
            try await scene.bridge.joined(["order:2"])
            try scene["a"].listen()
            try await scene.expect("a", Self.room, has: 1...3)
            try await scene.publish(Self.room, "4", "5")
            for (from, next) in [("now", 5), ("earliest", 5)] {
                try await scene.restart {
                    $0.add(endpoint: "a", for: $1, rooms: [Self.room, "order:2"], from: from)
                }
                try await scene.expect("a", Self.room, has: 1...next)
            }
            try await scene.publish(Self.room, "6")
            try await scene.expect("a", Self.room, has: 1...6)
            #expect(try scene["a"].requests.allSatisfy { $0["roombridge-type"] == "room.event" })
            try await scene.close()
        }

        @Test func `a server with another URL keeps its positions, one with another key has none`() async throws {
            let scene = try await BufferScene(["a"]) { $0.add(endpoint: "a", for: $1, rooms: [Self.room]) }
            try await scene.bridge.start()
            try await scene.bridge.joined([Self.room])
            try await scene.publish(Self.room, "1", "2")
            try await scene.expect("a", Self.room, has: 1...2)
            let ids = try scene["a"].requests.compactMap { $0["webhook-id"] }
            try await scene.restart {
                $0.url = $0.url.replacing("127.0.0.1", with: "localhost")
                $0.add(endpoint: "a", for: $1, rooms: [Self.room])
            }
            try await scene.bridge.joined([Self.room])
            try await scene.publish(Self.room, "3")
            try await scene.expect("a", Self.room, has: 1...3)
            // A new key: the room was never joined there, and its events have other ids.
            try await scene.restart {
                $0.key = "second"
                $0.add(endpoint: "a", for: $1, rooms: [Self.room], from: "earliest")
            }
            try await scene.bridge.eventually("the room from its beginning") { try scene["a"].acceptedCount == 6 }
            let again = try scene["a"].requests.suffix(3)
            #expect(again.map { $0["roombridge-offset"] } == ["1", "2", "3"])
            #expect(again.map { $0["roombridge-seq"] } == ["1", "2", "3"])
            #expect(Set(again.compactMap { $0["webhook-id"] }).isDisjoint(with: ids))
            try await scene.close()
        }

        @Test func `where an event goes is decided when it is committed`() async throws {
            let scene = try await BufferScene(["a", "b"]) { setup, receivers in
                setup.add(endpoint: "a", for: receivers, rooms: [Self.room])
                setup.add(endpoint: "b", for: receivers, rooms: ["order:2"])
            }
            try scene["a"].refuse()
            try await scene.bridge.start()
            try await scene.bridge.joined([Self.room, "order:2"])
            try await scene.publish(Self.room, "1", "2")
            _ = try await scene.bridge.line(containing: "the endpoint is not well")
            // The room goes to the other one now; what was committed stays where it belongs.
            try await scene.restart { setup, receivers in
                setup.add(endpoint: "a", for: receivers, rooms: ["order:2"])
                setup.add(endpoint: "b", for: receivers, rooms: [Self.room])
            }
            try await scene.bridge.joined([Self.room, "order:2"])
            try await scene.publish(Self.room, "3")
            try await scene.expect("b", Self.room, has: 3...3)
            try scene["a"].listen()
            try await scene.expect("a", Self.room, has: 1...2)
            try await scene.close()
        }

        @Test func `several endpoints have a room, each with what its filters let through`() async throws {
            let scene = try await BufferScene(["all", "exact", "prefix"]) { setup, receivers in
                setup.add(endpoint: "all", for: receivers, rooms: [Self.room])
                setup.add(endpoint: "exact", for: receivers, rooms: [Self.room], events: ["sold"])
                setup.add(endpoint: "prefix", for: receivers, rooms: [Self.room], events: ["stock.*", "sold"])
            }
            try await scene.bridge.start()
            try await scene.bridge.joined([Self.room])
            let names = ["sold", "sold2", "stock.", "stock.low", "stock", "sold"]
            try await scene.publish(Self.room, names.map { #"{"event":"\#($0)","data":1}"# })
            try await scene.expect("all", Self.room, has: 1...6)
            for (name, offsets) in [("exact", ["1", "6"]), ("prefix", ["1", "3", "4", "6"])] {
                try await scene.bridge.eventually("what \(name) wants") {
                    try scene.offsets(name, Self.room).count >= offsets.count
                }
                #expect(try scene.offsets(name, Self.room) == offsets)
                // The seq counts what was committed in the room, whoever got it.
                #expect(try scene[name].requests.map { $0["roombridge-seq"] } == offsets)
            }
            try await scene.close()
        }
    }
}

extension BridgeSetup {
    fileprivate mutating func add(
        endpoint: String,
        for receivers: [String: RecordingReceiver],
        rooms: [String],
        from: String = "now",
        events: [String]? = nil
    ) {
        guard let receiver = receivers[endpoint] else { return }
        let count = self.rooms.count
        add(endpoint: endpoint, for: receiver.address, rooms: rooms, from: from)
        guard let events else { return }
        let list = events.map { "\"\($0)\"" }.joined(separator: ", ")
        for index in count..<self.rooms.count {
            self.rooms[index] = self.rooms[index].replacing("\"to\"", with: "\"events\": [\(list)], \"to\"")
        }
    }
}

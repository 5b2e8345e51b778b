import BridgeTestSupport
import HubCore
import LocalHTTP
import RoomsRuntime
import RoomsTransport
import RoomsWire
import Testing

@testable import Rooms

/// What the client makes of a hub in which something goes wrong, over real sockets.
@Suite struct FaultyServerTests {
    private func rooms(_ names: String..., start: RoomStart = .now) -> [RoomSpecification] {
        names.map { RoomSpecification(name: ByteString($0), start: start) }
    }

    private func offsets(_ events: [String]) -> [UInt64] {
        events.compactMap { UInt64($0.split(separator: "/").last ?? "") }
    }

    /// A client in `order:1` that has heard three events.
    private func joined(_ hub: TestHub) async throws -> LiveConnection {
        let live = try LiveConnection(port: hub.port, rooms: rooms("order:1"))
        try await eventually("the join") { live.sink.seen().count == 1 }
        try await hub.api.publish("order:1", numbers: 1...3)
        try await eventually("the events") { live.sink.events().count == 3 }
        return live
    }

    @Test("C46: a live hole is filled by recovery, and nothing is a gap")
    func hole() async throws {
        let hub = try TestHub { $0.faults = "127.0.0.1:0" }
        let live = try await joined(hub)
        try await hub.fault("lose_push", #"{"channel":"order:1","count":5}"#)
        try await hub.api.publish("order:1", numbers: 4...10)
        try await eventually("the events") { live.sink.events().count == 10 }
        #expect(offsets(live.sink.events()) == Array(1...10))
        #expect(live.sink.statuses == ["connecting", "connected"])
    }

    @Test("C46: a live hole that nothing can fill is one gap")
    func emptyHole() async throws {
        let hub = try TestHub { $0.faults = "127.0.0.1:0" }
        let live = try await joined(hub)
        try await hub.fault("skip_offset", #"{"channel":"order:1","count":5}"#)
        try await hub.api.publish("order:1", numbers: 9...10)
        try await eventually("the events") { live.sink.events().count == 6 }
        #expect(live.sink.events()[3].hasPrefix("gap trimmed "))
        #expect(live.sink.events()[3].contains("/4-8 then "))
        #expect(offsets(Array(live.sink.events()[4...])) == [9, 10])
    }

    @Test("C45: what is pushed twice is handed on once")
    func duplicates() async throws {
        let hub = try TestHub { $0.faults = "127.0.0.1:0" }
        let live = try await joined(hub)
        try await hub.fault("duplicate_push", #"{"channel":"order:1","count":100}"#)
        try await hub.api.publish("order:1", numbers: 4...203)
        try await eventually("the events") { offsets(live.sink.events()).last == 203 }
        #expect(offsets(live.sink.events()) == Array(1...203))
        #expect(live.sink.statuses == ["connecting", "connected"])
    }

    @Test(
        "C43: a new epoch is a gap, and the new stream comes from its beginning",
        arguments: ["now", "publication", "never"]
    )
    func newEpoch(noticed: String) async throws {
        let hub = try TestHub { $0.faults = "127.0.0.1:0" }
        let live = try await joined(hub)
        try await hub.fault("new_epoch", #"{"channel":"order:1","noticed":"\#(noticed)"}"#)
        try await hub.api.publish("order:1", numbers: 1...2)
        try await eventually("the new stream") { live.sink.events().count == 6 }
        #expect(live.sink.events()[3].hasPrefix("gap epoch_changed "))
        #expect(offsets(Array(live.sink.events()[4...])) == [1, 2])
        #expect(live.sink.statuses == ["connecting", "connected"])
    }

    @Test("a stream that went back within its epoch is a gap, and then goes on")
    func wentBack() async throws {
        let hub = try TestHub { $0.faults = "127.0.0.1:0" }
        let live = try await joined(hub)
        try await hub.fault("go_back", #"{"channel":"order:1","offset":1}"#)
        try await eventually("the gap") { live.sink.events().count == 4 }
        #expect(live.sink.events()[3].hasPrefix("gap went_back ") && live.sink.events()[3].contains("/2-3 then "))
        try await hub.api.publish("order:1", numbers: 2...3)
        try await eventually("the events") { live.sink.events().count == 6 }
        #expect(offsets(Array(live.sink.events()[4...])) == [2, 3])
    }

    @Test("C65: 3004 on each subscribe fails no room; all are joined when it is over")
    func brokerDown() async throws {
        let hub = try TestHub { $0.faults = "127.0.0.1:0" }
        try await hub.fault("fail_subscribes", #"{"code":3004,"message":"internal server error","count":5}"#)
        let live = try LiveConnection(port: hub.port, rooms: rooms("order:1", "order:2", "few:1"))
        try await eventually("the joins") { (0..<3).allSatisfy { !live.sink.seen($0).isEmpty } }
        #expect((0..<3).allSatisfy { live.sink.seen($0).count == 1 && live.sink.seen($0)[0].hasPrefix("joined") })
        #expect(live.sink.statuses.count { $0 == "waiting 3004" } == 5)
    }

    @Test("a connection that is cut, reset, closed or silent comes back and has lost nothing")
    func links() async throws {
        let hub = try TestHub {
            $0.faults = "127.0.0.1:0"
            $0.session.pingInterval = .seconds(1)
        }
        let live = try LiveConnection(port: hub.port, rooms: rooms("order:1")) {
            $0.policy.pingGrace = .milliseconds(200)
        }
        try await eventually("the join") { live.sink.seen().count == 1 }
        let faults = [
            ("cut", "{}"), ("cut", #"{"reset":true}"#), ("close", #"{"code":1012,"reason":"restart"}"#),
            ("silence", "{}"),
        ]
        for (round, (name, body)) in faults.enumerated() {
            try await hub.fault(name, body)
            let first = round * 10 + 1
            try await hub.api.publish("order:1", numbers: first...(first + 9))
            try await eventually("the events") { live.sink.events().count == first + 9 }
        }
        #expect(offsets(live.sink.events()) == Array(1...40))
        #expect(live.sink.statuses.count { $0 == "connected" } == 5)
    }

    @Test("C62: over a throttled link ten rooms with much missed are all recovered")
    func throttled() async throws {
        let hub = try TestHub { $0.faults = "127.0.0.1:0" }
        let names = (0..<10).map { "order:\($0)" }
        let text = String(repeating: "x", count: 10_000)
        for name in names { try await hub.api.publish(name, (1...10).map { #"{"n":\#($0),"x":"\#(text)"}"# }) }
        try await hub.fault("throttle", #"{"bytes_per_second":1000000,"new":true}"#)
        let specifications = names.map { RoomSpecification(name: ByteString($0), start: .earliest) }
        let live = try LiveConnection(port: hub.port, rooms: specifications)
        try await eventually(within: .seconds(30), "the events") {
            names.indices.allSatisfy { live.sink.events($0).count == 10 }
        }
        #expect(names.indices.allSatisfy { offsets(live.sink.events($0)) == Array(1...10) })
    }

    @Test("refused upgrades and connects are tried again")
    func refused() async throws {
        let hub = try TestHub { $0.faults = "127.0.0.1:0" }
        try await hub.fault("refuse_upgrades", #"{"count":2}"#)
        try await hub.fault("fail_connects", #"{"code":100,"count":2}"#)
        let live = try LiveConnection(port: hub.port, rooms: rooms("order:1"))
        try await eventually("the join") { live.sink.seen().count == 1 }
        #expect(live.sink.statuses.count { $0 == "waiting 503" } == 2)
        #expect(live.sink.statuses.count { $0.hasPrefix("waiting") } == 4)
    }

    @Test("the client speaks to a hub on IPv6")
    func v6() async throws {
        let configuration = HubConfiguration(
            listen: ["127.0.0.1:0", "[::1]:0"],
            apiKey: HubConfiguration.usualAPIKey,
            tokenSecret: HubConfiguration.usualTokenSecret,
            rooms: [RoomRule(pattern: "order:{id}", history: 10, isPublic: true)]
        )
        let queue = LogQueue(sink: StandardErrorSink(style: .plain))
        let server = HubServer(configuration, logger: Logger(queue: queue, level: .error))
        let ports = try server.start()
        let url = try ServerURL(ByteString("ws://[::1]:\(ports[1])/connection/websocket"))
        let live = try LiveConnection(port: ports[1], rooms: rooms("order:1")) { $0.url = url }
        try await eventually("the join") { live.sink.seen().count == 1 }
        let api = ServerAPI(port: ports[0], key: "roomhub-api-key")
        try await api.publish("order:1", numbers: 1...3)
        try await eventually("the events") { live.sink.events().count == 3 }
        await live.stop()
        server.stop()
        queue.close()
    }
}

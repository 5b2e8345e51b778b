import BridgeTestSupport
import RoomsRuntime
import RoomsWire
import Testing

@testable import Rooms

/// What only a real server proves, and what it does to a client in the hard cases.
@Suite struct RealConformanceTests {
    private func rooms(_ names: [String], start: RoomStart = .now) -> [RoomSpecification] {
        names.map { RoomSpecification(name: ByteString($0), start: start) }
    }

    private func started() async throws -> RealServer? {
        guard let server = try RealServer() else { return nil }
        try await server.start()
        return server
    }

    /// The user `bridge`, with a token for each room; that of `bad` names another room.
    private func tokens(bad: ByteString? = nil, connection: String = "") -> TokenSource {
        TokenSource(
            connection: { RealServer.token(#""sub":"bridge"\#(connection)"#, 600) },
            subscription: { name in
                guard name.hasPrefix("$") else { return nil }
                let room = name == bad ? "$order:elsewhere" : name.string
                return RealServer.token(#""sub":"bridge","channel":"\#(room)""#, 600)
            }
        )
    }

    @Test("C64: among sixty rooms the one with another room's token is failed, and the others are joined")
    func oneBadToken() async throws {
        guard let server = try await started() else { return }
        let live = try LiveConnection(port: server.port, rooms: rooms((0..<60).map { "$order:\($0)" })) {
            $0.policy.tokens = tokens(bad: "$order:7")
        }
        try await eventually("the outcome") {
            live.sink.seen(7).contains("failed 3500") && live.sink.statuses.last == "connected"
                && (0..<60).allSatisfy { $0 == 7 || live.sink.seen($0).last?.hasPrefix("joined") == true }
        }
        #expect(live.sink.statuses.count { $0 == "connecting" } == 3)
        #expect(!live.sink.statuses.contains { $0.hasPrefix("terminal") })
        try await server.api.publish("$order:59", numbers: 1...1)
        try await eventually("the event") { live.sink.events(59).count == 1 }
        #expect(live.sink.seen(7) == ["failed 3500"])
    }

    @Test(
        "C64: in the public face the room with another room's token fails as unauthorized, the others are joined",
        arguments: RoomServer.Kind.allCases
    )
    func publicFace(kind: RoomServer.Kind) async throws {
        guard let server = try await RoomServer(kind) else { return }
        var options = RealtimeOptions()
        options.token = RoomServer.token("alice")
        for number in 1...5 {
            let named = number == 3 ? 7 : number
            options.grants["own:\(number)"] = RealtimeOptions.Grant(
                token: RoomServer.token("alice", room: "own:\(named)")
            )
        }
        let rt = try Realtime(url: server.url, options: options)
        let rooms = (1...5).map { rt.join("own:\($0)") }
        let error = await #expect(throws: RoomError.self) { try await rooms[2].ready() }
        #expect(error?.code == .unauthorized)
        try await eventually("the other rooms") { rooms.indices.allSatisfy { $0 == 2 || rooms[$0].state == .joined } }
        #expect(rooms[2].state == .failed)
    }

    @Test("C51: rooms of the token are joined by it, recovered by connect, and others of it are dropped")
    func serverSide() async throws {
        guard let server = try await started() else { return }
        let subs = #","subs":{"order:mine":{},"live:mine":{},"order:nobodys":{},"closed:mine":{}}"#
        let names = ["order:mine", "live:mine", "closed:mine", "order:asked"]
        let live = try LiveConnection(port: server.port, rooms: rooms(names)) {
            $0.policy.tokens = tokens(connection: subs)
        }
        try await eventually("the joins") { (0..<4).allSatisfy { live.sink.seen($0).count == 1 } }
        #expect(live.sink.seen(1) == ["joined live-only"])
        for name in names + ["order:nobodys"] { try await server.api.publish(name, numbers: 1...2) }
        try await eventually("the events") { (0..<4).allSatisfy { live.sink.events($0).count == 2 } }
        try await server.api.call("disconnect", #"{"user":"bridge","disconnect":{"code":4000,"reason":"test"}}"#)
        try await server.api.publish("order:mine", numbers: 3...5)
        try await server.api.publish("closed:mine", numbers: 3...5)
        try await eventually("what was missed") { live.sink.events(0).count == 5 && live.sink.events(2).count == 5 }
        #expect(live.sink.payloads(0).map { String(decoding: $0, as: UTF8.self) } == (1...5).map { #"{"n":\#($0)}"# })
        #expect(!(live.sink.events(0) + live.sink.events(2)).contains { $0.hasPrefix("gap") })
        #expect(live.sink.statuses.count { $0 == "connecting" } == 2)
    }

    @Test("C51: a room that the API puts us into while connected, though clients may not join it")
    func subscribedByAPI() async throws {
        guard let server = try await started() else { return }
        let live = try LiveConnection(port: server.port, rooms: rooms(["closed:api"])) { $0.policy.tokens = tokens() }
        try await eventually("the refusal") { live.sink.seen() == ["failed 103"] }
        try await server.api.call("subscribe", #"{"user":"bridge","channel":"closed:api"}"#)
        try await eventually("the join") { live.sink.seen().count == 2 }
        try await server.api.publish("closed:api", numbers: 1...1)
        try await eventually("the event") { live.sink.events().last?.hasPrefix("event ") == true }
    }

    @Test("C66: payloads that are no JSON, no UTF-8, null and 200 levels deep are delivered, and nobody is hurt")
    func oddPayloads() async throws {
        guard let server = try await started() else { return }
        let deep = [UInt8](repeating: UInt8(ascii: "["), count: 200) + [UInt8](repeating: UInt8(ascii: "]"), count: 200)
        let odd: [[UInt8]] = [
            Array("not JSON".utf8), [0, 1, 2, 0xff, 0x0a], [0x22, 0xc3, 0x28, 0x22], Array("null".utf8), deep,
            Array("{\"a\":1}\n".utf8),
        ]
        let live = try LiveConnection(port: server.port, rooms: rooms(["order:odd", "order:plain", "live:odd"]))
        try await eventually("the joins") { (0..<3).allSatisfy { live.sink.seen($0).count == 1 } }
        for bytes in odd {
            try await server.api.publish("order:odd", bytes: bytes)
            try await server.api.publish("live:odd", bytes: bytes)
        }
        try await server.api.publish("order:plain", numbers: 1...1)
        try await eventually("the events") {
            live.sink.payloads(0).count == odd.count && live.sink.payloads(2).count == odd.count
                && live.sink.payloads(1).count == 1
        }
        #expect(live.sink.payloads(0) == odd)
        #expect(live.sink.payloads(2) == odd)
        // Recovered and from the history as well.
        let late = try LiveConnection(port: server.port, rooms: rooms(["order:odd", "order:plain"], start: .earliest))
        try await eventually("the replay") { late.sink.payloads(0).count == odd.count }
        #expect(late.sink.payloads(0) == odd)
        #expect(live.sink.statuses == ["connecting", "connected"])
        #expect(late.sink.statuses == ["connecting", "connected"])
    }

    @Test("C67: an unsubscribe for a room that is not joined, and one without a room, change nothing")
    func strayUnsubscribes() async throws {
        guard let server = try await started() else { return }
        let live = try LiveConnection(port: server.port, rooms: rooms(["order:1", "nowhere:1"])) {
            $0.policy.tokens = tokens()
        }
        try await eventually("the outcomes") { live.sink.seen(0).count == 1 && live.sink.seen(1) == ["failed 102"] }
        for room in ["order:other", ""] {
            try await server.api.call("unsubscribe", #"{"user":"bridge","channel":"\#(room)"}"#)
        }
        try await server.api.publish("order:1", numbers: 1...1)
        try await eventually("the event") { live.sink.events(0).count == 1 }
        #expect(live.sink.seen(0).count == 2)
        #expect(live.sink.seen(1) == ["failed 102"])
        #expect(live.sink.statuses == ["connecting", "connected"])
    }

    @Test("C68: after an error answer to connect the real server is left at once, not when it gives up on us")
    func connectError() async throws {
        guard let server = try await started() else { return }
        let expired = RealServer.token(#""sub":"bridge""#, -10)
        let live = try LiveConnection(port: server.port, rooms: rooms(["order:1"])) {
            $0.policy.tokens = TokenSource(connection: { expired }, subscription: { _ in nil })
        }
        // It says nothing more and would close with 3502 after ten seconds.
        try await eventually(within: .seconds(5), "the end") { live.sink.statuses.last == "terminal 109" }
        #expect(!live.sink.statuses.contains("waiting 3502"))
    }
}

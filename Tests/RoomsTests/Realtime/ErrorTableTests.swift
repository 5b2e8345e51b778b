import BridgeTestSupport
import HubCore
import LocalHTTP
import RoomsRuntime
import Testing

import Rooms

/// The table of errors: what goes wrong, and what apps hear of it.
@Suite(.timeLimit(.minutes(2))) struct ErrorTableTests {
    private let hub: TestHub

    init() throws {
        hub = try TestHub { $0.faults = "127.0.0.1:0" }
    }

    private func client(_ change: (inout RealtimeOptions) -> Void = { _ in }) throws -> Realtime {
        var options = RealtimeOptions()
        options.token = RoomServer.token("ann")
        change(&options)
        return try Realtime(url: "ws://127.0.0.1:\(hub.port)/connection/websocket", options: options)
    }

    // MARK: refusals

    /// The fault of the hub, its code, and the room's error.
    static let refusals: [(fault: String, code: Int, error: String)] = [
        ("fail_subscribes", 103, "forbidden"), ("fail_subscribes", 102, "no_rule"), ("fail_subscribes", 450, "full"),
        ("fail_subscribes", 106, "full"), ("fail_subscribes", 101, "unauthorized"),
        ("fail_subscribes", 107, "bad_request"), ("fail_subscribes", 109, "expired"),
        ("fail_subscribes", 110, "expired"),
        ("fail_connects", 101, "unauthorized"), ("fail_connects", 103, "forbidden"),
        ("fail_connects", 107, "bad_request"), ("fail_connects", 109, "expired"),
        ("fail_connects", 3_500, "unauthorized"), ("fail_connects", 3_501, "bad_request"),
        ("fail_connects", 3_507, "forbidden"), ("fail_connects", 3_504, "full"), ("fail_connects", 3_505, "full"),
        ("fail_connects", 3_503, "kicked"), ("fail_connects", 4_500, "kicked"), ("fail_connects", 4_999, "kicked"),
    ]

    @Test("what is refused for good fails the room with its error", arguments: refusals)
    func refused(_ fault: String, _ code: Int, _ expected: String) async throws {
        try await hub.fault(fault, #"{"code":\#(code),"message":"it is so","count":1000}"#)
        let rt = try client()
        let heard = Heard()
        let room = rt.join("order:1", heard.listen)
        let error = await #expect(throws: RoomError.self) { try await room.ready() }
        #expect(error?.code.rawValue == expected && error?.message.isEmpty == false)
        #expect(room.state == .failed)
        let event = expected == "kicked" ? expected : "error \(expected)"
        try await heard.become([event])
        await rt.close()
    }

    @Test(
        "of a room that is in, an end by the server is its error",
        arguments: [
            (3_500, "error unauthorized"), (3_501, "error bad_request"), (3_507, "error forbidden"), (3_503, "kicked"),
            (4_500, "kicked"), (4_999, "kicked"),
        ]
    )
    func closed(_ code: Int, _ event: String) async throws {
        let rt = try client()
        let heard = Heard()
        let room = rt.join("order:1", heard.listen)
        try await room.ready()
        // Its own question is answered by then: a close over that would be another thing.
        _ = try await room.history()
        try await hub.fault("close", #"{"code":\#(code),"reason":"it is so"}"#)
        try await heard.become(["joined", event])
        #expect(room.state == .failed)
        await rt.close()
    }

    // MARK: trouble that passes

    /// The fault of the hub and what is said of it.
    static let troubles: [(fault: String, body: String)] = [
        ("fail_subscribes", #"{"code":100,"message":"internal server error","count":2}"#),
        ("fail_subscribes", #"{"code":111,"message":"too many requests","count":2}"#),
        ("fail_subscribes", #"{"code":3004,"message":"internal server error","count":2}"#),
        ("fail_subscribes", #"{"code":777,"message":"for now","count":2,"temporary":true}"#),
        ("fail_connects", #"{"code":100,"message":"internal server error","count":2}"#),
        ("fail_connects", #"{"code":3004,"message":"internal server error","count":2}"#),
        ("fail_connects", #"{"code":3001,"message":"shutdown","count":2}"#),
        ("refuse_upgrades", #"{"status":503,"count":2}"#),
    ]

    @Test("what may pass is unavailable, told once, and the room is joined when it has", arguments: troubles)
    func trouble(_ fault: String, _ body: String) async throws {
        try await hub.fault(fault, body)
        let rt = try client()
        let heard = Heard()
        let room = rt.join("order:1", heard.listen)
        try await room.ready()
        try await heard.become(["error unavailable", "joined"])
        await rt.close()
    }

    @Test("a server that does not answer is unavailable too", arguments: ["silence", "listener"])
    func noAnswer(_ fault: String) async throws {
        let body = fault == "silence" ? #"{"new":true}"# : #"{"address":"127.0.0.1:\#(hub.port)","refuse":true}"#
        try await hub.fault(fault, body)
        let rt = try client { $0.commandTimeout = 0.2 }
        let heard = Heard()
        let room = rt.join("order:1", heard.listen)
        try await heard.become(["error unavailable"])
        #expect(room.state == .joining)
        let back =
            fault == "silence"
            ? ("resume", "{}") : ("listener", #"{"address":"127.0.0.1:\#(hub.port)","refuse":false}"#)
        try await hub.fault(back.0, back.1)
        try await room.ready()
        try await heard.become(["error unavailable", "joined"])
        await rt.close()
    }

    @Test("a link that is lost and found again at once is no error")
    func lostAndFound() async throws {
        let rt = try client()
        let heard = Heard()
        let room = rt.join("order:1", heard.listen)
        try await room.ready()
        for round in 1...3 {
            try await hub.fault("cut", "{}")
            try await eventually("\(heard.all)") { heard.all.count == 1 + round }
        }
        #expect(heard.all == ["joined", "joined", "joined", "joined"])
        await rt.close()
    }

    // MARK: the auth route

    @Test(
        "what the auth route says of a room is its error, also what it made up",
        arguments: [
            "forbidden", "no_rule", "full", "expired", "unauthorized", "bad_request", "not_paid",
        ]
    )
    func byRoute(_ code: String) async throws {
        let route = try ScriptedRoute { connection, _ in
            let token = RoomServer.token("ann", room: "order:2")
            connection.answer(#"{"rooms":{"order:1":{"error":"\#(code)"},"order:2":{"token":"\#(token)"}}}"#)
        }
        let rt = try client { $0.auth = "http://127.0.0.1:\(route.port)/auth" }
        let (room, other) = (rt.join("order:1"), rt.join("order:2"))
        let heard = Heard(room)
        let error = await #expect(throws: RoomError.self) { try await room.ready() }
        #expect(error?.code.rawValue == code && room.state == .failed)
        try await heard.become(["error \(code)"])
        try await other.ready()
        await rt.close()
    }

    @Test("that the auth route has trouble with one room holds up no other")
    func routeTrouble() async throws {
        let route = try ScriptedRoute { connection, number in
            let rooms = (number < 1 ? [2] : [1, 2]).map {
                #""order:\#($0)":{"token":"\#(RoomServer.token("ann", room: "order:\($0)"))"}"#
            }
            let trouble = number < 1 ? [#""order:1":{"error":"unavailable"}"#] : []
            connection.answer(#"{"rooms":{\#((rooms + trouble).joined(separator: ","))}}"#)
        }
        let rt = try client { $0.auth = "http://127.0.0.1:\(route.port)/auth" }
        let (room, other) = (rt.join("order:1"), rt.join("order:2"))
        let heard = Heard(room)
        try await other.ready()
        try await room.ready()
        try await heard.become(["error unavailable", "joined"])
        await rt.close()
    }
}

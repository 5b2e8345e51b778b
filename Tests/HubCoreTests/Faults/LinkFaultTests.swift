import RoomsRuntime
import RoomsWire
import Testing

@testable import HubCore

/// S38 and S40: what can go wrong with a connection, as its client sees it.
@Suite struct LinkFaultTests {
    @Test(
        "S38: a connection is closed with any code that a close frame may carry",
        arguments: [
            (1_000, ""), (1_012, "service restart"), (3_004, "internal server error"), (3_503, ""), (4_999, "x"),
        ]
            as [(UInt16, String)]
    )
    func close(_ code: UInt16, _ reason: String) throws {
        let hub = try FaultyHub()
        let client = try hub.client()
        let result = try hub.fault("close", #"{"code":\#(code),"reason":"\#(reason)"}"#)
        #expect(result == #"{"connections":1}"#)
        let end = try client.wire.readToClose()
        #expect(end.code == code && end.reason.string == reason)
        try client.wire.readToEnd()
    }

    @Test("S38: a connection is cut without a word: an end, or a reset")
    func cut() throws {
        let hub = try FaultyHub()
        let (ended, reset) = (try hub.client(), try hub.client())
        try hub.fault("cut", #"{"client":"\#(ended.id)"}"#)
        try ended.wire.readToEnd()
        try hub.fault("cut", #"{"reset":true}"#)
        let error = #expect(throws: TestFailure.self) { try reset.wire.readToEnd() }
        #expect(error?.description.contains("reset") == true)
        #expect(try hub.report["connections"]?.elements?.count == 0)
    }

    @Test("who is meant: a client, a user, a listener, or all")
    func targets() throws {
        let hub = try FaultyHub(listeners: 2)
        let clients = [
            try hub.client(as: "alice"), try hub.client(as: "bob"), try hub.client(listener: 1, as: "alice"),
        ]
        let hits = [
            ("{}", 3), (#"{"user":"alice"}"#, 2), (#"{"client":"\#(clients[1].id)"}"#, 1), (#"{"user":"eve"}"#, 0),
            (#"{"listener":"\#(hub.addresses[0])"}"#, 2), (#"{"listener":"\#(hub.addresses[1])","user":"alice"}"#, 1),
            (#"{"client":"\#(clients[0].id)","user":"bob"}"#, 0),
        ]
        for (target, count) in hits { #expect(try hub.fault("resume", target) == #"{"connections":\#(count)}"#) }
        try hub.fault("close", #"{"code":3001,"user":"alice"}"#)
        #expect(try clients[0].wire.readToClose().code == 3_001 && clients[2].wire.readToClose().code == 3_001)
        _ = try clients[1].join("order:1")
    }

    @Test(
        "S38: silence: no answer, no push, no ping, and no end, until it is over",
        arguments: [WireFormat.protobuf, .json]
    )
    func silence(format: WireFormat) throws {
        let hub = try FaultyHub {
            $0.session.pingInterval = .milliseconds(50)
            $0.session.pongTimeout = .seconds(20)
        }
        let client = try hub.client(format: format)
        _ = try client.join("order:1")
        try hub.fault("silence")
        let unanswered = try client.send(.unsubscribe(channel: "order:1"))
        for _ in 0..<5 { try hub.publish("order:1") }
        let end = SystemClock.now + .milliseconds(500)
        var report: JSONNode?
        while SystemClock.now < end { report = try hub.report["connections"]?.elements?.first }
        #expect(report?["queued"]?.integer() == 0 && report?["faults"]?["silent"]?.bool == true)
        #expect(report?["rooms"]?.elements?.count == 1)
        try hub.fault("resume")
        let answered = try client.send(.presence(channel: "order:1"))
        var replies: [Reply] = []
        repeat { replies.append(try client.wire.next()) } while replies.last?.id != answered
        #expect(!replies.contains { $0.id == unanswered || $0.pushed != nil })
        // In that time there would have been ten.
        #expect(replies.count { $0 == .ping } < 8)
    }

    @Test("S38: a delayed link says everything later and in order", arguments: [WireFormat.protobuf, .json])
    func delay(format: WireFormat) throws {
        let hub = try FaultyHub()
        let client = try hub.client(format: format)
        _ = try client.join("order:1")
        try hub.fault("delay", #"{"by":"150ms"}"#)
        let start = SystemClock.now
        for number in 1...40 { try hub.publish("order:1", "\(number)") }
        #expect(try (1...40).map { _ in try client.nextOffset() } == Array(1...40))
        #expect(SystemClock.now - start >= .milliseconds(150))
        try hub.fault("delay", #"{"by":"1h"}"#)
        try hub.publish("order:1")
        let id = try client.send(.presence(channel: "order:1"))
        try hub.fault("resume")
        #expect(try client.nextOffset() == 41)
        #expect(try client.wire.next().id == id)
    }

    @Test("S38: a close waits for what a delayed link has not said yet")
    func delayedClose() throws {
        let hub = try FaultyHub()
        let client = try hub.client()
        _ = try client.join("order:1")
        try hub.fault("delay", #"{"by":"100ms"}"#)
        try hub.publish("order:1")
        _ = try hub.hub.api("disconnect", #"{"user":"","client":"\#(client.id)"}"#)
        let end = try client.wire.readToClose()
        #expect(end.code == 3_503 && end.replies.count == 1)
    }

    @Test("S40: paused writing ends with 3008, others are not held up")
    func pausedWriting() throws {
        let hub = try FaultyHub()
        let (slow, quick) = (try hub.client(), try hub.client())
        _ = (try slow.join("live:1"), try quick.join("live:1"))
        try hub.fault("pause", #"{"client":"\#(slow.id)","writing":true}"#)
        let data = "\"" + String(repeating: "x", count: 100_000) + "\""
        for _ in 0..<20 {
            try hub.publish("live:1", data)
            #expect(try quick.wire.next().pushed?.data.count == 100_002)
        }
        let end = try slow.wire.readToClose()
        #expect(end.code == 3_008 && end.reason == "slow" && end.replies.isEmpty)
    }

    @Test("S40: what was said during a pause comes when it is over")
    func resumedWriting() throws {
        let hub = try FaultyHub()
        let client = try hub.client()
        _ = try client.join("order:1")
        try hub.fault("pause", #"{"writing":true}"#)
        for _ in 0..<3 { try hub.publish("order:1") }
        let queued = try hub.report["connections"]?.elements?.first?["queued"]?.integer(as: Int.self)
        #expect(queued ?? 0 > 0)
        try hub.fault("pause", #"{"writing":false}"#)
        #expect(try (0..<3).map { _ in try client.nextOffset() } == [1, 2, 3])
    }

    @Test("S40: paused reading: pongs are not heard, 3012")
    func pausedReading() throws {
        let hub = try FaultyHub {
            $0.session.pingInterval = .milliseconds(200)
            $0.session.pongTimeout = .milliseconds(100)
        }
        let client = try hub.client()
        try hub.fault("pause", #"{"reading":true}"#)
        #expect(try client.wire.next() == .ping)
        try client.wire.send(.pong)
        #expect(try client.wire.readToClose().code == 3_012)
    }

    @Test("S40: what was sent during a pause is answered when it is over")
    func resumedReading() throws {
        let hub = try FaultyHub()
        let client = try hub.client()
        try hub.fault("pause", #"{"reading":true}"#)
        let id = try client.send(.unsubscribe(channel: "order:1"))
        #expect(try hub.report["connections"]?.elements?.first?["faults"]?["reading_paused"]?.bool == true)
        try hub.fault("resume")
        #expect(try client.wire.next().id == id)
    }

    @Test("S40: a throttled link carries so many bytes a second and loses none")
    func throttle() throws {
        let hub = try FaultyHub()
        let client = try hub.client()
        _ = try client.join("order:1")
        try hub.fault("throttle", #"{"bytes_per_second":400000}"#)
        let start = SystemClock.now
        let data = "\"" + String(repeating: "x", count: 10_000) + "\""
        for _ in 0..<20 { try hub.publish("order:1", data) }
        #expect(try (1...20).map { _ in try client.nextOffset() } == Array(1...20))
        // Half a second's worth, less the first share and what the link makes up for.
        #expect(SystemClock.now - start > .milliseconds(250))
    }

    @Test("faults for connections to come, on one listener")
    func newConnections() throws {
        let hub = try FaultyHub(listeners: 2)
        let result = try hub.fault("delay", #"{"by":"100ms","new":true,"listener":"\#(hub.addresses[1])"}"#)
        #expect(result == #"{"connections":0}"#)
        let start = SystemClock.now
        _ = try hub.client(listener: 1)
        #expect(SystemClock.now - start >= .milliseconds(100))
        _ = try hub.client(listener: 0)
        #expect(try hub.report["listeners"]?.elements?[1]["new"]?["delay_ms"]?.integer() == 100)
        try hub.fault("resume")
        _ = try hub.client(listener: 1)
        let delayed = try hub.report["connections"]?.elements?.filter { $0["faults"] != nil }
        #expect(delayed?.isEmpty == true)
    }

    @Test("a hub stops also with silent and paused connections")
    func stops() throws {
        let hub = try FaultyHub()
        let clients = [try hub.client(), try hub.client()]
        try hub.fault("silence", #"{"client":"\#(clients[0].id)"}"#)
        try hub.fault("pause", #"{"client":"\#(clients[1].id)","reading":true,"writing":true}"#)
        hub.hub.server.stop()
        for client in clients { #expect(try client.wire.readToClose().code == 3_001) }
    }
}

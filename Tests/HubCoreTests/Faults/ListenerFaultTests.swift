import Foundation
import RoomsRuntime
import RoomsWire
import Testing

@testable import HubCore

/// A hub on several addresses over the same rooms, each cut and refused alone.
@Suite struct ListenerFaultTests {
    private func isRefused(_ port: UInt16) -> Bool {
        do {
            _ = try SocketClient(port: port)
            return false
        } catch {
            return "\(error)".contains("refused")
        }
    }

    @Test("what is published on one address is heard on the others")
    func sharedRooms() throws {
        let hub = try FaultyHub(listeners: 3)
        #expect(Set(hub.addresses).count == 3)
        let clients = try (0..<3).map { try hub.client(listener: $0) }
        let epochs = try clients.map { try $0.join("order:1").epoch }
        #expect(Set(epochs).count == 1)
        try hub.publish("order:1")
        for client in clients { #expect(try client.nextOffset() == 1) }
        try clients[2].send(.publish(channel: "order:1", data: [0x31]))
        for client in clients { #expect(try client.nextOffset() == 2) }
    }

    @Test("a move: one address is cut and refused, the client goes on at the other and has lost nothing")
    func move() throws {
        let hub = try FaultyHub(listeners: 2)
        let (first, other) = (try hub.client(listener: 0), try hub.client(listener: 1))
        let epoch = try first.join("order:1").epoch
        _ = try other.join("order:1")
        for _ in 0..<3 { try hub.publish("order:1") }
        #expect(try (0..<3).map { _ in try first.nextOffset() } == [1, 2, 3])
        let result = try hub.fault("listener", #"{"address":"\#(hub.addresses[0])","refuse":true,"cut":true}"#)
        #expect(result == #"{"connections":1}"#)
        try first.wire.readToEnd()
        #expect(isRefused(try hub.port(0)))
        // The hub itself and who was at the other address go on.
        let body = #"{"channel":"order:1","data":1}"#
        let published = try FaultyHub.request(hub.port(1), "POST /api/publish", body, ["X-API-Key: api-key-for-tests"])
        #expect(published.body.hasPrefix(#"{"result":{"offset":4"#))
        #expect(try (0..<4).map { _ in try other.nextOffset() } == [1, 2, 3, 4])
        let second = try hub.client(listener: 1)
        let joined = try second.join("order:1", since: StreamPosition(offset: 3, epoch: epoch))
        #expect(joined.recovered && joined.publications.map(\.offset) == [4])
        // And back again, on the same port.
        try hub.fault("listener", #"{"address":"\#(hub.addresses[0])","refuse":false}"#)
        let third = try hub.client(listener: 0)
        #expect(try third.join("order:1", since: StreamPosition(offset: 3, epoch: epoch)).recovered)
    }

    @Test("refused alone: who is there stays; cut alone: who comes is let in")
    func each() throws {
        let hub = try FaultyHub()
        let address = hub.addresses[0]
        let client = try hub.client()
        for _ in 0..<2 { try hub.fault("listener", #"{"address":"\#(address)","refuse":true}"#) }
        #expect(isRefused(try hub.port(0)))
        #expect(try hub.report["listeners"]?.elements?[0]["refuses"]?.bool == true)
        #expect(try client.join("order:1").positioned)
        for _ in 0..<2 { try hub.fault("listener", #"{"address":"\#(address)","refuse":false}"#) }
        try hub.publish("order:1")
        #expect(try client.nextOffset() == 1)
        try hub.fault("listener", #"{"address":"\#(address)","cut":true,"reset":true}"#)
        #expect(throws: TestFailure.self) { try client.wire.readToEnd() }
        _ = try hub.client().join("order:1")
    }

    @Test("an address that refuses keeps its port, also over many turns, and a hub that refuses stops")
    func port() throws {
        let hub = try FaultyHub(listeners: 2)
        for round in 0..<20 {
            let client = try hub.client(listener: 0)
            let how = round.isMultiple(of: 2) ? #","cut":true"# : ""
            try hub.fault("listener", #"{"address":"\#(hub.addresses[0])","refuse":true\#(how)}"#)
            #expect(isRefused(try hub.port(0)))
            if round.isMultiple(of: 2) { try client.wire.readToEnd() }
            try hub.fault("reset")
        }
        try hub.fault("listener", #"{"address":"\#(hub.addresses[0])","refuse":true}"#)
        hub.hub.server.stop()
        for port in [try hub.port(0), try hub.port(1), hub.faultPort] { #expect(isRefused(port)) }
    }
}

import BridgeModel
import BridgeTestSupport
import RoomsRuntime
import RoomsTransport
import Testing

@testable import BridgeDelivery

/// Receivers that take their time with every byte.
@Suite(.timeLimit(.minutes(1))) struct SlowAnswerTests {
    /// One byte after the other, as long as the peer listens.
    private static func drip(_ text: String, on connection: RawConnection) {
        for byte in text.utf8 {
            connection.write([byte])
            if connection.hasInput(within: .milliseconds(20)) { return }
        }
    }

    @Test("a head that drips ends at its time, and the event is tried again")
    func endsSlowHead() async throws {
        let receiver = try RawReceiver { peer in
            while let request = peer.read() {
                guard request.attempt == 1 else {
                    peer.connection.answer()
                    continue
                }
                return Self.drip("HTTP/1.1 200 OK\r\nx: " + String(repeating: "y", count: 1_000), on: peer.connection)
            }
        }
        let rig = DeliveryRig(port: receiver.port) { $0.timeouts.head = .milliseconds(200) }
        rig.publish()
        try await rig.settleAll()
        await rig.stop()
        #expect(receiver.story == [[1, 1, 1], [1, 2, 2]])
        receiver.stop()
    }

    @Test("a body that drips ends at its time, and the status counts", arguments: [(200, 1), (500, 2)])
    func endsSlowBody(status: Int, attempts: Int) async throws {
        let receiver = try RawReceiver { peer in
            while let request = peer.read() {
                guard request.seq == 1, request.attempt == 1 else {
                    peer.connection.answer()
                    continue
                }
                peer.connection.write("HTTP/1.1 \(status) X\r\ncontent-length: 1000\r\n\r\n")
                return Self.drip(String(repeating: "y", count: 1_000), on: peer.connection)
            }
        }
        let rig = DeliveryRig(port: receiver.port) {
            $0.timeouts.head = .milliseconds(200)
            $0.timeouts.total = .milliseconds(600)
        }
        rig.publish(count: 2)
        try await rig.settleAll()
        await rig.stop()
        #expect(receiver.requests.map(\.seq) == [1, 1, 2].suffix(attempts + 1))
        // Longer than a head may take, and no longer than all of it.
        let wait = receiver.requests[1].arrived - receiver.requests[0].arrived
        #expect(wait > .milliseconds(550) && wait < .seconds(10))
        receiver.stop()
    }

    @Test("a receiver that hardly reads ends at its time, and others go on meanwhile")
    func endsSlowReader() async throws {
        let text = "\"" + String(repeating: "0123456789", count: 800_000) + "\""
        let receiver = try RawReceiver(window: 256 * 1024) { peer in
            while let request = peer.readHead() {
                let length = request.fields["content-length"].flatMap { Int($0) } ?? 0
                guard request.room == "room:1", request.attempt == 1 else {
                    _ = peer.connection.read(exactly: length)
                    peer.connection.answer()
                    continue
                }
                // Too little ever to come to the end.
                for _ in 0..<200 {
                    guard !peer.connection.read(1_024).isEmpty else { return }
                    spin(.milliseconds(2))
                }
                _ = peer.readRest()
                return
            }
        }
        let rig = DeliveryRig(port: receiver.port) { $0.timeouts.head = .milliseconds(400) }
        rig.publish(room: 1, Sample.event(text))
        try await eventually("the large one") { receiver.requests.count == 1 }
        rig.publish(room: 2, count: 5)
        try await rig.settleAll()
        await rig.stop()
        let attempts = receiver.requests.filter { $0.room == "room:1" }
        #expect(attempts.map(\.attempt) == [1, 2])
        #expect(receiver.requests.filter { $0.room == "room:2" && $0.arrived < attempts[1].arrived }.count == 5)
        receiver.stop()
    }
}

import BridgeModel
import BridgeTestSupport
import RoomsRuntime
import RoomsTransport
import Testing

@testable import BridgeDelivery

/// Real HTTP servers, each with answers of all its kinds, that end kept connections in their own ways.
@Suite(.timeLimit(.minutes(2))) struct RealReceiverTests {
    @Test(
        "a real server gets every event once, in order, whatever it does with its connections",
        arguments: RealReceiver.Server.allCases
    )
    func delivers(server: RealReceiver.Server) async throws {
        guard let receiver = try await RealReceiver(server) else { return }
        let rig = DeliveryRig(port: receiver.port) { $0.concurrency = 3 }
        var random = SeededRandom(seed: 5)
        var count = 0
        for _ in 0..<40 {
            // Around the time after which the server ends a connection that is not used.
            let next = SystemClock.now + .milliseconds(Int.random(in: 0...60, using: &random))
            try await eventually("a moment") { SystemClock.now >= next }
            let burst = Int.random(in: 1...6, using: &random)
            for _ in 0..<burst { for room in 1...4 { rig.publish(room: Int64(room)) } }
            count += burst
            try await rig.settleAll()
        }
        await rig.stop()
        try await receiver.stop()
        for room in 1...4 {
            let entries = receiver.entries.filter { $0.room == "room:\(room)" }
            #expect(entries.map(\.seq) == Array(1...count))
            #expect(Set(entries.map(\.attempt)) == [1])
        }
        #expect(rig.lines.lines.isEmpty)
    }
}

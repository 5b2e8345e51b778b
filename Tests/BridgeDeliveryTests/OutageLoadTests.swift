import BridgeModel
import BridgeTestSupport
import RoomsRuntime
import RoomsTransport
import Testing

@testable import BridgeDelivery

/// What an endpoint that is down costs while very many rooms wait for it: one connect for each wait.
@Suite(.timeLimit(.minutes(1))) struct OutageLoadTests {
    @Test(
        "10,000 rooms that wait for an endpoint that is down make one connect for each wait",
        arguments: [false, true]
    )
    func connectsOnce(isEncrypted: Bool) async throws {
        // It hangs up on every connection: in the middle of the handshake, or without an answer.
        let server = try RawServer { _ = $0.read(1) }
        let security: StreamTarget.Security = isEncrypted ? .tls(TLSSettings()) : .plain
        let rig = DeliveryRig(StreamTarget(host: "127.0.0.1", port: server.port, security: security)) {
            $0.retry = RetrySchedule(base: .milliseconds(10), cap: .milliseconds(50))
        }
        for room in 1...10_000 { rig.publish(room: Int64(room)) }
        try await eventually(within: .seconds(30), "many waits") { rig.store.state.withLock { $0.waits } >= 25 }
        await rig.stop()
        // At first as many as may be in flight, two of which the endpoint has to fail; and no wait without an attempt.
        let (waits, connects) = (rig.store.state.withLock { $0.waits }, server.connections)
        #expect(connects <= waits + 8)
        #expect(connects >= waits - 1)
        #expect(rig.store.state.withLock { $0.settlements.isEmpty })
        #expect(rig.lines.lines.count <= 3)
        server.stop()
    }

    @Test(
        "in an hour there are no more attempts than waits, each for another room, and one at a time",
        arguments: 1...5 as ClosedRange<UInt64>
    )
    func probes(seed: UInt64) {
        let simulation = EndpointSimulation(seed: seed) { _ in .unreachable }
        for room in 1...10_000 { simulation.commit(Int64(room)) }
        simulation.run(until: .seconds(3_600))
        #expect(simulation.complaint == nil)
        // The first eight together, then after 0.25, 0.5, 1, 2, 4, 8 and each 15 s at the least; at the most after twice that.
        #expect(simulation.requests.count <= 8 + 6 + 240)
        #expect(simulation.requests.count >= 8 + 6 + 118)
        let probes = simulation.requests.dropFirst(8)
        for (earlier, later) in zip(probes, probes.dropFirst()) { #expect(later.at - earlier.at >= .milliseconds(250)) }
        #expect(Set(probes.map(\.room)).count == probes.count)
        #expect(simulation.changes.count == 1)
    }
}

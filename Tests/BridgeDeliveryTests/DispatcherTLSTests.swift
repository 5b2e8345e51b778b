import BridgeTestSupport
import RoomsRuntime
import RoomsTransport
import Testing

@testable import BridgeDelivery

@Suite(.timeLimit(.minutes(1))) struct DispatcherTLSTests {
    @Test("events arrive over TLS, one connection for all")
    func delivers() async throws {
        let authority = try await TestAuthority()
        let receiver = try ScriptedReceiver { _ in .ok }
        let front = try await TLSFront(to: receiver.port, certificate: try await authority.issue("front"))
        let settings = TLSSettings(authorityFile: authority.file)
        let rig = DeliveryRig(StreamTarget(host: "localhost", port: front.port, security: .tls(settings)))
        rig.publish(count: 30)
        rig.publish(room: 2, count: 2, Sample.event("\"" + String(repeating: "x", count: 1_000_000) + "\""))
        try await rig.settleAll()
        await rig.stop()
        #expect(receiver.requests.filter { $0.room == "room:1" }.map(\.seq) == Array(1...30))
        #expect(receiver.requests.filter { $0.room == "room:2" }.map(\.body.count).allSatisfy { $0 > 1_000_000 })
        // One for each room at most; kept, or there would be thirty-two.
        #expect((1...2).contains(receiver.connections))
        #expect(rig.lines.lines.isEmpty)
        receiver.stop()
    }

    @Test("a certificate of somebody else's holds the endpoint, and no event goes out")
    func refusesForeignCertificate() async throws {
        let authority = try await TestAuthority()
        let other = try await TestAuthority()
        let receiver = try ScriptedReceiver { _ in .ok }
        let front = try await TLSFront(to: receiver.port, certificate: try await authority.issue("front"))
        let settings = TLSSettings(authorityFile: other.file)
        let rig = DeliveryRig(StreamTarget(host: "localhost", port: front.port, security: .tls(settings)))
        rig.publish(count: 2)
        try await eventually("the line") { !rig.lines.lines.isEmpty }
        await rig.stop()
        #expect(rig.lines.lines.first?.contains("check the certificate") == true)
        #expect(receiver.requests.isEmpty)
        receiver.stop()
    }
}

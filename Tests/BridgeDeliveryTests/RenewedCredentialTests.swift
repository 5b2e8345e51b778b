import BridgeTestSupport
import Foundation
import RoomsRuntime
import RoomsTransport
import Testing

@testable import BridgeDelivery

@Suite(.timeLimit(.minutes(1))) struct RenewedCredentialTests {
    private static func bearer(_ token: String) -> EndpointCredentials {
        EndpointCredentials(headers: [EndpointSettings.Header(name: "authorization", value: Secret("Bearer \(token)"))])
    }

    @Test("a request on its way ends as it began, the next one has the new secret, on the same connection")
    func secrets() async throws {
        let receiver = try ScriptedReceiver { $0.seq == 2 ? .hold : .ok }
        let rig = DeliveryRig(port: receiver.port) { $0.use(Self.bearer("a")) }
        rig.publish()
        try await rig.settleAll()
        rig.publish()
        try await eventually("a request on its way") { receiver.requests.count == 2 }
        await rig.renew(Self.bearer("b"))
        rig.publish()
        receiver.release()
        try await rig.settleAll()
        await rig.stop()
        #expect(receiver.requests.map { $0.fields["authorization"] ?? "" } == ["Bearer a", "Bearer a", "Bearer b"])
        #expect(receiver.connections == 1)
        receiver.stop()
    }

    @Test("other certificates end idle connections at once, and busy ones with their request")
    func certificates() async throws {
        let authority = try await TestAuthority()
        let (receiver, other) = (try ScriptedReceiver { $0.seq == 2 ? .hold : .ok }, try await TestAuthority())
        let front = try await TLSFront(to: receiver.port, certificate: try await authority.issue("front"))
        let good = TLSSettings(authorityFile: authority.file)
        let rig = DeliveryRig(StreamTarget(host: "localhost", port: front.port, security: .tls(good)))
        rig.publish()
        try await rig.settleAll()
        rig.publish()
        try await eventually("a request on its way") { receiver.requests.count == 2 }
        // The same authority, told in another way.
        let text = try String(contentsOfFile: authority.file, encoding: .utf8)
        await rig.renew(EndpointCredentials(tls: TLSSettings(authorities: ByteString(text))))
        #expect(receiver.connections == 1)
        receiver.release()
        try await rig.settleAll()
        rig.publish()
        try await rig.settleAll()
        #expect(receiver.requests.map(\.connection) == [1, 1, 2])
        // Idle now: no event goes over it to somebody whom nobody vouches for any more.
        await rig.renew(EndpointCredentials(tls: TLSSettings(authorityFile: other.file)))
        rig.publish()
        try await eventually("the line") { rig.lines.lines.contains { $0.contains("check the certificate") } }
        await rig.renew(EndpointCredentials(tls: good))
        try await rig.settleAll()
        await rig.stop()
        #expect(receiver.requests.map(\.seq) == [1, 2, 3, 4])
        receiver.stop()
    }
}

internal import BridgeTestSupport
internal import RoomsRuntime
internal import Testing

extension EndToEnd {
    /// `wss://` through a front that would rather speak HTTP/2.
    @Suite(.timeLimit(.minutes(1))) struct SecureServerTests {
        @Test func `events arrive over TLS although nginx offers h2`() async throws {
            let hub = try HubProcess()
            try await hub.start()
            guard let front = try await TLSFront(for: hub) else { return }
            let receiver = try RecordingReceiver()
            var setup = BridgeSetup(url: "wss://localhost:\(front.port)/connection/websocket")
            setup.server = #", "ca": "\#(front.certificate)""#
            setup.add(endpoint: "test", for: receiver.address, rooms: ["order:1"], from: "earliest")
            let bridge = try BridgeProcess(setup)
            try await bridge.start()
            let sent = try await CentPublisher.publish([#"{"channel":"order:1","data":{"n":1}}"#], to: hub)
            try await bridge.eventually("the event") { receiver.acceptedCount == 1 }
            let body = try #require(receiver.requests.first?.message.body)
            #expect(JSONSlice(body)["data"]?["data"]?.raw == sent.first?.sent)
            let exit = try await bridge.terminate()
            #expect(exit == .status(0), "\(bridge.log)")
            try await hub.stop()
        }

        @Test func `a certificate that nobody vouches for is refused, and said`() async throws {
            let hub = try HubProcess()
            try await hub.start()
            guard let front = try await TLSFront(for: hub) else { return }
            let receiver = try RecordingReceiver()
            var setup = BridgeSetup(url: "wss://localhost:\(front.port)/connection/websocket")
            setup.add(endpoint: "test", for: receiver.address, rooms: ["order:1"], from: "earliest")
            let bridge = try BridgeProcess(setup)
            try await bridge.start()
            _ = try await bridge.line(containing: "certificate")
            let exit = try await bridge.terminate()
            #expect(exit == .status(0), "\(bridge.log)")
            try await hub.stop()
        }
    }
}

/// nginx with TLS and HTTP/2 in front of a server, with a certificate made for this test.
final class TLSFront {
    private let held: HeldPort
    private let folder: TemporaryDirectory
    private let nginx: NginxProcess
    let certificate: String

    var port: UInt16 { held.number }

    init?(for server: some RealtimeServer) async throws {
        held = try HeldPort()
        folder = try TemporaryDirectory()
        certificate = folder.file("certificate.pem")
        let openssl = try ChildProcess(
            "openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
                "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout",
                folder.file("key.pem"), "-out", certificate,
            ]
        )
        guard try await openssl.wait() == .status(0) else { throw ChildProcess.Failure(openssl.output) }
        let lines = """
            listen 127.0.0.1:\(held.number) ssl http2;
                ssl_certificate \(certificate); ssl_certificate_key \(folder.file("key.pem"));
                location / {
                  proxy_pass http://127.0.0.1:\(server.port); proxy_http_version 1.1; proxy_read_timeout 60s;
                  proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection "Upgrade";
                }
            """
        guard let nginx = try NginxProcess(folder: folder, server: lines) else { return nil }
        self.nginx = nginx
        try await nginx.waitUntilListening(on: .loopback(port: held.number))
    }
}

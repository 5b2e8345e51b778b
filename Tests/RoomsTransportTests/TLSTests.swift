import BridgeTestSupport
import Foundation
import RoomsRuntime
import RoomsTransport
import Testing

@Suite(.timeLimit(.minutes(3))) struct TLSTests {
    private let client = TestTransport()

    private func target(_ port: UInt16, _ authority: TestAuthority?, host: String = "localhost") -> StreamTarget {
        StreamTarget(
            host: ByteString(host),
            port: port,
            security: .tls(TLSSettings(authorityFile: authority?.file))
        )
    }

    private static func echo() throws -> RawServer {
        try RawServer { connection in
            while case let bytes = connection.read(), !bytes.isEmpty { connection.write(bytes) }
        }
    }

    @Test("A WebSocket works over TLS when the certificate is right, and its end is seen")
    func webSocket() async throws {
        let authority = try await TestAuthority()
        let server = try RawServer { connection in
            ServerSocket.upgrade(connection)
            let socket = ServerSocket(connection)
            if case .binary(let message)? = socket.receive() { socket.send(message.reversed()) }
            socket.close(3_001, "shutdown")
            _ = socket.receive()
        }
        let front = try await TLSFront(to: server.port, certificate: authority.issue("server"))
        var options = WebSocketOptions(subprotocol: "test")
        options.tls.authorityFile = authority.file
        for host in ["localhost", "127.0.0.1"] {
            let probe = try await SocketProbe(client, "wss://\(host):\(front.port)/", options)
            try await probe.opened()
            try await probe.send([1, 2, 3])
            #expect(try await probe.ended() == .closed(code: 3_001, reason: "shutdown"))
            #expect(probe.seen.messages == [[3, 2, 1]])
        }
    }

    @Test("A certificate that does not fit is refused: another host, run out, self-signed, unknown authority")
    func badCertificates() async throws {
        let authority = try await TestAuthority()
        let other = try await TestAuthority()
        // A wrong host shows only behind the handshake, so a connection may come, but no byte.
        let received = Lock(0)
        let server = try RawServer { connection in
            let count = connection.read().count
            received.withLock { $0 += count }
        }
        let certificates = [
            try await authority.issue("host", for: "DNS:example.org"),
            try await authority.issue("old", isExpired: true),
            try await authority.selfSigned("self"),
            try await other.issue("other"),
        ]
        let words = ["localhost", "expired", "self-signed", "issuer"]
        for (certificate, word) in zip(certificates, words) {
            let front = try await TLSFront(to: server.port, certificate: certificate)
            let error = await client.failure(target(front.port, authority))
            #expect(error?.code == .tls)
            #expect(error?.message.contains(word) == true, "\(error?.message ?? "no error") has \(word)")
        }
        let front = try await TLSFront(to: server.port, certificate: authority.issue("server"))
        #expect(await client.failure(target(front.port, nil))?.code == .tls)
        #expect(received.withLock { $0 } == 0)
    }

    @Test("An authority file that is not there, and a server without TLS, are TLS errors")
    func noTLS() async throws {
        let server = try RawServer { connection in
            _ = connection.read()
            connection.write("HTTP/1.1 400 Bad Request\r\n\r\n")
        }
        let plain = await client.failure(target(server.port, try await TestAuthority()))
        #expect(plain?.code == .tls)
        let settings = TLSSettings(authorityFile: "/nonexistent/ca.pem")
        let missing = StreamTarget(host: "localhost", port: server.port, security: .tls(settings))
        #expect(await client.failure(missing)?.code == .tls)
    }

    @Test("A server that asks for a certificate gets the client's")
    func clientCertificate() async throws {
        let authority = try await TestAuthority()
        let server = try Self.echo()
        let front = try await TLSFront(
            to: server.port,
            certificate: authority.issue("server"),
            clientAuthority: authority.file
        )
        let own = try await authority.issue("client")
        let settings = TLSSettings(
            authorityFile: authority.file,
            identity: ClientIdentity(
                certificates: try ByteString(String(contentsOfFile: own.certificateFile, encoding: .utf8)),
                key: try Secret(String(contentsOfFile: own.keyFile, encoding: .utf8))
            )
        )
        let probe = try await client.connect(
            StreamTarget(host: "localhost", port: front.port, security: .tls(settings))
        )
        try await probe.sendAll([1, 2, 3])
        try await eventually { probe.seen.bytes == [1, 2, 3] }
        try await probe.close()
    }

    @Test("One read for each event gets all that has come, also behind a pause", arguments: [1_000, 16_384, 65_536])
    func heldBytes(readAtOnce: Int) async throws {
        let authority = try await TestAuthority()
        let server = try Self.echo()
        let front = try await TLSFront(to: server.port, certificate: authority.issue("server"))
        let probe = try await client.connect(target(front.port, authority), readAtOnce: readAtOnce)
        let bytes = (0..<readAtOnce * 100).map { UInt8(truncatingIfNeeded: $0 >> 4) }
        try await probe.sendAll(bytes)
        try await eventually { probe.seen.bytes.count >= readAtOnce }
        try await probe.rewatch([])
        let paused = probe.seen.bytes.count
        for _ in 0..<3 { try await client.loop.run {} }
        #expect(probe.seen.bytes.count == paused)
        try await probe.rewatch(.readable)
        try await eventually("all of it") { probe.seen.bytes.count == bytes.count }
        #expect(probe.seen.bytes == bytes)
        try await probe.close()
    }

    @Test("Bytes that TLS has decrypted before a pause are reported behind it, though the descriptor stays silent")
    func heldBytesBehindPause() async throws {
        let authority = try await TestAuthority()
        let server = try Self.echo()
        let front = try await TLSFront(to: server.port, certificate: authority.issue("server"))
        let probe = try await client.connect(target(front.port, authority), readAtOnce: 1_000, pauseAt: 1)
        let bytes = (0..<10_000).map { UInt8(truncatingIfNeeded: $0 >> 3) }
        try await probe.sendAll(bytes)
        try await eventually { !probe.seen.bytes.isEmpty }
        #expect(probe.seen.bytes.count == 1_000)
        let second = try await client.connect(target(front.port, authority))
        try await second.sendAll([1])
        try await eventually { second.seen.bytes == [1] }
        #expect(probe.seen.bytes.count == 1_000)
        for count in 2...10 {
            try await probe.rewatch(.readable)
            try await eventually("read \(count)") { probe.seen.bytes.count == count * 1_000 }
        }
        #expect(probe.seen.bytes == bytes)
        for probe in [probe, second] { try await probe.close() }
    }

    @Test("What TLS has begun to write goes out unchanged, however the sender's buffers move")
    func movingBuffers() async throws {
        let authority = try await TestAuthority()
        let total = 6 * 1024 * 1024
        let received = Lock<[UInt8]>([])
        let server = try RawServer { connection in
            let bytes = connection.read(exactly: total)
            received.withLock { $0 = bytes }
            connection.write("got it")
        }
        let front = try await TLSFront(to: server.port, certificate: authority.issue("server"))
        let probe = try await client.connect(target(front.port, authority))
        let bytes = (0..<total).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 13) }
        var sent = try await probe.send(Array(bytes[..<1_000]))
        front.pause()
        try await eventually("a full connection") {
            let more = try await probe.send(Array(bytes[sent..<min(total, sent + 100_000)]))
            sent += more
            return more == 0
        }
        #expect(sent < total)
        front.resume()
        try await probe.sendAll(Array(bytes[sent...]))
        try await eventually(within: .seconds(60), "the answer") { probe.seen.text == "got it" }
        #expect(received.withLock { $0 } == bytes)
        try await probe.close()
    }

    @Test("The last bytes go out without another call")
    func lastBytes() async throws {
        let authority = try await TestAuthority()
        let received = Lock(0)
        let server = try RawServer { connection in
            while case let bytes = connection.read(), !bytes.isEmpty { received.withLock { $0 += bytes.count } }
        }
        let front = try await TLSFront(to: server.port, certificate: authority.issue("server"))
        let probe = try await client.connect(target(front.port, authority))
        front.pause()
        var sent = 0
        try await eventually("a full connection") {
            let more = try await probe.send([UInt8](repeating: 1, count: 50_000))
            sent += more
            return more == 0
        }
        front.resume()
        let total = sent
        try await eventually(within: .seconds(60)) { received.withLock { $0 } == total }
        try await probe.close()
    }

    @Test("Connections that wait idle live on while others are made, and one that died meanwhile is told of")
    func idleConnections() async throws {
        let authority = try await TestAuthority()
        let gate = Gate()
        let server = try RawServer { connection in
            if connection.read(1) == [0] {
                gate.wait()
                return
            }
            connection.write([9])
            _ = connection.read(1)
        }
        let front = try await TLSFront(to: server.port, certificate: authority.issue("server"))
        let target = target(front.port, authority)
        let idle = try await client.connect(target, pauseAt: 0)
        let dying = try await client.connect(target)
        let start = SystemClock.now
        _ = try await dying.send([0])
        // libcurl looks for dead connections once a second, when it makes a new one.
        try await eventually { SystemClock.now - start > .milliseconds(1_200) }
        gate.open()
        try await eventually { dying.seen.hasEnded || dying.seen.error != nil }
        let other = try await client.connect(target)
        _ = try await other.send([1])
        _ = try await idle.send([1])
        try await eventually { other.seen.bytes == [9] }
        try await eventually("the idle connection's answer") {
            try await idle.rewatch(.readable)
            return idle.seen.bytes == [9]
        }
        for probe in [idle, dying, other] { try await probe.close() }
    }

    @Test("Behind a front that offers HTTP/2 the client speaks HTTP/1.1 and lives")
    func offersHTTP2() async throws {
        guard let nginx = try RequiredProgram.nginx.find() else { return }
        let authority = try await TestAuthority()
        let certificate = try await authority.issue("server")
        let directory = try TemporaryDirectory()
        let port = try HeldPort()
        let server = try RawServer { connection in
            let head = ServerSocket.upgrade(connection)
            let socket = ServerSocket(connection)
            if case .binary(let message)? = socket.receive() { socket.send(message + head.utf8) }
            _ = socket.receive()
        }
        let configuration = """
            daemon off;
            master_process off;
            pid \(directory.file("pid"));
            error_log stderr;
            events {}
            http {
                access_log \(directory.file("access")) combined;
                log_format protocols "$ssl_alpn_protocol $server_protocol";
                client_body_temp_path \(directory.path); proxy_temp_path \(directory.path);
                fastcgi_temp_path \(directory.path); uwsgi_temp_path \(directory.path); scgi_temp_path \(directory.path);
                server {
                    listen 127.0.0.1:\(port.number) ssl http2;
                    ssl_certificate \(certificate.certificateFile);
                    ssl_certificate_key \(certificate.keyFile);
                    access_log \(directory.file("protocols")) protocols;
                    location / {
                        proxy_pass http://127.0.0.1:\(server.port);
                        proxy_http_version 1.1;
                        proxy_set_header Upgrade $http_upgrade;
                        proxy_set_header Connection $http_connection;
                        proxy_set_header Host $http_host;
                    }
                }
            }
            """
        let child = try ChildProcess(
            nginx,
            ["-c", directory.write(configuration, to: "nginx.conf"), "-p", directory.path]
        )
        var options = WebSocketOptions(subprotocol: "test")
        options.tls.authorityFile = authority.file
        try await eventually("nginx listens") {
            if child.exit != nil { throw ChildProcess.Failure(child.output) }
            return await client.failure(StreamTarget(host: "127.0.0.1", port: port.number)) == nil
        }
        let probe = try await SocketProbe(client, "wss://localhost:\(port.number)/chat?x=y", options)
        try await probe.opened()
        try await probe.send([1, 2])
        try await eventually { !probe.seen.messages.isEmpty }
        #expect(probe.seen.messages[0].starts(with: [1, 2] + Array("GET /chat?x=y HTTP/1.1\r\n".utf8)))
        try await probe.perform { $0.close(code: 1_000) }
        _ = try await probe.ended()
        try await eventually("the access log") {
            try String(contentsOfFile: directory.file("protocols"), encoding: .utf8).contains("HTTP/1.1")
        }
        let log = try String(contentsOfFile: directory.file("protocols"), encoding: .utf8)
        #expect(log == "http/1.1 HTTP/1.1\n")
        try await child.kill()
    }
}

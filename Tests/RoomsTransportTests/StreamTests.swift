import BridgeTestSupport
import Glibc
import RoomsRuntime
import RoomsTransport
import Testing

@Suite(.timeLimit(.minutes(2))) struct StreamTests {
    private let client = TestTransport()

    @Test("Bytes go both ways over TCP, and the end is seen")
    func tcp() async throws {
        let server = try RawServer { connection in
            connection.write(connection.read(exactly: 5).reversed())
        }
        let probe = try await client.connect(StreamTarget(host: "127.0.0.1", port: server.port))
        #expect(try await probe.send(Array("hello".utf8)) == 5)
        try await eventually { probe.seen.hasEnded }
        #expect(probe.seen.text == "olleh")
        #expect(probe.seen.error == nil)
        try await probe.close()
    }

    @Test("Bytes go both ways over a Unix socket")
    func unix() async throws {
        let directory = try TemporaryDirectory()
        let server = try RawServer(unixPath: directory.file("s")) { connection in
            connection.write(connection.read(exactly: 5).reversed())
        }
        let probe = try await client.connect(StreamTarget(unixPath: ByteString(directory.file("s"))))
        #expect(try await probe.send(Array("hello".utf8)) == 5)
        try await eventually { probe.seen.hasEnded }
        #expect(probe.seen.text == "olleh")
        #expect(server.connections == 1)
        try await probe.close()
    }

    @Test("A name is resolved")
    func name() async throws {
        let server = try RawServer { $0.write("hi") }
        let probe = try await client.connect(StreamTarget(host: "localhost", port: server.port))
        try await eventually { probe.seen.text == "hi" }
        try await probe.close()
    }

    @Test("A socket file without a listener, none at all, and one that is not ours are told apart")
    func unixErrors() async throws {
        let directory = try TemporaryDirectory()
        let server = try RawServer(unixPath: directory.file("dead")) { _ in }
        server.stop()
        try await eventually("the end of the listener") {
            await client.failure(StreamTarget(unixPath: ByteString(directory.file("dead"))))?.code == .refused
        }
        let missing = await client.failure(StreamTarget(unixPath: ByteString(directory.file("missing"))))
        #expect(missing?.code == .noSuchSocket)
        #expect(missing?.message.contains("/missing: there is no such file") == true)
        try directory.write("", to: "file")
        #expect(await client.failure(StreamTarget(unixPath: ByteString(directory.file("file"))))?.code == .refused)
    }

    @Test("A path longer than a socket address is refused with its length")
    func longPath() async throws {
        let path = "/" + String(repeating: "x", count: 199)
        let error = await client.failure(StreamTarget(unixPath: ByteString(path)))
        #expect(error?.code == .invalidTarget)
        #expect(error?.isRetriable == false)
        #expect(error?.message == "the path of a Unix socket has 1 to 107 bytes; this one has 200")
    }

    @Test("A path of exactly 107 bytes works")
    func longestPath() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/" + String(repeating: "x", count: 106 - directory.path.utf8.count)
        // It stays: to libcurl a Unix socket whose peer is gone already was never connected.
        let server = try RawServer(unixPath: path) { connection in
            connection.write("hi")
            _ = connection.read()
        }
        let probe = try await client.connect(StreamTarget(unixPath: ByteString(path)))
        try await eventually { probe.seen.text == "hi" }
        #expect(server.connections == 1)
        try await probe.close()
    }

    @Test("A port where nothing listens is refused")
    func refused() async throws {
        let port = try HeldPort()
        let error = await client.failure(StreamTarget(host: "127.0.0.1", port: port.number))
        #expect(error?.code == .refused)
        #expect(error?.message == "cannot connect to 127.0.0.1:\(port.number): nothing listens there")
    }

    @Test("Without a descriptor left the error says so", arguments: ["127.0.0.1", "no-such-host.invalid"])
    func noDescriptor(host: String) async {
        await #expect(processExitsWith: .success) { [host] in
            let client = TestTransport()
            // The first attempt makes what libcurl keeps.
            _ = await client.failure(StreamTarget(host: "127.0.0.1", port: 1))
            var limit = rlimit(rlim_cur: 64, rlim_max: 64)
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            while dup(0) >= 0 {}
            let error = await client.failure(StreamTarget(host: ByteString(host), port: 1))
            print(error?.message ?? "no error")
            guard error?.code == .exhausted, error?.message.contains("LimitNOFILE") == true else { exit(1) }
            exit(0)
        }
    }

    @Test("A name that does not exist is an error of its own")
    func unresolved() async throws {
        let error = await client.failure(StreamTarget(host: "no-such-host.invalid", port: 80))
        #expect(error?.code == .resolve)
    }

    @Test("What is no host is refused before anything is tried", arguments: ["", "a b", "a/b", "a@b", "h\u{e9}"])
    func badHost(host: String) async throws {
        #expect(await client.failure(StreamTarget(host: ByteString(host), port: 80))?.code == .invalidTarget)
    }

    @Test("An address that is not on this machine is refused when only this machine is allowed")
    func loopbackOnly() async throws {
        let server = try RawServer { $0.write("hi") }
        let error = await client.failure(StreamTarget(host: "192.0.2.1", port: 80, isLoopbackOnly: true))
        #expect(error?.code == .notPermitted)
        let probe = try await client.connect(
            StreamTarget(host: "localhost", port: server.port, isLoopbackOnly: true)
        )
        try await eventually { probe.seen.text == "hi" }
        try await probe.close()
    }

    @Test("A server that does not finish its TLS handshake runs into the time limit")
    func silentHandshake() async throws {
        let server = try RawServer { _ = $0.read(exactly: 100_000) }
        let target = StreamTarget(host: "127.0.0.1", port: server.port, security: .tls(TLSSettings()))
        let error = await client.failure(target, timeout: .milliseconds(200))
        #expect(error?.code == .timedOut)
    }

    @Test("A cancelled connection is never reported, and its socket is closed")
    func cancelling() async throws {
        let hasEnded = Lock(false)
        let server = try RawServer { connection in
            _ = connection.read(exactly: 1_000_000)
            hasEnded.withLock { $0 = true }
        }
        let reports = Lock(0)
        let transport = client.transport
        let target = StreamTarget(host: "127.0.0.1", port: server.port, security: .tls(TLSSettings()))
        let pending = try await client.loop.run {
            LoopBound(
                transport.connect(target, timeout: .seconds(60)) { _ in reports.withLock { $0 += 1 } },
                on: transport.loop
            )
        }
        try await eventually { server.connections == 1 }
        try await client.loop.run { pending.value.cancel() }
        try await eventually { hasEnded.withLock { $0 } }
        try await client.loop.run { pending.value.cancel() }
        #expect(reports.withLock { $0 } == 0)
    }

    @Test("A reset by the peer is an error, not an end")
    func reset() async throws {
        let server = try RawServer { connection in
            _ = connection.read(exactly: 1)
            connection.reset()
        }
        let probe = try await client.connect(StreamTarget(host: "127.0.0.1", port: server.port))
        _ = try await probe.send([1])
        try await eventually { probe.seen.error != nil }
        #expect(probe.seen.error?.code == .closed)
        await #expect(throws: TransportError.self) { try await probe.send([1]) }
        try await probe.close()
    }

    @Test("A peer that does not read makes send take nothing more, until it reads again")
    func backPressure() async throws {
        let mayRead = Gate()
        let total = 8 * 1024 * 1024
        let received = Lock([UInt8]())
        let server = try RawServer { connection in
            mayRead.wait()
            let bytes = connection.read(exactly: total)
            received.withLock { $0 = bytes }
        }
        let probe = try await client.connect(StreamTarget(host: "127.0.0.1", port: server.port))
        let bytes = (0..<total).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 11) }
        var sent = try await probe.send(bytes)
        #expect(sent < total)
        try await eventually("a full socket") {
            let more = try await probe.send(Array(bytes[sent...]))
            sent += more
            return more == 0
        }
        mayRead.open()
        try await probe.sendAll(Array(bytes[sent...]))
        try await eventually(within: .seconds(30)) { received.withLock { $0.count } == total }
        #expect(received.withLock { $0 } == bytes)
        #expect(server.connections == 1)
        try await probe.close()
    }

    @Test("A proxy is asked for a tunnel, and its refusal is an error of its own")
    func proxy() async throws {
        let head = Lock("")
        let proxy = try RawServer { connection in
            let text = connection.readHead()
            head.withLock { $0 = text }
            guard text.contains("good.example") else {
                connection.write("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
                return
            }
            connection.write("HTTP/1.1 200 OK\r\n\r\n")
            connection.write(connection.read(exactly: 5).reversed())
        }
        let address = "http://127.0.0.1:\(proxy.port)"
        let probe = try await client.connect(StreamTarget(host: "good.example", port: 8_080, proxy: address))
        _ = try await probe.send(Array("hello".utf8))
        try await eventually { probe.seen.hasEnded }
        #expect(probe.seen.text == "olleh")
        #expect(head.withLock { $0 }.hasPrefix("CONNECT good.example:8080 HTTP/1."))
        try await probe.close()
        let error = await client.failure(StreamTarget(host: "bad.example", port: 80, proxy: address))
        #expect(error?.code == .proxy)
    }

    @Test("The proxies of the environment are not used")
    func environment() async throws {
        await #expect(processExitsWith: .success) {
            for name in ["http_proxy", "https_proxy", "all_proxy", "ALL_PROXY"] {
                setenv(name, "http://127.0.0.1:9", 1)
            }
            let server = try RawServer { $0.write("hi") }
            let client = TestTransport()
            let probe = try await client.connect(StreamTarget(host: "127.0.0.1", port: server.port))
            try await eventually { probe.seen.text == "hi" }
            withExtendedLifetime(client) {}
        }
    }

    @Test("Two hundred connections at once all work, and all are closed")
    func many() async throws {
        let open = Lock(0)
        let server = try RawServer { connection in
            open.withLock { $0 += 1 }
            connection.write(connection.read(exactly: 1))
            _ = connection.read(1)
            open.withLock { $0 -= 1 }
        }
        let target = StreamTarget(host: "127.0.0.1", port: server.port)
        let probes = try await withThrowingTaskGroup(of: StreamProbe.self) { group in
            for _ in 0..<200 { group.addTask { try await client.connect(target) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        for probe in probes { _ = try await probe.send([7]) }
        for probe in probes { try await eventually("an answer, \(probe.seen)") { probe.seen.bytes == [7] } }
        for probe in probes { try await probe.close() }
        try await eventually("no open connection") { open.withLock { $0 } == 0 }
    }
}

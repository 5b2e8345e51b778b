import BridgeTestSupport
import RoomsRuntime
import RoomsTransport
import Testing

/// How transfers share connections, and how they are let go of.
@Suite(.timeLimit(.minutes(2))) struct TransferConnectionTests {
    private let client = TestTransport()

    @Test("Requests behind one another use one connection, two at once two, and those two stay")
    func keptAlive() async throws {
        let server = try RawServer { connection in
            while let request = connection.readRequest() {
                connection.answer(String(decoding: request.body, as: UTF8.self))
            }
        }
        for number in 1...3 {
            let answer = try await client.transfer(TransferRequest(port: server.port, "\(number)")).get()
            #expect(answer.body == Array("\(number)".utf8))
        }
        #expect(server.connections == 1)

        let gate = Gate()
        let slow = try RawServer { connection in
            while connection.readRequest() != nil {
                gate.wait()
                connection.answer()
            }
        }
        let request = try TransferRequest(port: slow.port)
        async let first = client.transfer(request)
        async let second = client.transfer(request)
        try await eventually("two connections") { slow.connections == 2 }
        gate.open()
        #expect(try await [first.get().status, second.get().status] == [200, 200])
        for _ in 0..<3 { _ = try await client.transfer(request).get() }
        #expect(slow.connections == 2)
    }

    @Test(
        "A server that closes a connection between two requests, or on the second, gets it on a new one",
        arguments: [true, false]
    )
    func closedWhileIdle(atOnce: Bool) async throws {
        let closed = Lock(0)
        let server = try RawServer { connection in
            guard let request = connection.readRequest() else { return }
            connection.answer(String(decoding: request.body, as: UTF8.self))
            if !atOnce { _ = connection.read(1) }
            connection.close()
            closed.withLock { $0 += 1 }
        }
        for number in 1...3 {
            let answer = try await client.transfer(TransferRequest(port: server.port, "\(number)")).get()
            #expect(answer.body == Array("\(number)".utf8))
            if atOnce { try await eventually("closed") { closed.withLock { $0 } == number } }
        }
        #expect(server.connections == 3)
    }

    @Test("A cancelled request is not answered, and its connection is closed")
    func cancelled() async throws {
        let (isThere, isGone) = (Lock(false), Lock(false))
        let server = try RawServer { connection in
            _ = connection.readRequest()
            isThere.withLock { $0 = true }
            let isEnd = connection.read().isEmpty
            isGone.withLock { $0 = isEnd }
        }
        let transport = client.transport
        let request = try TransferRequest(port: server.port)
        let answers = Lock(0)
        let work = try await client.loop.run {
            LoopBound(transport.transfer(request) { _ in answers.withLock { $0 += 1 } }, on: transport.loop)
        }
        try await eventually("the request") { isThere.withLock { $0 } }
        try await client.loop.run {
            work.value.cancel()
            work.value.cancel()
        }
        try await eventually("the end of the connection") { isGone.withLock { $0 } }
        // One that is let go of before it began, and one that cannot even begin.
        try await client.loop.run {
            transport.transfer(request) { _ in answers.withLock { $0 += 1 } }.cancel()
            var bad = request
            bad.headers = [HTTPHeader(name: "host", value: Secret("x"))]
            transport.transfer(bad) { _ in answers.withLock { $0 += 1 } }.cancel()
        }
        for _ in 0..<3 { try await client.loop.run {} }
        #expect(answers.withLock { $0 } == 0)
    }

    @Test("An answer may begin the next request, and cancel what is over")
    func fromWithin() async throws {
        let server = try RawServer { connection in
            while connection.readRequest() != nil { connection.answer() }
        }
        let transport = client.transport
        let request = try TransferRequest(port: server.port)
        let statuses = Lock<[Int]>([])
        final class Chain {
            var work: PendingWork?
            let transport: TransportLoop
            let request: TransferRequest
            let statuses: Lock<[Int]>
            init(_ transport: TransportLoop, _ request: TransferRequest, _ statuses: Lock<[Int]>) {
                (self.transport, self.request, self.statuses) = (transport, request, statuses)
            }
            func go() {
                work = transport.transfer(request) { [self] result in
                    let count = statuses.withLock { statuses in
                        statuses.append((try? result.get().status) ?? 0)
                        return statuses.count
                    }
                    work?.cancel()
                    if count < 5 { go() }
                }
            }
        }
        try await client.loop.run { Chain(transport, request, statuses).go() }
        try await eventually("five answers") { statuses.withLock { $0.count } == 5 }
        #expect(statuses.withLock { $0 } == [200, 200, 200, 200, 200])
        #expect(server.connections == 1)
    }

    @Test("Transfers leave connections with TLS alone, however many there are of them")
    func besideStreams() async throws {
        let authority = try await TestAuthority()
        let server = try RawServer { connection in
            while connection.readRequest() != nil { connection.answer() }
        }
        let echo = try RawServer { connection in
            while case let bytes = connection.read(), !bytes.isEmpty { connection.write(bytes) }
        }
        let front = try await TLSFront(to: echo.port, certificate: authority.issue("server"))
        let settings = TLSSettings(authorityFile: authority.file)
        let target = StreamTarget(host: "localhost", port: front.port, security: .tls(settings))
        // Nobody reads, so that each has bytes waiting.
        let streams = try await [client.connect(target, pauseAt: 0), client.connect(target, pauseAt: 0)]
        for stream in streams { try await stream.sendAll([1, 2, 3]) }
        for _ in 0..<20 { _ = try await client.transfer(TransferRequest(port: server.port)).get() }
        for stream in streams {
            try await stream.rewatch(.readable)
            #expect(!stream.seen.hasEnded)
            try await stream.close()
        }
    }

    @Test("A loop may end with requests on their way and connections open")
    func endOfLoop() async throws {
        let (isGone, requests) = (Lock(0), Lock(0))
        let server = try RawServer { connection in
            while connection.readRequest() != nil {
                let number = requests.withLock { requests in
                    requests += 1
                    return requests
                }
                if number <= 2 { connection.answer() }
            }
            isGone.withLock { $0 += 1 }
        }
        do {
            let short = TestTransport()
            let request = try TransferRequest(port: server.port)
            async let first = short.transfer(request)
            async let second = short.transfer(request)
            _ = try await (first.get(), second.get())
            let transport = short.transport
            try await short.loop.run { _ = transport.transfer(request) { _ in } }
            for _ in 0..<3 { try await short.loop.run {} }
        }
        try await eventually("all connections closed") { isGone.withLock { $0 } == server.connections }
    }
}

import BridgeTestSupport
import RoomsRuntime
import RoomsTransport
import RoomsWebSocket
import Testing

@Suite(.timeLimit(.minutes(2))) struct WebSocketStreamTests {
    private let client = TestTransport()

    private func url(_ server: RawServer, _ target: String = "/") -> String { "ws://127.0.0.1:\(server.port)\(target)" }

    @Test("C01 and C02: The request is the URL as given, offers one subprotocol, and neither origin nor extensions")
    func request() async throws {
        let head = Lock("")
        let server = try RawServer { connection in
            let text = ServerSocket.upgrade(connection)
            head.withLock { $0 = text }
            _ = connection.read()
        }
        let probe = try await SocketProbe(client, url(server, "/a%20b/connection?format=x&y=%2F"))
        try await probe.opened()
        try await eventually { head.withLock { !$0.isEmpty } }
        let lines = head.withLock { $0 }.split(separator: "\r\n").map(String.init)
        #expect(lines.first == "GET /a%20b/connection?format=x&y=%2F HTTP/1.1")
        #expect(lines.contains("host: 127.0.0.1:\(server.port)"))
        #expect(lines.contains("sec-websocket-protocol: test"))
        #expect(lines.contains("sec-websocket-version: 13"))
        #expect(!lines.contains { $0.lowercased().hasPrefix("origin") || $0.lowercased().contains("extensions") })
        try await probe.perform { $0.cancel() }
    }

    @Test("Headers of the owner are sent, but not in place of the client's own")
    func headers() async throws {
        let head = Lock("")
        let server = try RawServer { connection in
            let text = ServerSocket.upgrade(connection)
            head.withLock { $0 = text }
            _ = connection.read()
        }
        var options = WebSocketOptions(subprotocol: "test")
        options.headers = [HTTPHeader(name: "Origin", value: Secret("https://example.org"))]
        let probe = try await SocketProbe(client, url(server), options)
        try await probe.opened()
        try await eventually { head.withLock { $0 }.contains("Origin: https://example.org\r\n") }
        for name in ["Host", "sec-websocket-key", "a b", ""] {
            options.headers = [HTTPHeader(name: ByteString(name), value: Secret("x"))]
            #expect(try await SocketProbe(client, url(server), options).failure()?.code == .invalidTarget)
        }
        options.headers = [HTTPHeader(name: "x", value: Secret("a\r\nb: c"))]
        #expect(try await SocketProbe(client, url(server), options).failure()?.code == .invalidTarget)
        try await probe.perform { $0.cancel() }
    }

    @Test("Messages pass both ways, also those that come with the answer to the upgrade")
    func messages() async throws {
        let server = try RawServer { connection in
            ServerSocket.upgrade(connection, behind: [0x82, 2, 1, 2, 0x82, 1, 3])
            let socket = ServerSocket(connection)
            while case .binary(let message)? = socket.receive() { socket.send(message.reversed()) }
        }
        let probe = try await SocketProbe(client, url(server))
        try await eventually { probe.seen.messages == [[1, 2], [3]] }
        let large = (0..<300_000).map { UInt8(truncatingIfNeeded: $0) }
        try await probe.send(large)
        try await eventually { probe.seen.messages.last == large.reversed() }
        try await probe.perform { $0.close(code: 1_000) }
        #expect(try await probe.ended() == .closed(code: 1_000, reason: ""))
    }

    @Test("An answer other than 101 refuses, and a redirect is not followed", arguments: [200, 302, 403, 404, 503])
    func refusals(status: Int) async throws {
        let other = try RawServer { _ in }
        let server = try RawServer { connection in
            _ = connection.readHead()
            connection.write(
                "HTTP/1.1 \(status) X\r\nLocation: ws://127.0.0.1:\(other.port)/\r\nContent-Length: 2\r\n\r\nno"
            )
        }
        let probe = try await SocketProbe(client, url(server))
        #expect(try await probe.ended() == .refused(status: status))
        #expect(other.connections == 0)
    }

    struct Answer: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var fields: String
        var code: TransportError.Code = .protocolViolation

        init(_ name: String, _ fields: String, _ code: TransportError.Code = .protocolViolation) {
            testDescription = name
            self.fields = fields.split(separator: "|").map { $0 + "\r\n" }.joined()
            self.code = code
        }
    }

    @Test(
        "An answer that does not fit the request fails closed",
        arguments: [
            Answer("no upgrade", "Connection: Upgrade|Sec-WebSocket-Accept: KEY|Sec-WebSocket-Protocol: test"),
            Answer(
                "other upgrade",
                "Upgrade: h2c|Connection: Upgrade|Sec-WebSocket-Accept: KEY|Sec-WebSocket-Protocol: test"
            ),
            Answer("no connection", "Upgrade: websocket|Sec-WebSocket-Accept: KEY|Sec-WebSocket-Protocol: test"),
            Answer("no accept", "Upgrade: websocket|Connection: Upgrade|Sec-WebSocket-Protocol: test"),
            Answer(
                "wrong accept",
                "Upgrade: websocket|Connection: Upgrade|Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=|"
                    + "Sec-WebSocket-Protocol: test"
            ),
            Answer(
                "an extension",
                "Upgrade: websocket|Connection: Upgrade|Sec-WebSocket-Accept: KEY|Sec-WebSocket-Protocol: test|"
                    + "Sec-WebSocket-Extensions: permessage-deflate"
            ),
            Answer(
                "no subprotocol",
                "Upgrade: websocket|Connection: Upgrade|Sec-WebSocket-Accept: KEY",
                .wrongSubprotocol
            ),
            Answer(
                "another subprotocol",
                "Upgrade: websocket|Connection: Upgrade|Sec-WebSocket-Accept: KEY|Sec-WebSocket-Protocol: Test",
                .wrongSubprotocol
            ),
            Answer(
                "two subprotocols",
                "Upgrade: websocket|Connection: Upgrade|Sec-WebSocket-Accept: KEY|Sec-WebSocket-Protocol: test|"
                    + "Sec-WebSocket-Protocol: test",
                .wrongSubprotocol
            ),
        ]
    )
    func badAnswers(_ answer: Answer) async throws {
        let server = try RawServer { connection in
            ServerSocket.upgrade(connection, fields: answer.fields)
            _ = connection.read()
        }
        let probe = try await SocketProbe(client, url(server))
        #expect(try await probe.failure()?.code == answer.code)
        #expect(!probe.seen.isOpen)
    }

    @Test("Another case in the answer's names and words does no harm")
    func oddCase() async throws {
        let fields = "UPGRADE: WebSocket\r\nconnection: keep-alive, upgrade\r\nSEC-WEBSOCKET-ACCEPT: KEY\r\n"
        let server = try RawServer { connection in
            ServerSocket.upgrade(connection, fields: fields + "sec-websocket-protocol:test\r\n")
            _ = connection.read()
        }
        let probe = try await SocketProbe(client, url(server))
        try await probe.opened()
        try await probe.perform { $0.cancel() }
    }

    struct Rubbish: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var text: String
        var code: TransportError.Code
    }

    @Test(
        "What is no answer fails",
        arguments: [
            Rubbish(testDescription: "bytes", text: "\u{1}\u{2}rubbish rubbish", code: .protocolViolation),
            Rubbish(testDescription: "another protocol", text: "SSH-2.0-OpenSSH_9.2\r\n", code: .protocolViolation),
            Rubbish(
                testDescription: "17 KiB of head",
                text: "HTTP/1.1 101 X\r\n"
                    + String(repeating: "a: \(String(repeating: "b", count: 1_000))\r\n", count: 17),
                code: .protocolViolation
            ),
            Rubbish(
                testDescription: "65 fields",
                text: "HTTP/1.1 101 X\r\n" + String(repeating: "a: b\r\n", count: 65) + "\r\n",
                code: .protocolViolation
            ),
            Rubbish(testDescription: "nothing", text: "", code: .closed),
            Rubbish(testDescription: "half an answer", text: "HTTP/1.1 101 X\r\nUpgrade: webs", code: .closed),
        ]
    )
    func rubbish(_ rubbish: Rubbish) async throws {
        let server = try RawServer { connection in
            _ = connection.readHead()
            connection.write(rubbish.text)
        }
        #expect(try await SocketProbe(client, url(server)).failure()?.code == rubbish.code)
    }

    @Test("A server that never answers, or drips, runs into one time limit for all of the opening")
    func slowOpening() async throws {
        let server = try RawServer { connection in
            _ = connection.readHead()
            for byte in Array("HTTP/1.1 101 X\r\n".utf8) where connection.write([byte]) {
                _ = connection.read(1)
            }
        }
        var options = WebSocketOptions(subprotocol: "test")
        options.openTimeout = .milliseconds(200)
        #expect(try await SocketProbe(client, url(server), options).failure()?.code == .timedOut)
    }

    @Test("A server's close gives its code and reason, and is answered")
    func serverCloses() async throws {
        let answer = Lock<Seen?>(nil)
        let server = try RawServer { connection in
            ServerSocket.upgrade(connection)
            let socket = ServerSocket(connection)
            socket.send([1])
            socket.close(3_500, "invalid token")
            let seen = socket.receive()
            answer.withLock { $0 = seen }
        }
        let probe = try await SocketProbe(client, url(server))
        #expect(try await probe.ended() == .closed(code: 3_500, reason: "invalid token"))
        #expect(probe.seen.messages == [[1]])
        try await eventually { answer.withLock { $0 } == .close(3_500, "invalid token") }
    }

    @Test("A close frame counts even when a write fails before it is read")
    func closeBehindBrokenWrite() async throws {
        let gate = Gate()
        let server = try RawServer { connection in
            ServerSocket.upgrade(connection)
            gate.wait()
            ServerSocket(connection).close(3_500, "bad request")
        }
        let probe = try await SocketProbe(client, url(server))
        try await probe.opened()
        try await probe.perform { $0.pauseReading() }
        gate.open()
        try await eventually("a failed write") {
            try await probe.send([UInt8](repeating: 1, count: 100_000))
            return !probe.seen.ends.isEmpty
        }
        #expect(probe.seen.ends == [.closed(code: 3_500, reason: "bad request")])
    }

    @Test("A connection that just ends is a failure")
    func serverGone() async throws {
        let server = try RawServer { ServerSocket.upgrade($0) }
        #expect(try await SocketProbe(client, url(server)).failure()?.code == .closed)
    }

    @Test("Our close reaches the server, messages behind it are dropped, and its answer ends the stream")
    func weClose() async throws {
        let heard = Lock<Seen?>(nil)
        let server = try RawServer { connection in
            ServerSocket.upgrade(connection)
            let socket = ServerSocket(connection)
            let seen = socket.receive()
            heard.withLock { $0 = seen }
        }
        let probe = try await SocketProbe(client, url(server))
        try await probe.opened()
        try await probe.perform { socket in
            socket.close(code: 4_000, reason: "done")
            socket.send([1])
            socket.close(code: 4_001)
        }
        #expect(try await probe.ended() == .closed(code: 4_000, reason: "done"))
        try await eventually { heard.withLock { $0 } == .close(4_000, "done") }
    }

    @Test("A server that does not answer our close is left after the limit")
    func unansweredClose() async throws {
        let gate = Gate()
        let server = try RawServer { connection in
            ServerSocket.upgrade(connection)
            gate.wait()
        }
        var options = WebSocketOptions(subprotocol: "test")
        options.closeTimeout = .milliseconds(100)
        let probe = try await SocketProbe(client, url(server), options)
        try await probe.opened()
        try await probe.perform { $0.close(code: 1_000) }
        #expect(try await probe.ended() == .closed(code: 1_000, reason: ""))
        gate.open()
    }

    @Test("Closing before the WebSocket is open ends it, and a cancel ends it silently")
    func earlyClose() async throws {
        let server = try RawServer { _ = $0.read(exactly: 1_000_000) }
        let probe = try await SocketProbe(client, url(server))
        try await probe.perform { $0.close(code: 1_000) }
        #expect(try await probe.ended() == .closed(code: 1_000, reason: ""))
        let silent = try await SocketProbe(client, url(server))
        try await silent.perform { $0.cancel() }
        let gone = try await SocketProbe(client, url(server))
        try await gone.perform { socket in
            socket.close(code: 1_000)
            socket.cancel()
        }
        let port = try HeldPort()
        _ = try await SocketProbe(client, "ws://127.0.0.1:\(port.number)/").ended()
        #expect(silent.seen.ends.isEmpty && gone.seen.ends.isEmpty)
    }

    @Test("C05: A message of 5 MiB passes; one over the limit ends with 1009 on the server's side")
    func sizes() async throws {
        let answer = Lock<Seen?>(nil)
        let large = (0..<5 * 1024 * 1024).map { UInt8(truncatingIfNeeded: $0 >> 3) }
        let server = try RawServer { connection in
            ServerSocket.upgrade(connection)
            let socket = ServerSocket(connection)
            socket.send(large)
            connection.write([0x82, 127, 0, 0, 0, 0, 1, 0, 0, 1])
            connection.write([0])
            let seen = socket.receive()
            answer.withLock { $0 = seen }
        }
        let probe = try await SocketProbe(client, url(server))
        #expect(try await probe.failure()?.code == .messageTooLarge)
        #expect(probe.seen.messages == [large])
        try await eventually { answer.withLock { $0 } == .close(1_009, "") }
    }

    @Test("A text message is refused with 1003, a broken frame with 1002", arguments: [true, false])
    func wrongFrames(isText: Bool) async throws {
        let answer = Lock<Seen?>(nil)
        let server = try RawServer { connection in
            ServerSocket.upgrade(connection)
            connection.write(isText ? [0x81, 1, 0x61] : [0xc2, 1, 1])
            let seen = ServerSocket(connection).receive()
            answer.withLock { $0 = seen }
        }
        #expect(try await SocketProbe(client, url(server)).failure()?.code == .protocolViolation)
        try await eventually { answer.withLock { $0 } == .close(isText ? 1_003 : 1_002, "") }
    }

    @Test("C07: A native ping is answered")
    func ping() async throws {
        let answer = Lock<[UInt8]>([])
        let server = try RawServer { connection in
            ServerSocket.upgrade(connection, behind: [0x89, 2, 7, 8])
            let bytes = connection.read(exactly: 8)
            answer.withLock { $0 = bytes }
        }
        let probe = try await SocketProbe(client, url(server))
        _ = try await probe.ended()
        try await eventually { answer.withLock { $0.count } == 8 }
        let bytes = answer.withLock { $0 }
        #expect(bytes.prefix(2) == [0x8a, 0x82])
        #expect(zip(bytes.dropFirst(6), bytes.dropFirst(2)).map { $0 ^ $1 } == [7, 8])
    }

    @Test("While reading is paused hardly anything more is handed over, and nothing is lost")
    func pausing() async throws {
        let messages = (0..<3_000).map { number in [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 1_000) }
        let server = try RawServer { connection in
            ServerSocket.upgrade(connection)
            let socket = ServerSocket(connection)
            for message in messages { socket.send(message) }
            _ = socket.receive()
        }
        let probe = try await SocketProbe(client, url(server)) { socket, count in
            if count == 10 { socket.pauseReading() }
        }
        try await eventually { probe.seen.messages.count >= 10 }
        // Two more round trips through the loop: had it gone on reading, more would be here.
        for _ in 0..<2 { try await probe.perform { _ in } }
        let paused = probe.seen.messages.count
        #expect(paused <= 10 + 66)
        #expect(probe.seen.messages.count == paused)
        try await probe.perform { $0.resumeReading() }
        try await eventually { probe.seen.messages.count == messages.count }
        #expect(probe.seen.messages == messages)
        try await probe.perform { $0.close(code: 1_000) }
        _ = try await probe.ended()
    }

    @Test("What the server does not read waits and then arrives whole")
    func backPressure() async throws {
        let gate = Gate()
        let received = Lock(0)
        let server = try RawServer { connection in
            ServerSocket.upgrade(connection)
            gate.wait()
            let socket = ServerSocket(connection)
            for number in 0..<8 where socket.receive() == .binary([UInt8](repeating: UInt8(number), count: 1_000_000)) {
                received.withLock { $0 += 1 }
            }
        }
        let probe = try await SocketProbe(client, url(server))
        try await probe.opened()
        let waiting = try await probe.perform { socket in
            for number in 0..<8 { socket.send([UInt8](repeating: UInt8(number), count: 1_000_000)) }
            return socket.queuedBytes
        }
        #expect(waiting > 0)
        gate.open()
        try await eventually(within: .seconds(30)) { received.withLock { $0 } == 8 }
        try await probe.perform { $0.cancel() }
    }

    @Test("A server that takes nothing ends the stream: after a time, or when too much waits")
    func stalled() async throws {
        let gate = Gate()
        let server = try RawServer { connection in
            ServerSocket.upgrade(connection)
            gate.wait()
        }
        var options = WebSocketOptions(subprotocol: "test")
        options.writeTimeout = .milliseconds(100)
        let probe = try await SocketProbe(client, url(server), options)
        try await probe.opened()
        try await probe.send([UInt8](repeating: 0, count: 8_000_000))
        #expect(try await probe.failure()?.code == .timedOut)
        options.maxQueued = 1_000_000
        let full = try await SocketProbe(client, url(server), options)
        try await full.opened()
        try await full.send([UInt8](repeating: 0, count: 8_000_000))
        #expect(try await full.failure()?.code == .closed)
        gate.open()
    }
}

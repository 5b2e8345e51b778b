import BridgeTestSupport
import Foundation
import RoomsRuntime
import RoomsTransport
import Testing

@Suite(.timeLimit(.minutes(2))) struct TransferTests {
    private let client = TestTransport()

    /// A server that answers each first request of a connection with `text` and then closes.
    private static func server(_ text: String) throws -> RawServer {
        try RawServer { connection in
            if connection.readRequest() != nil { connection.write(text) }
        }
    }

    // MARK: answers

    @Test(
        "An answer comes whole, however it is delimited and whatever its status",
        arguments: [
            ("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello", 200, "hello"),
            ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\n\r\n", 200, "hello"),
            ("HTTP/1.1 200 OK\r\n\r\nhello", 200, "hello"),
            ("HTTP/1.0 200 OK\r\n\r\nhello", 200, "hello"),
            ("HTTP/1.1 204 No Content\r\n\r\n", 204, ""),
            ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok", 200, "ok"),
            (
                "HTTP/1.1 103 Early Hints\r\nretry-after: 9\r\n\r\nHTTP/1.1 102 P\r\n\r\n"
                    + "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok", 200, "ok"
            ),
            ("HTTP/1.1 302 Found\r\nlocation: /elsewhere\r\ncontent-length: 0\r\n\r\n", 302, ""),
            ("HTTP/1.1 401 No\r\nwww-authenticate: Basic realm=x\r\ncontent-length: 2\r\n\r\nno", 401, "no"),
            ("HTTP/1.1 500 Oops\r\ncontent-length: 6\r\n\r\n<html>", 500, "<html>"),
            ("HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 2\r\n\r\nzz", 200, "zz"),
        ]
    )
    func answers(_ text: String, _ status: Int, _ body: String) async throws {
        let server = try Self.server(text)
        let answer = try await client.transfer(TransferRequest(port: server.port)).get()
        #expect(answer.status == status)
        #expect(String(decoding: answer.body, as: UTF8.self) == body)
        #expect(answer.retryAfter == nil)
        #expect(server.connections == 1)
    }

    @Test("The type of an answer and how long to wait are told; a trailer does not count")
    func fields() async throws {
        let head = "Content-Type: \t text/html; charset=utf-8 \r\nRETRY-AFTER: 7\r\nretry-after: 8\r\n"
        let first = try Self.server("HTTP/1.1 503 X\r\n\(head)content-length: 0\r\n\r\n")
        let answer = try await client.transfer(TransferRequest(port: first.port)).get()
        #expect(answer.contentType == "text/html; charset=utf-8")
        #expect(answer.retryAfter == .seconds(7))
        let dates = "Retry-After: Sun, 06 Nov 1994 08:49:37 GMT\r\nDate: Sun, 06 Nov 1994 08:48:07 GMT\r\n"
        let second = try Self.server("HTTP/1.1 503 X\r\n\(dates)content-length: 0\r\n\r\n")
        #expect(try await client.transfer(TransferRequest(port: second.port)).get().retryAfter == .seconds(90))
        let third = try Self.server(
            "HTTP/1.1 503 X\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nretry-after: 5\r\n\r\n"
        )
        #expect(try await client.transfer(TransferRequest(port: third.port)).get().retryAfter == nil)
    }

    // MARK: requests

    @Test("The request has the given fields and the body, and nothing that libcurl would add of its own")
    func request() async throws {
        let seen = Lock<[(head: String, body: [UInt8])]>([])
        let server = try RawServer { connection in
            while let request = connection.readRequest() {
                seen.withLock { $0.append(request) }
                connection.answer()
            }
        }
        var request = try TransferRequest(port: server.port)
        request.headers = [
            HTTPHeader(name: "Content-Type", value: Secret("application/json")),
            HTTPHeader(name: "Authorization", value: Secret("Bearer \u{fc}")),
            HTTPHeader(name: "X-None", value: Secret("")),
            HTTPHeader(name: "X-Blank", value: Secret(" \t")), HTTPHeader(name: "X-Twice", value: Secret("1")),
            HTTPHeader(name: "X-Twice", value: Secret("2")), HTTPHeader(name: "Cookie", value: Secret("a=b")),
        ]
        request.body = [0, 1, 2, 0] + [UInt8](repeating: 7, count: 3 * 1024 * 1024)
        _ = try await client.transfer(request).get()
        let post = try #require(seen.withLock { $0.first })
        let lines = post.head.split(separator: "\r\n").map(String.init)
        #expect(lines.first == "POST /auth HTTP/1.1")
        #expect(
            lines.dropFirst().sorted() == [
                "Authorization: Bearer \u{fc}", "Content-Length: \(request.body.count)",
                "Content-Type: application/json", "Cookie: a=b", "Host: 127.0.0.1:\(server.port)", "X-Blank:",
                "X-None:",
                "X-Twice: 1", "X-Twice: 2",
            ]
        )
        #expect(post.body == request.body)

        let plain = try ServerURL(ByteString("http://localhost:\(server.port)/a/../b?x=[1]&y=%00"))
        _ = try await client.transfer(TransferRequest(.get, plain)).get()
        #expect(
            seen.withLock { $0.last?.head }
                == "GET /a/../b?x=[1]&y=%00 HTTP/1.1\r\nHost: localhost:\(server.port)\r\n\r\n"
        )
        _ = try await client.transfer(TransferRequest(.post, plain)).get()
        #expect(
            seen.withLock { $0.last?.head }
                == "POST /a/../b?x=[1]&y=%00 HTTP/1.1\r\nHost: localhost:\(server.port)\r\nContent-Length: 0\r\n\r\n"
        )
    }

    @Test(
        "A header that would change the request is refused before anything is sent, and its value is not told",
        arguments: [
            ("x", "hush\r\nb: c"), ("x", "hush\n"), ("x", "hush\0"), ("x\r\ny", "hush"), ("", "hush"), ("a b", "hush"),
            ("x:", "hush"), ("x;", "hush"), ("Host", "hush"), ("Content-Length", "hush"), ("transfer-encoding", "hush"),
            ("Accept-Encoding", "hush"), ("Expect", "hush"),
        ]
    )
    func badHeaders(_ name: String, _ value: String) async throws {
        let server = try Self.server("HTTP/1.1 200 OK\r\n\r\n")
        var request = try TransferRequest(port: server.port)
        request.headers = [HTTPHeader(name: ByteString(name), value: Secret(value))]
        let error = await client.failure(request)
        #expect(error?.code == .invalidTarget)
        #expect(error?.message.contains("hush") == false)
        #expect(server.connections == 0)
    }

    @Test("A WebSocket's URL is not for requests")
    func webSocketURL() async throws {
        let request = TransferRequest(.get, try ServerURL("ws://127.0.0.1:1/"))
        #expect(await client.failure(request)?.code == .invalidTarget)
    }

    // MARK: failures

    @Test(
        "An answer that breaks off or is none is an error",
        arguments: [
            ("", .closed), ("HTTP/1.1 200 OK\r\ncontent-le", .closed),
            ("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhello", .closed),
            ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhel", .closed),
            ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nhel", .closed),
            ("SSH-2.0-OpenSSH_9.2\r\n", .protocolViolation),
            ("HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n", .closed),
        ] as [(String, TransportError.Code)]
    )
    func broken(_ text: String, _ code: TransportError.Code) async throws {
        let server = try Self.server(text)
        let error = await client.failure(try TransferRequest(port: server.port))
        #expect(error?.code == code, "\(error?.message ?? "no error")")
        #expect(error?.message.contains("127.0.0.1:\(server.port)") == true)
    }

    @Test("A server that drips, or says nothing, costs no more than the time-out", arguments: [true, false])
    func slow(drips: Bool) async throws {
        let isGone = Lock(false)
        let server = try RawServer { connection in
            _ = connection.readRequest()
            if drips { connection.write("HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n") }
            while drips, connection.write("x") { poll(nil, 0, 10) }
            isGone.withLock { $0 = connection.read().isEmpty }
        }
        var request = try TransferRequest(port: server.port)
        request.timeout = .milliseconds(300)
        let start = SystemClock.now
        let error = await client.failure(request)
        #expect(error?.code == .timedOut)
        #expect(error?.message.contains("to the end") == true)
        #expect(SystemClock.now - start < .seconds(5))
        try await eventually("the connection is closed") { isGone.withLock { $0 } }
    }

    @Test("A TLS handshake that does not come to its end costs no more than the time to connect")
    func slowHandshake() async throws {
        let gate = Gate()
        let server = try RawServer { _ in gate.wait() }
        defer { gate.open() }
        var request = try TransferRequest(port: server.port, scheme: "https")
        request.connectTimeout = .milliseconds(200)
        let start = SystemClock.now
        let error = await client.failure(request)
        #expect(error?.code == .timedOut)
        #expect(error?.message.contains("cannot connect") == true)
        #expect(SystemClock.now - start < .seconds(5))
    }

    @Test(
        "Endless bodies, heads and interim answers end at the limit",
        arguments: [
            ("HTTP/1.1 200 OK\r\n\r\n", "xxxxxxxxxxxxxxxx"),
            ("HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n", "xxxxxxxxxxxxxxxx"),
            ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", "10\r\nxxxxxxxxxxxxxxxx\r\n"),
            ("HTTP/1.1 200 OK\r\n", "x-more: xxxxxxxxxxxxxxxx\r\n"),
            ("", "HTTP/1.1 103 Early Hints\r\nx-more: xxxxxxxxxxxxxxxx\r\n\r\n"),
            ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n", "x-more: xxxxxxxxxxxxxxxx\r\n"),
        ]
    )
    func endless(_ beginning: String, _ more: String) async throws {
        let server = try RawServer { connection in
            _ = connection.readRequest()
            connection.write(beginning)
            let block = Array(String(repeating: more, count: 500).utf8)
            while connection.write(block) {}
        }
        var request = try TransferRequest(port: server.port)
        request.maxBody = 100_000
        let error = await client.failure(request)
        #expect(error?.code == .messageTooLarge, "\(error?.message ?? "no error")")
    }

    @Test("A body of exactly the limit is taken, one byte more is not", arguments: ["length", "close"])
    func limit(by delimiter: String) async throws {
        for (size, isTaken) in [(1_000, true), (1_001, false)] {
            let field = delimiter == "length" ? "content-length: \(size)\r\n" : ""
            let body = String(repeating: "x", count: size)
            let server = try Self.server("HTTP/1.1 200 OK\r\n\(field)\r\n\(body)")
            var request = try TransferRequest(port: server.port)
            request.maxBody = 1_000
            #expect(await client.failure(request)?.code == (isTaken ? nil : .messageTooLarge))
        }
    }

    @Test("Nothing listens there")
    func refused() async throws {
        let port = try HeldPort()
        #expect(await client.failure(try TransferRequest(port: port.number))?.code == .refused)
    }

    // MARK: TLS

    @Test("A server's certificate is checked: the right authority, the wrong one, the wrong name, the system's")
    func tls() async throws {
        let (authority, other) = (try await TestAuthority(), try await TestAuthority())
        let requests = Lock(0)
        let server = try RawServer { connection in
            while connection.readRequest() != nil {
                requests.withLock { $0 += 1 }
                connection.answer("secret")
            }
        }
        let front = try await TLSFront(to: server.port, certificate: authority.issue("server"))
        var request = try TransferRequest(port: front.port, scheme: "https", host: "localhost")
        for file in [other.file, nil, "/nonexistent/ca.pem"] {
            request.tls.authorityFile = file
            #expect(await client.failure(request)?.code == .tls)
        }
        #expect(requests.withLock { $0 } == 0)
        request.tls.authorityFile = authority.file
        for _ in 0..<2 { #expect(try await client.transfer(request).get().body == Array("secret".utf8)) }
        #expect(server.connections == 1)
        // A connection that trusts one authority is not used for a request that trusts another.
        request.tls.authorityFile = other.file
        #expect(await client.failure(request)?.code == .tls)
        let misnamed = try await TLSFront(
            to: server.port,
            certificate: authority.issue("host", for: "DNS:example.org")
        )
        var wrong = try TransferRequest(port: misnamed.port, scheme: "https", host: "localhost")
        wrong.tls.authorityFile = authority.file
        #expect(await client.failure(wrong)?.code == .tls)
        #expect(requests.withLock { $0 } == 2)
    }

    // MARK: the environment

    @Test("Proxies and passwords of the environment are not used")
    func environment() async {
        await #expect(processExitsWith: .exitCode(7)) {
            let home = try TemporaryDirectory()
            try home.write(
                "machine 127.0.0.1 login mallory password oops\ndefault login mallory password oops\n",
                to: ".netrc"
            )
            let proxied = Lock(0)
            let proxy = try RawServer { connection in
                proxied.withLock { $0 += 1 }
                _ = connection.readHead()
                connection.answer("proxy", status: 502)
            }
            for name in ["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
                setenv(name, "http://127.0.0.1:\(proxy.port)", 1)
            }
            setenv("HOME", home.path, 1)
            let heads = Lock("")
            let server = try RawServer { connection in
                if let request = connection.readRequest() {
                    heads.withLock { $0 += request.head.lowercased() }
                    connection.answer("ours")
                }
            }
            let answer = try await TestTransport().transfer(TransferRequest(port: server.port)).get()
            let isClean = answer.body == Array("ours".utf8) && proxied.withLock { $0 } == 0
            exit(isClean && !heads.withLock { $0 }.contains("authorization") ? 7 : 8)
        }
    }
}

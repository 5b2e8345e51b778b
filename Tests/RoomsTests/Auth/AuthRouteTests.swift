import BridgeTestSupport
import HubCore
import RoomsRuntime
import RoomsTransport
import Testing

@testable import Rooms

/// The auth route over real sockets: the hub's demo route, and servers that do not behave.
@Suite(.timeLimit(.minutes(2))) struct AuthRouteTests {
    private final class Observer {
        weak var route: AuthRoute?
    }

    private static let good = #"{"rooms":{"a":{"token":"t"}}}"#

    private static func hub() throws -> TestHub {
        try TestHub {
            $0.rooms = HubConfiguration.standard.rooms
            $0.auth = .standard
        }
    }

    // MARK: the hub's demo route

    @Test("The hub's route gives a user the rooms that are theirs, and its tokens join them")
    func hub() async throws {
        let hub = try Self.hub()
        let route = try LiveRoute(port: hub.port, user: "alice")
        let rooms: [ByteString] = ["order:1042", "chat:alice:bob", "chat:bob:carol", "x:1", "shop"]
        let answer = try await route.ask(rooms, connection: true)
        #expect(answer.rooms["chat:bob:carol"]?.code == .forbidden)
        #expect(answer.rooms["x:1"]?.code == .noRule)
        let connection = try #require(try answer.connection?.get())
        let joined: [ByteString] = ["order:1042", "chat:alice:bob", "shop"]
        let tokens = try joined.map { try #require(try answer.rooms[$0]?.get().token) }
        let live = try LiveConnection(
            port: hub.port,
            rooms: joined.map { RoomSpecification(name: $0, start: .now) }
        ) { options in
            options.policy.tokens = TokenSource(
                connection: { connection },
                subscription: { name in joined.firstIndex(of: name).map { tokens[$0] } }
            )
        }
        try await eventually("three rooms joined") {
            (0..<3).allSatisfy { live.sink.seen($0).first?.hasPrefix("joined") == true }
        }
    }

    @Test("Somebody who is signed out gets public rooms only, and connects anonymously")
    func signedOut() async throws {
        let hub = try Self.hub()
        let answer = try await LiveRoute(port: hub.port).ask(["shop", "order:1"], connection: true)
        #expect(try answer.rooms["shop"]?.get().token != nil)
        #expect(answer.rooms["order:1"]?.code == .forbidden)
        #expect(answer.connection == .success(nil))
    }

    @Test("A user whom the route does not know is unauthorized, everywhere")
    func unauthorized() async throws {
        let hub = try Self.hub()
        let answer = try await LiveRoute(port: hub.port, user: "mallory").ask(["shop"], connection: true)
        #expect(answer.rooms["shop"]?.code == .unauthorized)
        #expect(answer.connection?.code == .unauthorized)
    }

    @Test("Thousands of rooms come in requests of 1000")
    func thousands() async throws {
        let hub = try Self.hub()
        let names = (0..<2_500).map { ByteString("order:\($0)") }
        let answer = try await LiveRoute(port: hub.port, user: "bob").ask(names)
        #expect(answer.rooms.count == 2_500)
        #expect(answer.rooms.values.allSatisfy { $0.code == nil })
    }

    // MARK: requests

    @Test("All that is asked for in one moment is one request, with the option's headers")
    func request() async throws {
        let server = try ScriptedRoute { connection, _ in
            connection.answer(#"{"rooms":{"a":{"token":"1"},"b":{"token":"2"}},"connection":"c"}"#)
        }
        let route = try LiveRoute(port: server.port) {
            $0.headers = .fixed([
                HTTPHeader(name: "Authorization", value: Secret("Bearer me")),
                HTTPHeader(name: "Content-Type", value: Secret("text/plain")),
            ])
        }
        let (first, second) = (Answers(), Answers())
        try await route.perform { route in
            _ = route.request(connection: false, rooms: ["b"], first.take)
            _ = route.request(connection: true, rooms: ["a", "b"], second.take)
        }
        #expect(try await first.all(1).rooms["b"] == .success(Grant(token: Secret("2"))))
        let all = try await second.all(2, connection: true)
        #expect(all.connection == .success(Secret("c")))
        _ = try await route.ask(["a"], connection: true)
        let requests = server.requests
        #expect(requests.map(\.body) == [#"{"rooms":["b","a"],"connection":true}"#])
        let lines = requests[0].head.split(separator: "\r\n").map { $0.lowercased() }
        #expect(lines.first == "post /auth http/1.1")
        #expect(lines.filter { $0.hasPrefix("content-type:") } == ["content-type: application/json"])
        #expect(lines.contains("authorization: bearer me"))
    }

    @Test("Headers may be supplied by a closure, which is asked once for each request")
    func suppliedHeaders() async throws {
        let server = try ScriptedRoute { connection, number in
            connection.answer(#"{"rooms":{"r\#(number)":{"token":"t"}}}"#)
        }
        let calls = Lock(0)
        let route = try LiveRoute(port: server.port) {
            $0.headers = .asked {
                await Task.yield()
                let call = calls.withLock { calls in
                    calls += 1
                    return calls
                }
                return [HTTPHeader(name: "X-Call", value: Secret("\(call)"))]
            }
        }
        for number in 0..<3 {
            let name = ByteString("r\(number)")
            #expect(try await route.ask([name, name + "x"]).rooms[name]?.code == nil)
        }
        #expect(calls.withLock { $0 } == 3)
        for (number, request) in server.requests.enumerated() {
            #expect(request.head.contains("X-Call: \(number + 1)\r\n"))
        }
    }

    @Test(
        "Headers that cannot be supplied, come too late or cannot be sent make the rooms unavailable, and tell nothing"
    )
    func badHeaders() async throws {
        struct Hush: Error, CustomStringConvertible {
            let description = "hush"
        }
        let server = try ScriptedRoute { connection, _ in connection.answer(Self.good) }
        let forever = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let wasCancelled = Lock(false)
        let supplies: [@Sendable () async throws -> [HTTPHeader]] = [
            { throw Hush() },
            {
                for await _ in forever.stream {}
                wasCancelled.withLock { $0 = Task.isCancelled }
                return []
            },
            { [HTTPHeader(name: "x", value: Secret("hush\r\ny: z"))] },
        ]
        for supply in supplies {
            let route = try LiveRoute(port: server.port) {
                $0.headers = .asked(supply)
                $0.policy.timeout = .milliseconds(200)
            }
            guard case .failure(let error)? = try await route.ask(["a"]).rooms["a"] else {
                Issue.record("no error")
                continue
            }
            #expect(error.code == .unavailable)
            #expect(!error.message.contains("hush"), "\(error.message)")
        }
        try await eventually("the slow closure is cancelled") { wasCancelled.withLock { $0 } }
        #expect(server.requests.isEmpty)
    }

    // MARK: a route that does not behave

    @Test(
        "What is no good answer makes the rooms unavailable; a second attempt brings the token",
        arguments: ["html", "500", "redirect", "closed", "slow", "large", "wrong"]
    )
    func misbehaving(_ kind: String) async throws {
        let server = try ScriptedRoute { connection, number in
            guard number == 0 else { return connection.answer(Self.good) }
            switch kind {
            case "html": connection.answer("<html>sign in</html>")
            case "500": connection.answer("oops", status: 500)
            case "redirect": connection.write("HTTP/1.1 302 X\r\nlocation: /auth\r\ncontent-length: 0\r\n\r\n")
            case "closed": connection.close()
            case "slow": _ = connection.read()
            case "large": connection.answer(#"{"rooms":{"a":{"token":"t"}}}"# + String(repeating: " ", count: 10_000))
            default: connection.answer(#"{"rooms":{"b":{"token":"t"}}}"#)
            }
        }
        let route = try LiveRoute(port: server.port) {
            $0.policy.timeout = kind == "slow" ? .milliseconds(300) : .seconds(10)
            $0.policy.maxAnswer = 5_000
        }
        #expect(try await route.ask(["a"]).rooms["a"]?.code == .unavailable)
        #expect(try await route.ask(["a"]).rooms["a"] == .success(Grant(token: Secret("t"))))
    }

    @Test("A route where nothing listens makes rooms and connection unavailable")
    func down() async throws {
        let port = try HeldPort()
        let answer = try await LiveRoute(port: port.number).ask(["a"], connection: true)
        #expect(answer.rooms["a"]?.code == .unavailable)
        #expect(answer.connection?.code == .unavailable)
    }

    @Test("Over TLS, with an authority of one's own and not without")
    func tls() async throws {
        let authority = try await TestAuthority()
        let server = try ScriptedRoute { connection, _ in connection.answer(Self.good) }
        let front = try await TLSFront(to: server.port, certificate: authority.issue("server"))
        let url = try ServerURL(ByteString("https://localhost:\(front.port)/auth"))
        for (file, isGood) in [(authority.file, true), (nil, false)] {
            let route = try LiveRoute(port: 1) {
                $0.url = url
                $0.tls.authorityFile = file
            }
            #expect(try await route.ask(["a"]).rooms["a"]?.code == (isGood ? nil : .unavailable))
        }
    }

    // MARK: letting go

    @Test("A cancelled request is let go of, and its late answer reaches nobody")
    func cancelled() async throws {
        let isGone = Lock(false)
        let server = try ScriptedRoute { connection, number in
            if number > 0 { return connection.answer(Self.good) }
            let isEnd = connection.read().isEmpty
            isGone.withLock { $0 = isEnd }
        }
        let route = try LiveRoute(port: server.port)
        let answers = Answers()
        let id = try await route.perform { $0.request(connection: false, rooms: ["a"], answers.take) }
        try await eventually("the request") { server.requests.count == 1 }
        try await route.perform { $0.cancel(id) }
        try await eventually("the end of its connection") { isGone.withLock { $0 } }
        #expect(try await route.ask(["a"]).rooms["a"]?.code == nil)
        // One that is answered at once, too.
        try await route.perform { route in route.cancel(route.request(connection: false, rooms: ["a"], answers.take)) }
        for _ in 0..<3 { try await route.perform { _ in } }
        #expect(answers.count == 0)
    }

    @Test("A route that nobody keeps is gone, whatever was on its way")
    func released() async throws {
        let gate = Gate()
        let server = try ScriptedRoute { connection, _ in
            gate.wait()
            connection.answer(Self.good)
        }
        defer { gate.open() }
        let transport = TransportLoop(name: "auth-loop")
        transport.loop.start()
        let queue = LogQueue(sink: StandardErrorSink(style: .plain))
        var options = AuthOptions(url: try ServerURL(ByteString("http://127.0.0.1:\(server.port)/auth")))
        options.policy.window = .zero
        let answers = Answers()
        for isAsked in [false, true] {
            if isAsked { options.headers = .asked { [] } }
            let (options, logger) = (options, Logger(queue: queue, level: .error))
            let observer = try await transport.loop.run {
                let route = AuthRoute(transport: transport, options: options, logger: logger)
                _ = route.request(connection: false, rooms: ["a"], answers.take)
                let observer = Observer()
                observer.route = route
                return LoopBound(observer, on: transport.loop)
            }
            try await eventually("released") { try await transport.loop.run { observer.value.route == nil } }
        }
        for _ in 0..<3 { try await transport.loop.run {} }
        #expect(answers.count == 0)
        transport.loop.stop()
        transport.loop.join()
        queue.close()
    }
}

private func + (left: ByteString, right: String) -> ByteString { ByteString(left.string + right) }

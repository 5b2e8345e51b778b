import BridgeTestSupport
import LocalHTTP
import RoomsRuntime
import Testing

/// The HTTP server alone, on a loop of the test.
@Suite struct HTTPServerTests {
    private final class Sockets {
        var open: [UpgradedSocket] = []
    }

    private final class Waiting {
        var all: [(HTTPResponse) -> Void] = []
    }

    private final class Fixture: Sendable {
        let loop = EventLoop(name: "http-test")
        let server: LoopBound<HTTPServer>
        let sockets: LoopBound<Sockets>
        let waiting: LoopBound<Waiting>
        let port: UInt16

        init() throws {
            let waiting = LoopBound(Waiting(), on: loop)
            self.waiting = waiting
            let sockets = LoopBound(Sockets(), on: loop)
            let server = LoopBound(
                HTTPServer(loop: loop) { request in
                    if request.path == "/later" { return HTTPResponse { waiting.value.all.append($0) } }
                    guard request.path == "/upgrade" else { return .text(request.path.string, status: 200) }
                    return HTTPResponse(upgradeTo: "echo", headers: []) { sockets.value.open.append($0) }
                },
                on: loop
            )
            let listener = try Listener(try #require(ListenAddress(ByteString("127.0.0.1:0"))))
            loop.post { try? server.value.start(listener) }
            loop.start()
            (self.server, self.sockets, port) = (server, sockets, listener.port)
        }

        deinit {
            let (server, loop) = (server, loop)
            loop.post {
                server.value.stop()
                loop.stop()
            }
            loop.join()
        }

        func onLoop<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
            await withCheckedContinuation { continuation in loop.post { continuation.resume(returning: body()) } }
        }

        func connections() async -> Int {
            await onLoop { [server] in server.value.connectionCount }
        }
    }

    @Test("an upgraded socket that is closed is given back though nothing else happens")
    func closedSocketsAreGivenBack() async throws {
        let fixture = try Fixture()
        let clients = try (0..<5).map { _ in try SocketClient(port: fixture.port) }
        for client in clients {
            try client.send(
                Array("GET /upgrade HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n".utf8)
            )
            #expect(String(decoding: try client.read(), as: UTF8.self).hasPrefix("HTTP/1.1 101 "))
        }
        let isOpen = await fixture.onLoop { [sockets = fixture.sockets] in sockets.value.open.count }
        #expect(isOpen == 5)
        #expect(await fixture.connections() == 5)
        await fixture.onLoop { [sockets = fixture.sockets] in
            for socket in sockets.value.open { socket.close() }
            sockets.value.open = []
        }
        try await eventually("no connection is left") { await fixture.connections() == 0 }
        for client in clients { #expect(try client.read().isEmpty) }
    }

    @Test("the path is decoded, and kept apart from the query")
    func paths() throws {
        let fixture = try Fixture()
        let client = try SocketClient(port: fixture.port)
        try client.send(Array("GET /a%20b%2Fc?d=%20 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".utf8))
        #expect(try Answer(client.readToEnd()).body == "/a b/c")
    }

    @Test("an answer may come later, others come meanwhile, and a server that stops says so")
    func later() async throws {
        var fixture: Fixture? = try Fixture()
        let port = try #require(fixture?.port)
        func ask(_ path: String) throws -> SocketClient {
            let client = try SocketClient(port: port)
            try client.send(Array("GET \(path) HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".utf8))
            return client
        }
        let (slow, stopped) = (try ask("/later"), try ask("/later"))
        let waiting = try #require(fixture?.waiting)
        try await eventually("both wait") {
            await fixture?.onLoop { waiting.value.all.count } == 2
        }
        #expect(try Answer(ask("/quick").readToEnd()).body == "/quick")
        await fixture?.onLoop {
            waiting.value.all[0](.text("at last", status: 201))
            // Said twice: the first word counts.
            waiting.value.all[0](.text("again", status: 202))
        }
        let answer = try Answer(slow.readToEnd())
        #expect(answer.body == "at last")
        fixture = nil
        let text = String(decoding: try stopped.readToEnd(), as: UTF8.self)
        #expect(text.hasPrefix("HTTP/1.1 503 "), "\(text)")
    }

    @Test("stopping closes sockets that are still open")
    func stopClosesUpgraded() throws {
        var fixture: Fixture? = try Fixture()
        let client = try SocketClient(port: try #require(fixture?.port))
        try client.send(Array("GET /upgrade HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n".utf8))
        _ = try client.read()
        fixture = nil
        #expect(try client.read().isEmpty)
    }
}

import BridgeTestSupport
import RoomsRuntime
import RoomsTransport

@testable import Rooms

/// An auth route with the loop that it lives on, ended with the test.
final class LiveRoute: Sendable {
    let transport = TransportLoop(name: "auth-loop")
    private let route: LoopBound<AuthRoute>
    private let queue = LogQueue(sink: StandardErrorSink(style: .plain))

    init(port: UInt16, user: String? = nil, _ change: (inout AuthOptions) -> Void = { _ in }) throws {
        var options = AuthOptions(url: try ServerURL(ByteString("http://127.0.0.1:\(port)/auth")))
        if let user {
            options.headers = .fixed([HTTPHeader(name: "Authorization", value: Secret("Bearer \(user)"))])
        }
        options.policy.backoff = Backoff(least: .milliseconds(10), most: .milliseconds(20))
        change(&options)
        route = LoopBound(
            AuthRoute(transport: transport, options: options, logger: Logger(queue: queue, level: .error)),
            on: transport.loop
        )
        transport.loop.start()
    }

    deinit {
        transport.loop.stop()
        if !transport.loop.isOnLoop { transport.loop.join() }
        queue.close()
    }

    func perform<Value: Sendable>(_ body: @escaping @Sendable (AuthRoute) -> Value) async throws -> Value {
        let route = route
        return try await transport.loop.run { body(route.value) }
    }

    /// Asks and waits for all of the answer.
    func ask(_ rooms: [ByteString] = [], connection: Bool = false) async throws -> TokenAnswer {
        let answers = Answers()
        _ = try await perform { $0.request(connection: connection, rooms: rooms, answers.take) }
        return try await answers.all(rooms.count, connection: connection)
    }
}

/// Gathers the parts of an answer.
final class Answers: Sendable {
    private let parts = Lock<[TokenAnswer]>([])

    @Sendable func take(_ answer: TokenAnswer) { parts.withLock { $0.append(answer) } }

    var count: Int { parts.withLock { $0.count } }

    func all(_ rooms: Int, connection: Bool = false) async throws -> TokenAnswer {
        try await eventually(within: .seconds(30), "the whole answer") {
            var all = TokenAnswer()
            for part in parts.withLock({ $0 }) {
                if part.connection != nil { all.connection = part.connection }
                all.rooms.merge(part.rooms) { $1 }
            }
            return all.rooms.count == rooms && (all.connection != nil) == connection ? all : nil
        }
    }
}

/// An auth route of a test: keeps the requests, and answers as it is told to.
final class ScriptedRoute: Sendable {
    let server: RawServer
    private let seen: Lock<[(head: String, body: String)]>

    /// `answer` gets the number of the request, from 0.
    init(_ answer: @escaping @Sendable (RawConnection, Int) -> Void) throws {
        let seen = Lock<[(head: String, body: String)]>([])
        self.seen = seen
        server = try RawServer { connection in
            while let request = connection.readRequest() {
                let number = seen.withLock { seen in
                    seen.append((request.head, String(decoding: request.body, as: UTF8.self)))
                    return seen.count - 1
                }
                answer(connection, number)
            }
        }
    }

    var port: UInt16 { server.port }
    var requests: [(head: String, body: String)] { seen.withLock { $0 } }
}

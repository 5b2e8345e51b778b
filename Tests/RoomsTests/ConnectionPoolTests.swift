import BridgeTestSupport
import Foundation
import HubCore
import RoomsRuntime
import RoomsTransport
import RoomsWire
import Testing

@testable import Rooms

/// Rooms spread over several connections to a hub.
@Suite struct ConnectionPoolTests {
    private func rooms(_ count: Int) -> [ByteString] { (0..<count).map { ByteString("order:\($0)") } }

    @Test("C34: more rooms than one connection should hold are spread, in the order in which they came")
    func spread() async throws {
        let hub = try TestHub()
        let pool = try LivePool(port: hub.port, roomsPerConnection: 3)
        await pool.add(rooms(7))
        try await eventually { pool.joined == Set(0..<7) }
        #expect(try await hub.connections == 3)
        for room in 0..<7 { try await hub.publish("order:\(room)", "\"\(room)\"") }
        try await eventually { pool.payloads.count == 7 }
        #expect(pool.payloads.map { "\($0.room) \($0.text)" }.sorted() == (0..<7).map { "\($0) \"\($0)\"" })
    }

    @Test("rooms that were left make place for others, and empty connections end")
    func left() async throws {
        let hub = try TestHub()
        let pool = try LivePool(port: hub.port, roomsPerConnection: 2)
        await pool.add(rooms(6))
        try await eventually { pool.joined.count == 6 }
        await pool.remove([2, 3])
        try await eventually { (try? await hub.connections) == 2 }
        await pool.add(["order:new"])
        try await eventually { pool.joinedNames.contains("order:new") }
        #expect(try await hub.connections == 3)
    }

    @Test("C30: a room that a connection has no place for moves to another one, and the rest stay joined")
    func limited() async throws {
        let hub = try TestHub { $0.session.roomLimit = 2 }
        let pool = try LivePool(port: hub.port, roomsPerConnection: 100)
        await pool.add(rooms(5))
        try await eventually { pool.joined == Set(0..<5) }
        #expect(try await hub.connections == 3)
        #expect(pool.failures.isEmpty)
    }

    @Test("C34: with fewer connections than wanted, more rooms go on each; what was joined stays joined")
    func connectionLimit() async throws {
        let hub = try TestHub { $0.session.userConnectionLimit = 2 }
        let pool = try LivePool(port: hub.port, roomsPerConnection: 3, user: "ann")
        await pool.add(rooms(6))
        try await eventually { pool.joined.count == 6 }
        await pool.add(["order:6", "order:7"])
        try await eventually { pool.joined.count == 8 }
        #expect(try await hub.connections == 2)
        #expect(pool.failures.isEmpty)
        #expect(pool.joins.values.allSatisfy { $0 == 1 })
    }

    @Test("C34: the same rooms are together again after a restart, whatever order they answer in")
    func stable() async throws {
        let hub = try TestHub()
        var groups: [Set<Set<ByteString>>] = []
        for _ in 0..<2 {
            let pool = try LivePool(port: hub.port, roomsPerConnection: 7)
            await pool.add(rooms(40))
            try await eventually { pool.joined.count == 40 }
            groups.append(await pool.groups(rooms(40)))
        }
        #expect(groups[0] == groups[1])
        #expect(groups[0].count == 6)
        #expect(groups[0].contains(Set(rooms(7))))
    }

    @Test(
        "C34: with one connection allowed it holds 128 rooms; the others fail with a clear error, and no joined one is stopped"
    )
    func mostRooms() async throws {
        let hub = try TestHub { $0.session.userConnectionLimit = 1 }
        let pool = try LivePool(port: hub.port, roomsPerConnection: 100, user: "ann")
        await pool.add(Array(rooms(100)))
        try await eventually { pool.joined.count == 100 }
        await pool.add(Array(rooms(131).dropFirst(100)))
        try await eventually { pool.joined.count == 128 && pool.failures.count == 3 }
        #expect(try await hub.connections == 1)
        #expect(Set(pool.failures.map(\.room)) == [128, 129, 130])
        #expect(pool.failures.allSatisfy { $0.code == 3504 || $0.code == 106 })
        #expect(pool.joins.values.allSatisfy { $0 == 1 })
    }

    @Test("where no connection may hold a room it fails with the server's code, and the others do not notice")
    func full() async throws {
        let hub = try TestHub {
            $0.session.userConnectionLimit = 1
            $0.session.roomLimit = 2
        }
        let pool = try LivePool(port: hub.port, roomsPerConnection: 2, user: "ann")
        await pool.add(rooms(3))
        try await eventually { !pool.failures.isEmpty }
        try await eventually { pool.joined == [0, 1] }
        #expect(pool.failures.map(\.room) == [2])
        #expect([106, 3_504].contains(pool.failures[0].code))
    }

    @Test("C34: rooms that no connection may hold fail, also late ones; they are joined once the server allows more")
    func allowedLater() async throws {
        let hub = try TestHub { $0.session.userConnectionLimit = 2 }
        let other = try LivePool(port: hub.port, roomsPerConnection: 1, user: "ann")
        await other.add(["order:other"])
        try await eventually { other.joined.count == 1 }
        let pool = try LivePool(port: hub.port, roomsPerConnection: 100, user: "ann")
        await pool.add(rooms(200))
        try await eventually { pool.joined.count == 128 && pool.failures.count == 72 }
        await pool.add(["order:late"])
        try await eventually { pool.failures.contains { $0.room == 200 && $0.code == 3_504 } }
        #expect(Set(pool.failures.map(\.room)).isDisjoint(with: pool.joined))
        await other.end()
        try await eventually { pool.joined.count == 201 }
        #expect(pool.joins.values.allSatisfy { $0 == 1 })
        #expect(try await hub.connections == 2)
    }

    @Test("a room that moves after it was joined goes on behind its position")
    func movesWithPosition() async throws {
        let hub = try TestHub()
        let pool = try LivePool(port: hub.port, roomsPerConnection: 2, user: "ann")
        await pool.add(rooms(2))
        try await eventually { pool.joined.count == 2 }
        try await hub.publish("order:0", "1")
        try await eventually { pool.payloads.count == 1 }
        try await hub.disconnect(user: "ann")
        for number in 2...20 { try await hub.publish("order:0", "\(number)") }
        try await eventually { pool.payloads.count == 20 }
        #expect(pool.payloads.map(\.text) == (1...20).map { "\($0)" })
    }

    @Test("requests are answered with what the room's own connection got")
    func requests() async throws {
        let hub = try TestHub {
            $0.rooms = .configured([RoomRule(pattern: "order:{id}", isPublic: true, presence: true)])
        }
        let pool = try LivePool(port: hub.port, roomsPerConnection: 1)
        await pool.add(rooms(2))
        try await eventually { pool.joined.count == 2 }
        await pool.ask(.presenceStats(channel: "order:1"), in: 1, number: 7)
        try await eventually { pool.answers[7] != nil }
        #expect(pool.answers[7] == .presenceStats(clients: 1, users: 1))
    }
}

extension TestHub {
    /// How many clients are connected.
    fileprivate var connections: Int {
        get async throws {
            let info = try JSONDocument.parse(Array(try await api.call("info", "{}").utf8)).root
            return info["result"]?["nodes"]?.elements?.first?["num_clients"]?.integer() ?? -1
        }
    }
}

/// A pool with everything it needs, ended with the test.
private final class LivePool: Sendable {
    private let sink: PoolMemory
    private let pool: LoopBound<ConnectionPool>
    private let transport = TransportLoop(name: "rooms-loop")
    private let queue = LogQueue(sink: StandardErrorSink(style: .plain))

    init(port: UInt16, roomsPerConnection: Int, user: String? = nil) throws {
        var options = ConnectionOptions(url: try ServerURL(ByteString("ws://127.0.0.1:\(port)/connection/websocket")))
        options.policy.backoff = Backoff(least: .milliseconds(10), most: .milliseconds(200))
        options.policy.slowRetry = .milliseconds(300)
        if let user {
            let token = TokenKey(HubConfiguration.usualTokenSecret).sign { writer in
                writer.key(literal: "sub")
                writer.string(user)
            }
            options.policy.tokens = TokenSource(connection: { token }, subscription: { _ in nil })
        }
        sink = PoolMemory()
        pool = LoopBound(
            ConnectionPool(
                transport: transport,
                options: options,
                roomsPerConnection: roomsPerConnection,
                sink: sink,
                logger: Logger(queue: queue, level: .error)
            ),
            on: transport.loop
        )
        transport.loop.start()
    }

    deinit {
        let (loop, queue, pool) = (transport.loop, queue, pool)
        loop.post { pool.value.stop { loop.stop() } }
        Thread.detachNewThread {
            loop.join()
            queue.close()
        }
    }

    /// Leaves its rooms and closes its connections.
    func end() async {
        let (loop, pool) = (transport.loop, pool)
        await withCheckedContinuation { continuation in
            loop.post { pool.value.stop { continuation.resume() } }
        }
    }

    private func onLoop(_ body: @escaping @Sendable (ConnectionPool) -> Void) async {
        let pool = pool
        await withCheckedContinuation { continuation in
            transport.loop.post {
                body(pool.value)
                continuation.resume()
            }
        }
    }

    func add(_ names: [ByteString]) async {
        let sink = sink
        await onLoop { pool in
            for name in names { sink.named(pool.add(RoomSpecification(name: name, start: .now)), name) }
        }
    }

    func remove(_ rooms: [Int]) async {
        let sink = sink
        await onLoop { pool in
            for room in rooms {
                pool.remove(room)
                sink.forget(room)
            }
        }
    }

    func ask(_ request: Request, in room: Int, number: UInt64) async {
        await onLoop { $0.ask(request, in: room, number: number) }
    }

    /// Which of the rooms share a connection.
    func groups(_ names: [ByteString]) async -> Set<Set<ByteString>> {
        let clients = Lock<[ByteString: Set<ByteString>]>([:])
        await onLoop { pool in
            for (room, name) in names.enumerated() {
                let client = pool.client(of: room)
                clients.withLock { _ = $0[client, default: []].insert(name) }
            }
        }
        return clients.withLock { Set($0.values) }
    }

    var joined: Set<Int> { sink.state.withLock { $0.joined } }
    var joinedNames: Set<ByteString> {
        sink.state.withLock { state in Set(state.joined.compactMap { state.names[$0] }) }
    }
    var joins: [Int: Int] { sink.state.withLock { $0.joins } }
    var failures: [(room: Int, code: UInt32)] { sink.state.withLock { $0.failures } }
    var payloads: [(room: Int, text: String)] { sink.state.withLock { $0.payloads } }
    var answers: [UInt64: ReplyBody] { sink.state.withLock { $0.answers } }
}

/// What a pool said.
private final class PoolMemory: PoolSink, Sendable {
    struct State: Sendable {
        var names: [Int: ByteString] = [:]
        var joined: Set<Int> = []
        var joins: [Int: Int] = [:]
        var failures: [(room: Int, code: UInt32)] = []
        var payloads: [(room: Int, text: String)] = []
        var answers: [UInt64: ReplyBody] = [:]
    }

    let state = Lock(State())

    func named(_ room: Int, _ name: ByteString) { state.withLock { $0.names[room] = name } }

    func forget(_ room: Int) { state.withLock { _ = $0.joined.remove(room) } }

    func take(_ items: [SinkItem]) -> Intake {
        state.withLock { state in
            for item in items {
                switch item {
                case .joined(let room, _, _):
                    state.joined.insert(room)
                    state.joins[room, default: 0] += 1
                case .failed(let room, let code, _): state.failures.append((room, code))
                case .event(let room, let publication, _, _):
                    state.payloads.append((room, String(decoding: publication.data.array, as: UTF8.self)))
                case .answer(let number, let body): state.answers[number] = body ?? .unknown
                default: break
                }
            }
        }
        return .open
    }

    func connectionChanged(_ status: ConnectionStatus, rooms: [Int]) {
        guard status != .connected else { return }
        state.withLock { $0.joined.subtract(rooms) }
    }
}

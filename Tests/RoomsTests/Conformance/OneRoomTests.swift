import BridgeTestSupport
import RoomsRuntime
import RoomsWire
import Testing

@testable import Rooms

/// A room over which the server ends the whole connection: it alone is failed.
@Suite struct OneRoomTests {
    private let tokens = TokenSource(connection: { nil }, subscription: { Secret("token of \($0)") })

    private func bench(_ rooms: Int, _ tokens: TokenSource? = nil) -> ConnectionBench {
        .rooms(rooms, policy: ConnectionPolicy(tokens: tokens ?? self.tokens))
    }

    /// Answers in order; closes at a subscribe that is guilty.
    private func serve(
        _ bench: inout ConnectionBench,
        closing code: UInt16 = 3500,
        at guilty: (SubscribeRequest) -> Bool
    ) {
        while !bench.commands.isEmpty {
            let command = bench.commands.removeFirst()
            if case .subscribe(let request) = command.request, guilty(request) { return bench.close(code) }
            bench.answer(command)
        }
    }

    private func isLive(_ bench: ConnectionBench, _ room: Int) -> Bool { bench.machine.sessions[room].state == .live }

    /// Connects and serves until every room is joined or failed; gives how many connections that took.
    private func connections(_ bench: inout ConnectionBench, code: UInt16 = 3500, guilty: Set<ByteString>) -> Int {
        var count = 0
        while count < 40, !bench.isReady || !bench.machine.sessions.allSatisfy(\.isSettled) {
            count += 1
            bench.waitForRetry()
            bench.connect()
            serve(&bench, closing: code) { guilty.contains($0.channel) }
        }
        return count
    }

    /// The long pause of a failed room, with pings, until something is sent.
    private func rest(_ bench: inout ConnectionBench) {
        for _ in 0..<67 where bench.commands.isEmpty {
            bench.pass(.seconds(5))
            bench.receive(.ping)
            bench.commands.removeAll { $0 == .pong }
        }
    }

    struct Case: Sendable {
        var rooms: Int
        var guilty: [Int]
        var connections: Int
    }

    @Test(
        "C64: rooms whose token makes the server close with 3500 are failed, and they alone",
        arguments: [
            Case(rooms: 1, guilty: [0], connections: 3), Case(rooms: 2, guilty: [0], connections: 3),
            Case(rooms: 2, guilty: [1], connections: 3), Case(rooms: 40, guilty: [0], connections: 3),
            Case(rooms: 40, guilty: [20], connections: 3), Case(rooms: 100, guilty: [99], connections: 3),
            Case(rooms: 100, guilty: [3, 4, 50], connections: 7),
        ],
        [3500, 3501, 3507, 1009] as [UInt16]
    )
    func found(_ given: Case, code: UInt16) {
        var bench = bench(given.rooms)
        let names = Set(given.guilty.map { ByteString("r\($0)") })
        #expect(connections(&bench, code: code, guilty: names) <= given.connections)
        #expect(bench.isReady)
        for room in 0..<given.rooms {
            let isGuilty = given.guilty.contains(room)
            #expect(bench.lastEvent(room) == (isGuilty ? "failed \(code)" : "replay A/8"))
            #expect(isLive(bench, room) == !isGuilty)
        }
        #expect(!bench.statuses.contains { $0.hasPrefix("terminal") })
    }

    @Test(
        "C64: in whatever order a server answers, the guilty are found and the others joined",
        arguments: 0..<100 as Range<UInt64>
    )
    func anyOrder(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let count = Int.random(in: 1...70, using: &random)
        let guilty = Set(
            (0..<Int.random(in: 0...3, using: &random)).map { _ in Int.random(in: 0..<count, using: &random) }
        )
        let names = Set(guilty.map { ByteString("r\($0)") })
        var bench = bench(count)
        var connections = 0
        while connections < 40, !bench.isReady || !bench.machine.sessions.allSatisfy(\.isSettled) {
            connections += 1
            bench.waitForRetry()
            bench.connect()
            while !bench.commands.isEmpty {
                let command = bench.commands.remove(at: Int.random(in: 0..<bench.commands.count, using: &random))
                if case .subscribe(let request) = command.request, names.contains(request.channel) {
                    bench.close(3500)
                } else if random.one(in: 200) {
                    bench.close(3001)
                } else {
                    bench.answer(command)
                }
            }
        }
        #expect(connections < 40)
        for room in 0..<count where count > guilty.count {
            #expect(bench.lastEvent(room) == (guilty.contains(room) ? "failed 3500" : "replay A/8"), "seed \(seed)")
        }
    }

    @Test("C64: rooms without a position are as safe, and so are those that come later")
    func fresh() {
        var bench = ConnectionBench(
            (0..<60).map { RoomSpecification(name: ByteString("r\($0)"), start: .now) },
            policy: ConnectionPolicy(tokens: tokens)
        )
        #expect(connections(&bench, guilty: ["r10"]) <= 3)
        #expect(bench.seen(10) == ["failed 3500"])
        let late = bench.add(RoomSpecification(name: "late", start: .now))
        let bad = bench.add(RoomSpecification(name: "bad", start: .now))
        bench.streams["late"] = StreamModel()
        serve(&bench) { $0.channel == "bad" }
        #expect(connections(&bench, guilty: ["r10", "bad"]) <= 2)
        #expect(isLive(bench, late))
        #expect(bench.seen(bad) == ["failed 3500"])
    }

    @Test("a room that failed so is tried again after the long pause, alone, and never with the same token")
    func triedAgain() {
        let token = Lock("one")
        let forgotten = Lock(0)
        let tokens = TokenSource(
            connection: { nil },
            subscription: { name in Secret(name == "r0" ? token.withLock { $0 } : "good") },
            expired: { name in if name == "r0" { forgotten.withLock { $0 += 1 } } }
        )
        var bench = bench(30, tokens)
        _ = connections(&bench, guilty: ["r0"])
        #expect(forgotten.withLock { $0 } == 1)
        let subscribes = bench.subscribes.count
        let connected = bench.statuses.count
        rest(&bench)
        #expect(bench.subscribes.count == subscribes)
        #expect(bench.lastEvent(0) == "failed 3500")
        token.withLock { $0 = "two" }
        rest(&bench)
        #expect(bench.commands.count == 1)
        serve(&bench) { $0.channel == "r0" }
        #expect(bench.seen(0).count { $0 == "failed 3500" } == 3)
        #expect(connections(&bench, guilty: ["r0"]) == 1)
        #expect(bench.statuses.count == connected + 3)
        token.withLock { $0 = "three" }
        rest(&bench)
        bench.serve()
        #expect(bench.lastEvent(0) == "replay A/8")
    }

    @Test("a token that is renewed with another room's is found as well; the room's neighbours stay")
    func renewed() {
        var bench = bench(3)
        bench.connect()
        while !bench.commands.isEmpty {
            let command = bench.commands.removeFirst()
            guard case .subscribe(let request) = command.request, request.channel == "r1",
                var result = bench.streams["r1"]?.subscribe(request)
            else {
                bench.answer(command)
                continue
            }
            result.expires = true
            result.ttl = 60
            bench.receive(Reply(id: command.id, .subscribe(result)))
        }
        bench.pass(.seconds(30))
        #expect(bench.commands.last?.request == .subRefresh(channel: "r1", token: "token of r1"))
        bench.close(3500)
        #expect(connections(&bench, guilty: ["r1"]) <= 2)
        #expect(bench.lastEvent(1) == "failed 3500")
        #expect(isLive(bench, 0) && isLive(bench, 2))
    }

    @Test(
        "an end that only happened while rooms were joined costs one more connection and fails none",
        arguments: [3500, 4000]
    )
    func acquitted(code: UInt16) {
        var bench = bench(50)
        bench.connect()
        bench.close(code)
        #expect(connections(&bench, guilty: []) == 1)
        #expect((0..<50).allSatisfy { bench.lastEvent($0) == "replay A/8" })
    }

    @Test("a server that closes with 3500 whatever is asked for is not tried for ever: the connection is to blame")
    func everyRoom() {
        var bench = bench(100)
        var count = 0
        while bench.statuses.last != "terminal 3500", count < 40 {
            count += 1
            bench.waitForRetry()
            bench.connect()
            bench.close(3500)
        }
        // Each room may be sent once, and then eight are found guilty.
        #expect(count <= 23)
        #expect(bench.waitForRetry() >= .seconds(300))
    }

    @Test("with nothing of a room in flight a terminal code means the connection", arguments: [3500, 3501, 3503, 4500])
    func notARoom(code: UInt16) {
        var bench = bench(3)
        bench.connect()
        bench.serve()
        bench.close(code)
        #expect(bench.statuses.last == "terminal \(code)")
    }

    @Test("codes about the user or the server are never a room's", arguments: [3502, 3503, 3504, 3505, 3506, 4500])
    func neverARoom(code: UInt16) {
        var bench = bench(3)
        bench.connect()
        bench.close(code)
        #expect(bench.statuses.last == "terminal \(code)")
    }

    @Test(
        "where the code may pass the room has to wait, and fails the third time but for 3004; the others stay",
        arguments: [3000, 3004, 3006, 3010, 4001, 4499, 5000] as [UInt16]
    )
    func heldBack(code: UInt16) {
        var bench = bench(40)
        var connections = 0
        let end = bench.now + .seconds(3_600)
        var away = Duration.zero
        while bench.now < end {
            if !bench.isReady {
                away += bench.waitForRetry()
                connections += 1
                bench.connect()
            }
            serve(&bench, closing: code) { $0.channel == "r7" }
            if bench.isReady {
                for _ in 0..<5 where bench.isReady && bench.commands.isEmpty {
                    bench.pass(.seconds(5))
                    bench.receive(.ping)
                }
            }
        }
        #expect(connections < 40)
        #expect(away < .seconds(60))
        #expect((0..<40).allSatisfy { isLive(bench, $0) == ($0 != 7) })
        #expect(Set(bench.seen(7)) == (code == 3004 ? [] : ["failed \(code)"]))
        // Then the server lets it in.
        while !isLive(bench, 7), bench.now < end + .seconds(700) {
            bench.pass(.seconds(5))
            bench.receive(.ping)
            bench.serve()
        }
        #expect(bench.lastEvent(7) == "replay A/8")
    }

    @Test("a request of the app that ends the connection does not keep the rooms away for long")
    func appRequest() {
        var bench = bench(3)
        bench.connect()
        bench.serve()
        bench.turn { $0.ask(AppRequest(number: 1, request: .publish(channel: "r0", data: [1])), &$1) }
        bench.close(3501)
        #expect(bench.statuses.last == "waiting 3501")
        #expect(connections(&bench, guilty: []) == 1)
        // One that is too large for any server is not even sent.
        let sent = bench.sent.count
        let data = [UInt8](repeating: 0x20, count: 65_536)
        bench.turn { $0.ask(AppRequest(number: 2, request: .publish(channel: "r0", data: data)), &$1) }
        #expect(bench.sent.count == sent)
        guard case .answer(2, .error(let error)) = bench.items.last else { return #expect(Bool(false)) }
        #expect(error.code == 1009)
    }

    @Test("requests of the app wait while a room is on trial, so that nothing else can be to blame")
    func nothingBeside() {
        var bench = bench(2)
        bench.connect()
        bench.close(3500)
        bench.waitForRetry()
        bench.connect()
        #expect(bench.commands.count == 1)
        bench.turn { $0.ask(AppRequest(number: 1, request: .publish(channel: "r0", data: [1])), &$1) }
        #expect(bench.commands.count == 1)
        bench.answer(bench.commands.removeFirst())
        #expect(bench.commands.count == 1)
        bench.answer(bench.commands.removeFirst())
        #expect(bench.commands.map(\.request) == [.publish(channel: "r0", data: [1])])
    }
}

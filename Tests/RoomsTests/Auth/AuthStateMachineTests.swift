import RoomsRuntime
import Testing

@testable import Rooms

/// Which requests the auth route gets, and when.
@Suite struct AuthStateMachineTests {
    private static func names(_ count: Int, from first: Int = 0) -> [ByteString] {
        (first..<first + count).map { ByteString("r\($0)") }
    }

    // MARK: one request for many

    @Test("What is asked for within 10 ms forms one request, in the order of asking, each room once")
    func window() {
        var bench = AuthBench()
        let first = bench.ask(["b", "a"])
        bench.pass(.milliseconds(4))
        let second = bench.ask(["c", "a", "c"], connection: true)
        bench.pass(.milliseconds(5))
        #expect(bench.sent.isEmpty)
        #expect(bench.wakeAt == bench.now + .milliseconds(1))
        bench.pass(.milliseconds(1))
        #expect(bench.sent.map(\.request) == [AuthRequest(rooms: ["b", "a", "c"], wantsConnection: true)])
        #expect(bench.wakeAt == .distantFuture)
        bench.grant(0)
        #expect(bench.outcome(first, "a") == "a")
        #expect(bench.outcome(first, "b") == "b")
        #expect(bench.connection(first) == nil)
        #expect(bench.outcome(second, "a") == "a")
        #expect(bench.connection(second) == "connection")
        #expect(bench.complete == [first, second])
    }

    @Test("Later ones form a request of their own, also while the first is on its way; nothing is asked for twice")
    func later() {
        var bench = AuthBench()
        let first = bench.ask(["a"])
        bench.pass(.milliseconds(10))
        let second = bench.ask(["a", "b"])
        bench.pass(.milliseconds(10))
        #expect(bench.sent.map(\.request.rooms) == [["a"], ["b"]])
        bench.grant(1)
        #expect(bench.outcome(second, "b") == "b")
        #expect(bench.complete.isEmpty)
        bench.grant(0)
        #expect(bench.complete == [first, second])
    }

    @Test("At most 1000 rooms form a request, at most two are on their way, and the order is kept")
    func many() {
        var bench = AuthBench()
        let all = Self.names(2_500)
        let id = bench.ask(all, connection: true)
        #expect(bench.sent.map(\.request.rooms.count) == [1_000, 1_000])
        #expect(bench.sent.map(\.request.wantsConnection) == [true, false])
        bench.pass(.seconds(1))
        let late = bench.ask(["late"])
        bench.pass(.seconds(1))
        #expect(bench.sent.count == 2)
        #expect(bench.wakeAt == .distantFuture)
        bench.grant(1)
        #expect(bench.sent.count == 3)
        bench.grant(2)
        bench.grant(0)
        #expect(bench.sent.flatMap(\.request.rooms) == all + ["late"])
        #expect(bench.complete == [id, late])
        #expect(bench.answers[id]?.rooms.count == 2_500)
    }

    // MARK: what is kept

    @Test("A token is kept; another request for it is answered at once")
    func kept() {
        var bench = AuthBench()
        _ = bench.ask(["a"], connection: true)
        bench.pass(.milliseconds(10))
        bench.grant(0)
        bench.pass(.seconds(86_400 * 365))
        let again = bench.ask(["a"], connection: true)
        #expect(bench.outcome(again, "a") == "a")
        #expect(bench.connection(again) == "connection")
        #expect(bench.complete.contains(again))
        bench.pass(.seconds(1))
        #expect(bench.sent.count == 1)
    }

    @Test(
        "It is kept until it is to be renewed, on either clock",
        arguments: [.seconds(3_000), .seconds(1), .milliseconds(1), .zero, .seconds(365 * 86_400)] as [Duration],
        [false, true]
    )
    func renewed(_ time: Duration, asleep: Bool) {
        for subject in [TokenSubject.room("a"), .connection] {
            var bench = AuthBench()
            _ = bench.ask(["a"], connection: true)
            bench.pass(.milliseconds(10))
            bench.grant(0)
            bench.learned(renewalAfter: time, of: subject)
            if time >= .seconds(1) {
                bench.pass(time - .milliseconds(101), asleep: asleep)
                let isAtHand = bench.hasAtHand(["a"], connection: true)
                #expect(isAtHand)
                bench.pass(.milliseconds(101), asleep: asleep)
            } else {
                bench.pass(time, asleep: asleep)
            }
            _ = bench.ask(["a"], connection: true)
            bench.pass(.milliseconds(10))
            #expect(bench.sent.count == 2)
            let isRoom = subject != .connection
            #expect(bench.sent.last?.request == AuthRequest(rooms: isRoom ? ["a"] : [], wantsConnection: !isRoom))
        }
    }

    @Test("A life without end overflows nothing")
    func endless() {
        var bench = AuthBench()
        _ = bench.ask(["a"])
        bench.pass(.milliseconds(10))
        bench.grant(0)
        bench.learned(renewalAfter: .seconds(Int64.max), of: .room("a"))
        bench.pass(.seconds(86_400 * 365))
        let isAtHand = bench.hasAtHand(["a"])
        #expect(isAtHand)
    }

    @Test("A token that the server does not take is forgotten, and another one fetched")
    func forgotten() {
        var bench = AuthBench()
        _ = bench.ask(["a", "b"], connection: true)
        bench.pass(.milliseconds(10))
        bench.grant(0)
        bench.forget(.room("a"))
        bench.forget(.room("never"))
        let again = bench.ask(["a", "b"], connection: true)
        bench.pass(.milliseconds(10))
        #expect(bench.sent.last?.request == AuthRequest(rooms: ["a"], wantsConnection: false))
        bench.grant(1, "2")
        #expect(bench.outcome(again, "a") == "a2")
        #expect(bench.outcome(again, "b") == "b")
    }

    @Test("That the user connects anonymously is kept as well")
    func anonymous() {
        var bench = AuthBench()
        let first = bench.ask(["a"], connection: true)
        bench.pass(.milliseconds(10))
        bench.answer(0, TokenAnswer(connection: .success(nil), rooms: ["a": .success(Grant(token: Secret("t")))]))
        #expect(bench.connection(first) == "none")
        let isAtHand = bench.hasAtHand(["a"], connection: true)
        #expect(isAtHand)
    }

    @Test("Errors of rooms are not kept, and cost no pause")
    func roomErrors() {
        var bench = AuthBench()
        let first = bench.ask(["a", "b"])
        bench.pass(.milliseconds(10))
        bench.answer(
            0,
            TokenAnswer(rooms: ["a": .failure(RoomError(.forbidden, "")), "b": .failure(RoomError(.full, ""))])
        )
        #expect(bench.outcome(first, "a") == "forbidden")
        #expect(bench.outcome(first, "b") == "full")
        let second = bench.ask(["a"])
        bench.pass(.milliseconds(10))
        bench.grant(1)
        #expect(bench.outcome(second, "a") == "a")
        #expect(bench.lines == 0)
    }

    @Test("No more tokens are kept than the limit says, and those that were given stay")
    func bounded() {
        var bench = AuthBench(grants: ["shop": Grant(token: Secret("s"))]) { $0.keptRooms = 100 }
        for index in 0..<50 {
            _ = bench.ask(Self.names(10, from: index * 10))
            bench.pass(.milliseconds(10))
            bench.grant(index)
        }
        let shop = bench.ask(["shop", "r499"])
        #expect(bench.outcome(shop, "shop") == "s")
        #expect(bench.outcome(shop, "r499") == "r499")
        _ = bench.ask(["r0"])
        bench.pass(.milliseconds(10))
        #expect(bench.sent.count == 51)
    }

    // MARK: what is given

    @Test("Who is signed out joins a room with a grant without a request, and is asked about with the first other room")
    func guest() {
        let key = Secret([UInt8](repeating: 1, count: 32))
        var bench = AuthBench(grants: ["shop": Grant(token: Secret("s"), keys: ["k": key])])
        let first = bench.ask(["shop"], connection: true)
        #expect(bench.connection(first) == "none")
        #expect(bench.answers[first]?.rooms["shop"] == .success(Grant(token: Secret("s"), keys: ["k": key])))
        #expect(bench.complete == [first])
        bench.pass(.seconds(1))
        #expect(bench.sent.isEmpty)
        _ = bench.ask(["shop", "order:1"], connection: true)
        bench.pass(.milliseconds(10))
        #expect(bench.sent.map(\.request) == [AuthRequest(rooms: ["order:1"], wantsConnection: true)])
    }

    @Test("A grant or token that has run out is fetched anew; without a route it has expired")
    func spent() {
        for hasRoute in [true, false] {
            var bench = AuthBench(hasRoute: hasRoute, token: Secret("c"), grants: ["shop": Grant(token: Secret("s"))])
            let first = bench.ask(["shop"], connection: true)
            #expect(bench.connection(first) == "c")
            #expect(bench.outcome(first, "shop") == "s")
            bench.forget(.room("shop"))
            bench.forget(.connection)
            let second = bench.ask(["shop"], connection: true)
            bench.pass(.milliseconds(10))
            if hasRoute {
                #expect(bench.sent.map(\.request) == [AuthRequest(rooms: ["shop"], wantsConnection: true)])
            } else {
                #expect(bench.outcome(second, "shop") == "expired")
                #expect(bench.connection(second) == "expired")
            }
        }
    }

    @Test("Without a route rooms are joined without tokens")
    func noRoute() {
        var bench = AuthBench(hasRoute: false)
        let id = bench.ask(["a"], connection: true)
        #expect(bench.outcome(id, "a") == "none")
        #expect(bench.connection(id) == "none")
        #expect(bench.complete == [id])
    }

    // MARK: failures

    @Test("A failure reaches all that waited, and the next request comes behind a pause that grows")
    func backoff() throws {
        var bench = AuthBench()
        var pauses: [Duration] = []
        for index in 0..<12 {
            let id = bench.ask(["a", "b"], connection: true)
            let asked = bench.now
            bench.pass(max(.milliseconds(10), bench.wakeAt - bench.now))
            try #require(bench.sent.count == index + 1)
            if index > 0 { pauses.append(bench.now - asked) }
            bench.fail(index)
            #expect(bench.outcome(id, "a") == "unavailable")
            #expect(bench.connection(id) == "unavailable")
            #expect(bench.complete.contains(id))
        }
        #expect(pauses.allSatisfy { $0 >= .milliseconds(500) && $0 <= .seconds(20) })
        #expect(pauses.prefix(2).reduce(.zero, +) < pauses.suffix(2).reduce(.zero, +))
        #expect(bench.lines == 12)
        let id = bench.ask(["a"])
        bench.pass(bench.wakeAt - bench.now)
        bench.grant(12)
        #expect(bench.outcome(id, "a") == "a")
        // Good again: what comes next does not wait.
        _ = bench.ask(["c"])
        bench.pass(.milliseconds(10))
        #expect(bench.sent.count == 14)
    }

    @Test("The route's own wish for a pause is respected and capped; a long one is told at once")
    func retryAfter() {
        var bench = AuthBench()
        _ = bench.ask(["a"])
        bench.pass(.milliseconds(10))
        bench.fail(0, pause: .seconds(100))
        let second = bench.ask(["a"])
        #expect(bench.outcome(second, "a") == "unavailable")
        bench.pass(.seconds(81))
        _ = bench.ask(["a"])
        bench.pass(.seconds(18))
        #expect(bench.sent.count == 1)
        bench.pass(.seconds(1))
        #expect(bench.sent.count == 2)
        bench.fail(1, pause: .seconds(Int64.max))
        bench.pass(.seconds(300))
        _ = bench.ask(["a"])
        bench.pass(.milliseconds(10))
        #expect(bench.sent.count == 3)
    }

    @Test("Two that fail together are one failure")
    func together() {
        var bench = AuthBench { $0.roomsPerRequest = 1 }
        _ = bench.ask(["a", "b"])
        #expect(bench.sent.count == 2)
        bench.fail(0)
        bench.fail(1)
        #expect(bench.lines == 1)
    }

    @Test("A user whom the route does not know is told so, without a pause")
    func unauthorized() {
        var bench = AuthBench()
        let first = bench.ask(["a"], connection: true)
        bench.pass(.milliseconds(10))
        bench.fail(0, .unauthorized, pause: .seconds(50))
        #expect(bench.outcome(first, "a") == "unauthorized")
        #expect(bench.connection(first) == "unauthorized")
        _ = bench.ask(["a"])
        bench.pass(.milliseconds(10))
        #expect(bench.sent.count == 2)
    }

    // MARK: cancelling

    @Test("What nobody waits for any more is not asked for, and the rest stays in order")
    func cancelQueued() {
        var bench = AuthBench()
        let first = bench.ask(["a", "b"], connection: true)
        _ = bench.ask(["b", "c"])
        bench.cancel(first)
        bench.cancel(first)
        bench.pass(.milliseconds(10))
        #expect(bench.sent.map(\.request) == [AuthRequest(rooms: ["b", "c"], wantsConnection: false)])
        bench.grant(0)
        #expect(bench.answers[first] == nil)
        var empty = AuthBench()
        empty.cancel(empty.ask(["a"]))
        #expect(empty.wakeAt == .distantFuture)
        empty.pass(.seconds(1))
        #expect(empty.sent.isEmpty)
    }

    @Test("A request on its way is let go of when nobody waits for it; its late answer counts for nothing")
    func cancelInFlight() {
        var bench = AuthBench()
        let first = bench.ask(["a"])
        bench.pass(.milliseconds(10))
        bench.cancel(first)
        #expect(bench.aborted == [bench.sent[0].flight])
        let second = bench.ask(["a"])
        bench.grant(0, "old")
        #expect(bench.answers.isEmpty)
        bench.pass(.milliseconds(10))
        bench.grant(1, "new")
        #expect(bench.outcome(second, "a") == "anew")
    }

    @Test("A request on its way that others wait for goes on; what was cancelled of it is asked for again")
    func cancelShared() {
        var bench = AuthBench()
        let first = bench.ask(["a"])
        let second = bench.ask(["b"])
        bench.pass(.milliseconds(10))
        bench.cancel(first)
        #expect(bench.aborted.isEmpty)
        let third = bench.ask(["a"])
        bench.grant(0, "old")
        #expect(bench.outcome(second, "b") == "bold")
        #expect(bench.outcome(third, "a") == nil)
        bench.pass(.milliseconds(10))
        #expect(bench.sent.last?.request.rooms == ["a"])
        bench.grant(1, "new")
        #expect(bench.outcome(third, "a") == "anew")
    }

    @Test("Letting go of a request makes room for the next")
    func cancelMakesRoom() {
        var bench = AuthBench { $0.roomsPerRequest = 1 }
        let first = bench.ask(["a"])
        _ = bench.ask(["b", "c"])
        #expect(bench.sent.map(\.request.rooms) == [["a"], ["b"]])
        bench.cancel(first)
        #expect(bench.sent.map(\.request.rooms) == [["a"], ["b"], ["c"]])
    }
}

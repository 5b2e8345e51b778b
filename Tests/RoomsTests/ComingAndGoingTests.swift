import BridgeTestSupport
import RoomsRuntime
import RoomsWire
import Testing

@testable import Rooms

/// Rooms that are joined and left while the connection lives, tokens that take their time, and requests of the app.
@Suite struct ComingAndGoingTests {
    private func resuming(_ name: ByteString) -> RoomSpecification {
        RoomSpecification(name: name, start: .resume(RoomPosition(epoch: "A", offset: 5)))
    }

    private func unsubscribes(_ bench: ConnectionBench) -> [ByteString] {
        bench.sent.compactMap { command in
            if case .unsubscribe(let channel) = command.request { return channel }
            return nil
        }
    }

    // MARK: rooms

    @Test("a room added to a ready connection is joined and caught up at once; one added before, with the others")
    func added() {
        var bench = ConnectionBench()
        for name: ByteString in ["a", "b"] { bench.streams[name] = StreamModel(published: 7) }
        let a = bench.add(resuming("a"))
        #expect(bench.commands.isEmpty)
        bench.connect()
        bench.serve()
        #expect(bench.seen(a) == ["joined A/5", "replay A/6", "replay A/7"])
        let b = bench.add(resuming("b"))
        bench.serve()
        #expect(bench.seen(b) == ["joined A/5", "replay A/6", "replay A/7"])
        bench.publish("b")
        #expect(bench.lastEvent(b) == "event A/8" && a != b)
    }

    @Test("a room that is left is unsubscribed once, and nothing of it is heard from then on")
    func removed() {
        var bench = ConnectionBench.rooms(2)
        bench.connect()
        bench.serve()
        let heard = bench.seen(0).count
        bench.remove(0)
        bench.publish("r0")
        bench.serve()
        bench.publish("r0")
        #expect(bench.seen(0).count == heard)
        #expect(unsubscribes(bench) == ["r0"])
        bench.close(3_001)
        bench.waitForRetry()
        bench.connect()
        bench.serve()
        #expect(bench.subscribes.map(\.channel) == ["r0", "r1", "r1"])
        bench.publish("r1")
        #expect(bench.lastEvent(1) == "event A/9")
    }

    @Test(
        "left while its subscribe, a page or its unsubscribe is in flight, or while it failed: it ends left",
        arguments: ["subscribe", "page", "refused", "failed", "away"]
    )
    func removedInBetween(_ moment: String) {
        var bench = ConnectionBench.rooms(1, published: 8)
        if moment != "away" { bench.connect() }
        switch moment {
        case "page":
            bench.joinBehind()
        case "failed":
            bench.receive(Reply(id: bench.commands.removeFirst().id, .error(ErrorReply(code: 103, message: "no"))))
        default: break
        }
        bench.remove(0)
        if moment == "refused" {
            bench.receive(Reply(id: bench.commands.removeFirst().id, .error(ErrorReply(code: 103, message: "no"))))
        }
        let heard = bench.items.count
        if moment == "away" { bench.connect() }
        bench.serve()
        #expect(bench.seen(0).count <= 1, "\(bench.seen(0))")
        #expect(bench.machine.sessions[0].state == .gone)
        #expect(unsubscribes(bench) == (["subscribe", "page"].contains(moment) ? ["r0"] : []))
        if moment != "away" { #expect(bench.items.count == heard) }
    }

    @Test("joined again while it is still being left: first the one, then the other, under the same number")
    func rejoined() {
        var bench = ConnectionBench.rooms(1)
        bench.connect()
        bench.serve()
        bench.remove(0)
        #expect(bench.add(RoomSpecification(name: "r0", start: .now)) == 0)
        bench.serve()
        #expect(unsubscribes(bench) == ["r0"])
        #expect(bench.subscribes.map(\.recover) == [true, false])
        #expect(bench.lastEvent(0) == "replay A/8" && bench.seen(0).last == "joined A/8")
        bench.publish("r0")
        #expect(bench.lastEvent(0) == "event A/9")
    }

    @Test("places of rooms that were left are used again")
    func reused() {
        var bench = ConnectionBench()
        bench.connect()
        for round in 0..<200 {
            let name = ByteString("room \(round)")
            bench.streams[name] = StreamModel()
            let room = bench.add(RoomSpecification(name: name, start: .now))
            #expect(room == 0)
            bench.serve()
            bench.remove(room)
            bench.serve()
        }
        #expect(bench.machine.sessions.count == 1)
        #expect(unsubscribes(bench).count == 200)
    }

    // MARK: tokens

    /// Tokens that come when the test says so.
    private final class Tokens: Sendable {
        let known = Lock<[ByteString: Result<Secret?, TokenFault>]>([:])
        let expired = Lock<[ByteString?]>([])

        var source: TokenSource {
            TokenSource(
                connection: { try self.get("") },
                subscription: { try self.get($0) },
                expired: { name in
                    self.expired.withLock { $0.append(name) }
                    self.known.withLock { $0[name ?? ""] = nil }
                }
            )
        }

        private func get(_ name: ByteString) throws -> Secret? {
            guard let result = known.withLock({ $0[name] }) else { throw TokenFault.pending }
            return try result.get()
        }

        func set(_ name: ByteString, _ token: Secret?) { known.withLock { $0[name] = .success(token) } }

        func refuse(_ name: ByteString, _ code: UInt32) {
            known.withLock { $0[name] = .failure(.refused(code: code, reason: "no")) }
        }
    }

    @Test("C16: nothing is dialled before the connection token is there")
    func pendingConnection() {
        let tokens = Tokens()
        var bench = ConnectionBench(policy: ConnectionPolicy(tokens: tokens.source))
        bench.start()
        bench.pass(.seconds(60))
        bench.tokensArrived()
        #expect(bench.actions == [] && bench.statuses == ["connecting"])
        tokens.set("", Secret("t"))
        bench.tokensArrived()
        #expect(bench.actions == [.dial(generation: 1)] && bench.statuses == ["connecting"])
        bench.connect()
        #expect(bench.isReady)
    }

    @Test("a connection token that will not be given is told, and asked for again slowly")
    func refusedConnection() {
        let tokens = Tokens()
        var bench = ConnectionBench(policy: ConnectionPolicy(tokens: tokens.source))
        bench.start()
        tokens.refuse("", 101)
        bench.tokensArrived()
        #expect(bench.statuses == ["connecting", "terminal 101"] && bench.actions == [])
    }

    @Test("rooms wait for their own tokens only; one that gets none fails with its code")
    func pendingRooms() {
        let tokens = Tokens()
        tokens.set("", nil)
        var bench = ConnectionBench.rooms(3, policy: ConnectionPolicy(tokens: tokens.source))
        bench.connect()
        #expect(bench.commands.isEmpty)
        tokens.set("r1", Secret("one"))
        tokens.refuse("r2", 103)
        bench.tokensArrived()
        #expect(bench.subscribes.map(\.token) == ["one"])
        #expect(bench.seen(2) == ["failed 103"])
        bench.serve()
        #expect(bench.lastEvent(1) == "replay A/8" && bench.seen(0).isEmpty)
        tokens.set("r0", nil)
        bench.tokensArrived()
        bench.serve()
        #expect(bench.lastEvent(0) == "replay A/8")
    }

    @Test("C59: a token that comes after the connection ended is used for the next one alone")
    func lateToken() {
        let tokens = Tokens()
        tokens.set("", nil)
        var bench = ConnectionBench.rooms(1, policy: ConnectionPolicy(tokens: tokens.source))
        bench.connect()
        bench.close(3_001)
        tokens.set("r0", Secret("late"))
        bench.tokensArrived()
        #expect(bench.subscribes.isEmpty)
        bench.waitForRetry()
        bench.connect()
        #expect(bench.subscribes.map(\.token) == ["late"])
    }

    @Test("C30: an expired room token is given back and the next one waited for; the second in a row fails the room")
    func expired() {
        let tokens = Tokens()
        tokens.set("", nil)
        tokens.set("r0", Secret("0"))
        var bench = ConnectionBench.rooms(1, policy: ConnectionPolicy(tokens: tokens.source))
        bench.connect()
        for round in 1...2 {
            let subscribe = bench.commands.removeFirst()
            bench.receive(Reply(id: subscribe.id, .error(ErrorReply(code: 109, message: "token expired"))))
            #expect(tokens.expired.withLock { $0 }.count == round)
            bench.pass(.seconds(20))
            tokens.set("r0", Secret("\(round)"))
            bench.tokensArrived()
        }
        #expect(bench.subscribes.map(\.token) == ["0", "1"])
        #expect(bench.seen(0) == ["failed 109"])
    }

    @Test("a subscription that ran out asks for a new token before it is renewed")
    func ranOut() {
        let tokens = Tokens()
        tokens.set("", nil)
        tokens.set("r0", Secret("old"))
        var bench = ConnectionBench.rooms(1, policy: ConnectionPolicy(tokens: tokens.source))
        bench.connect()
        bench.serve()
        let push = Push(channel: "r0", .unsubscribe(code: 2_501, reason: "subscription expired"))
        bench.receive(Reply(id: 0, .push(push)))
        #expect(tokens.expired.withLock { $0 } == ["r0"])
        tokens.set("r0", Secret("new"))
        bench.tokensArrived()
        #expect(bench.subscribes.map(\.token) == ["old", "new"])
    }

    @Test("C55: the connection's own token is renewed when it comes, also late")
    func renewal() {
        let tokens = Tokens()
        tokens.set("", Secret("first"))
        var bench = ConnectionBench(policy: ConnectionPolicy(tokens: tokens.source))
        bench.connect(.expiring(60))
        tokens.known.withLock { $0[""] = nil }
        bench.pass(.seconds(31))
        #expect(bench.commands.isEmpty)
        tokens.set("", Secret("second"))
        bench.tokensArrived()
        #expect(bench.commands.map(\.request) == [.refresh(token: "second")])
    }

    // MARK: members and requests

    @Test("joins and leaves are asked for, and heard in rooms that are joined")
    func members() {
        var policy = ConnectionPolicy()
        policy.hearsMembers = true
        var bench = ConnectionBench.rooms(1, policy: policy)
        bench.connect()
        #expect(bench.subscribes.map(\.joinLeave) == [true])
        bench.serve()
        let ann = ClientInfo(user: "ann", client: "c1")
        bench.receive(
            Reply(id: 0, .push(Push(channel: "r0", .join(ann)))),
            Reply(id: 0, .push(Push(channel: "other", .join(ann)))),
            Reply(id: 0, .push(Push(channel: "r0", .leave(ann))))
        )
        #expect(bench.seen(0).suffix(2) == ["join ann", "leave ann"])
    }

    @Test("what the app asks for is answered by number; what the connection's end left open is answered with nothing")
    func requests() {
        var bench = ConnectionBench()
        bench.ask(1, .publish(channel: "r0", data: [1]))
        #expect(bench.answers == ["1 nothing"])
        bench.connect()
        for number in 2...40 { bench.ask(UInt64(number), .presenceStats(channel: "r0")) }
        #expect(bench.commands.count == 32)
        let first = bench.commands.removeFirst()
        bench.receive(Reply(id: first.id, .presenceStats(clients: 2, users: 1)))
        let second = bench.commands.removeFirst()
        bench.receive(Reply(id: second.id, .error(ErrorReply(code: 108, message: "not available"))))
        #expect(bench.answers == ["1 nothing", "2 presence", "3 error 108"])
        #expect(bench.commands.count == 32)
        bench.close(3_001)
        #expect(bench.answers.suffix(37) == (4...40).map { "\($0) nothing" })
        bench.waitForRetry()
        bench.connect()
        #expect(bench.commands.isEmpty)
    }

    @Test("a request that is not answered in time ends the connection like any other command")
    func unanswered() {
        var bench = ConnectionBench()
        bench.connect()
        bench.ask(1, .presence(channel: "r0"))
        bench.pass(.seconds(5))
        #expect(bench.actions.last == .close(code: 1_000, reason: .noAnswer))
        #expect(bench.answers == ["1 nothing"])
    }
}

extension ConnectionBench {
    mutating func add(_ specification: RoomSpecification) -> Int {
        let number = Lock(0)
        turn { machine, turn in
            let room = machine.add(specification, &turn)
            number.withLock { $0 = room }
        }
        return number.withLock { $0 }
    }

    mutating func remove(_ room: Int) { turn { $0.remove(room, &$1) } }

    fileprivate mutating func tokensArrived() { turn { $0.tokensArrived(&$1) } }

    fileprivate mutating func ask(_ number: UInt64, _ request: Request) {
        turn { $0.ask(AppRequest(number: number, request: request), &$1) }
    }

    fileprivate var answers: [String] {
        items.compactMap { item in
            guard case .answer(let number, let body) = item else { return nil }
            switch body {
            case nil: return "\(number) nothing"
            case .presenceStats: return "\(number) presence"
            case .error(let error): return "\(number) error \(error.code)"
            default: return "\(number) other"
            }
        }
    }
}

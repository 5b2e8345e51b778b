import RoomsRuntime
import RoomsWire
import Testing

@testable import Rooms

@Suite struct ConnectionLifecycleTests {
    @Test func `a server's clock that is far from ours is told once, whoever tells it`() {
        var bench = ConnectionBench()
        func told(_ bench: ConnectionBench) -> [String] {
            bench.lines.filter { "\($0.message)".contains("clock") }.compactMap { line in
                line.fields.first { $0.key == .skew }?.value
            }
        }
        bench.start()
        let generation = bench.machine.generation
        let wall = Int64(bench.now.nanoseconds / 1_000_000) + bench.wallShift
        bench.turn { $0.opened(generation: generation, date: wall / 1_000 + 600, &$1) }
        #expect(told(bench).count == 1 && told(bench)[0].hasSuffix("behind"))
        var result = ConnectResult.plain
        result.time = wall + 600_000
        bench.answerConnect(.connect(result))
        #expect(told(bench).count == 1)
        // The same clock as ours.
        bench = ConnectionBench()
        result.time = Int64(bench.now.nanoseconds / 1_000_000) + bench.wallShift
        bench.connect(result)
        #expect(told(bench).isEmpty)
    }

    // MARK: ping

    @Test(
        "C11: each ping is answered with exactly one pong, and none when the server wants none",
        arguments: [true, false]
    )
    func pong(isWanted: Bool) {
        var bench = ConnectionBench()
        var result = ConnectResult.plain
        result.pong = isWanted
        bench.connect(result)
        bench.receive(.ping, .ping)
        bench.receive(.ping)
        #expect(bench.pongs == (isWanted ? 3 : 0))
    }

    @Test("C12: nothing goes out unasked while a connection is quiet")
    func noPongUnasked() {
        var bench = ConnectionBench()
        bench.connect()
        let before = bench.sent.count
        for _ in 0..<3 { bench.pass(.seconds(10)) }
        #expect(bench.sent.count == before)
        #expect(bench.sent.allSatisfy { $0.request != .ping })
    }

    @Test("C13: silence for the ping interval and 10 s ends the connection; anything heard starts it anew")
    func watchdog() {
        var bench = ConnectionBench()
        bench.connect()
        bench.pass(.seconds(34))
        bench.receive(.ping)
        bench.pass(.seconds(34))
        #expect(bench.isReady)
        #expect(bench.machine.wakeAt <= bench.now + .seconds(1))
        bench.pass(.seconds(1))
        #expect(bench.actions.last == .close(code: 1000, reason: .noPing))
        #expect(bench.statuses.last == "waiting 0")
    }

    @Test("C13: without pings there is no watchdog")
    func noWatchdog() {
        var bench = ConnectionBench()
        var result = ConnectResult.plain
        result.ping = 0
        bench.connect(result)
        bench.pass(.seconds(100_000))
        #expect(bench.isReady)
    }

    @Test("an absurd ping interval neither traps nor loops")
    func hugePing() {
        var bench = ConnectionBench()
        var result = ConnectResult.expiring(.max)
        result.ping = .max
        bench.connect(result)
        bench.pass(.seconds(60))
        #expect(bench.isReady)
        #expect(bench.machine.wakeAt > bench.now)
    }

    // MARK: connect

    @Test("C15 and C16: connect is the first command, sent at once, and nothing else before its answer")
    func connectFirst() {
        var bench = ConnectionBench.rooms(3)
        bench.start()
        bench.open()
        #expect(bench.sent.count == 1)
        guard case .connect(let request) = bench.sent[0].request else { return #expect(Bool(false)) }
        #expect(bench.sent[0].id >= 1)
        #expect(request.name == "rooms")
        bench.answerConnect(.connect(.plain))
        #expect(bench.subscribes.count == 3)
    }

    @Test("C16: the token is fetched before dialling; without one there is no dial, but another try")
    func tokenBeforeDial() {
        struct NoToken: Error {}
        let tokens = TokenSource(connection: { throw NoToken() }, subscription: { _ in nil })
        var bench = ConnectionBench(policy: ConnectionPolicy(tokens: tokens))
        bench.start()
        #expect(bench.actions == [])
        #expect(bench.statuses == ["waiting 0"])
        bench.waitForRetry()
        #expect(bench.statuses == ["waiting 0", "waiting 0"])
    }

    @Test("C17: no answer to connect in 5 s closes and tries again")
    func connectTimeout() {
        var bench = ConnectionBench()
        bench.start()
        bench.open()
        bench.pass(.seconds(5))
        #expect(bench.actions.last == .close(code: 1000, reason: .noAnswer))
        bench.waitForRetry()
        #expect(bench.actions.last == .dial(generation: 2))
    }

    @Test("C18: an expired token is replaced; without a newer one the retry is slow", arguments: [true, false])
    func expiredToken(hasNewer: Bool) {
        let count = Lock(0)
        let tokens = TokenSource(
            connection: {
                count.withLock { count in
                    count += 1
                    return Secret(hasNewer ? "token \(count)" : "token")
                }
            },
            subscription: { _ in nil }
        )
        var bench = ConnectionBench(policy: ConnectionPolicy(tokens: tokens))
        bench.start()
        bench.open()
        bench.answerConnect(.error(ErrorReply(code: 109, message: "token expired")))
        #expect(bench.actions.last == .close(code: 1000, reason: .refused))
        bench.waitForRetry()
        if hasNewer {
            #expect(bench.actions.last == .dial(generation: 2))
        } else {
            #expect(bench.statuses.last == "terminal 109")
            guard case .connection(.waiting(_, let reason, _, _)) = bench.items.last else {
                return #expect(Bool(false))
            }
            #expect(reason == "token expired, and there is no newer one")
            #expect(bench.waitForRetry() >= .seconds(300))
            // Then the server is asked once more.
            #expect(bench.actions.last == .dial(generation: 2))
        }
    }

    @Test("C18: an expired token where there is none at all is tried slowly")
    func expiredWithoutToken() {
        var bench = ConnectionBench()
        bench.start()
        bench.open()
        bench.answerConnect(.error(ErrorReply(code: 109, message: "token expired")))
        #expect(bench.statuses.last == "terminal 109")
    }

    @Test(
        "C19 and C68: temporary connect errors are tried again soon, others slowly",
        arguments: [
            (100, false), (111, false), (101, true), (103, true), (107, true), (102, true),
        ] as [(UInt32, Bool)]
    )
    func connectErrors(code: UInt32, isTerminal: Bool) {
        var bench = ConnectionBench()
        bench.start()
        bench.open()
        bench.answerConnect(.error(ErrorReply(code: code, message: "no")))
        // The socket is closed by us, at once, and nothing more is said.
        #expect(bench.actions.last == .close(code: 1000, reason: .refused))
        #expect(bench.sent.count == 1)
        #expect(bench.statuses.last == (isTerminal ? "terminal \(code)" : "waiting \(code)"))
        let pause = bench.waitForRetry()
        #expect(isTerminal ? pause >= .seconds(300) && pause <= .seconds(330) : pause <= .seconds(20))
    }

    // MARK: ends

    @Test(
        "C20 and C21: what each close code means",
        arguments: [
            (1000, false), (1001, false), (1006, false), (1009, true), (3000, false), (3001, false), (3004, false),
            (3005, false), (3008, false), (3012, false), (3499, false), (3501, true), (3503, true),
            (3504, true), (3999, true), (4000, false), (4499, false), (4500, true), (4999, true), (5000, false),
            (3500, true), (3502, true), (3508, true), (1011, false), (4200, false), (65_535, false),
        ] as [(UInt16, Bool)]
    )
    func closeCodes(code: UInt16, isTerminal: Bool) {
        var bench = ConnectionBench()
        bench.connect()
        bench.close(code)
        #expect(bench.statuses.last == (isTerminal ? "terminal \(code)" : "waiting \(code)"))
        let pause = bench.waitForRetry()
        #expect(isTerminal ? pause >= .seconds(300) : pause <= .seconds(20))
        #expect(bench.actions.last == .dial(generation: 2))
    }

    @Test(
        "C22: codes that somebody must act on name a likely cause",
        arguments: [3500, 3501, 3504, 3506, 1009] as [UInt16]
    )
    func hints(code: UInt16) {
        var bench = ConnectionBench()
        bench.connect()
        bench.close(code)
        let line = bench.lines.last
        #expect(line?.level == .error)
        #expect(line?.fields.contains { $0.key == .hint && !$0.value.isEmpty } == true)
    }

    @Test("C24: the pauses grow until a connection has lived for 10 s")
    func attemptsReset() {
        var bench = ConnectionBench()
        bench.start()
        for _ in 0..<12 {
            bench.end(.lost(reason: "refused"))
            bench.waitForRetry()
        }
        // A server that lets in and closes at once does not make the pauses short again.
        var longest = Duration.zero
        for _ in 0..<12 {
            bench.connect()
            bench.close(3001)
            longest = max(longest, bench.waitForRetry())
        }
        #expect(longest > .seconds(5))
        bench.connect()
        bench.pass(.seconds(10))
        bench.close(3001)
        #expect(bench.waitForRetry() <= .seconds(1))
    }

    @Test("failures of one kind are logged at the first, second, fourth, eighth … time")
    func quietLog() {
        var bench = ConnectionBench()
        bench.start()
        for _ in 0..<100 {
            bench.end(.lost(reason: "refused"))
            bench.waitForRetry()
        }
        #expect(bench.lines.count == 7)
    }

    @Test("C01: a server that does not speak our subprotocol is tried slowly, with a hint")
    func foreignProtocol() {
        var bench = ConnectionBench()
        bench.start()
        bench.end(.foreignProtocol(reason: "it chose none"))
        #expect(bench.statuses.last == "terminal 0")
        #expect(bench.lines.last?.fields.contains { $0.key == .hint } == true)
    }

    @Test("C10: a frame that cannot be decoded closes, and the retry is slow; what came before it is kept")
    func undecodable() {
        var bench = ConnectionBench.rooms(1)
        bench.connect()
        bench.serve()
        let push = Reply(id: 0, .push(Push(channel: "r0", .publication(publication(9)))))
        let generation = bench.machine.generation
        bench.turn { machine, turn in
            _ = machine.frameBegan(generation: generation, &turn)
            machine.receive(push, &turn)
            machine.undecodable("cut off", generation: generation, &turn)
        }
        #expect(bench.seen(0).last == "event A/9")
        #expect(bench.actions.last == .close(code: 1002, reason: .undecodable))
        #expect(bench.statuses.last == "terminal 0")
    }

    @Test("C09: unknown pushes, pushes of unknown rooms and replies with unknown ids change nothing")
    func unknown() {
        var bench = ConnectionBench.rooms(1)
        bench.connect()
        bench.serve()
        let before = bench.items.count
        bench.receive(
            Reply(id: 0, .push(Push(channel: "r0", .unknown))),
            Reply(id: 0, .push(Push(channel: "other", .publication(publication(1))))),
            Reply(id: 0, .push(Push(channel: "", .unsubscribe(code: 2000, reason: "")))),
            Reply(id: 777, .unknown),
            Reply(id: 778, .subscribe(SubscribeResult()))
        )
        #expect(bench.items.count == before)
        #expect(bench.isReady)
        #expect(bench.machine.tally.unknown == 4)
        let told = "the server said something that this client does not know or did not ask for; it is ignored"
        #expect(bench.lines.count { "\($0.message)" == told } == 1)
    }

    @Test(
        "C26: a disconnect push counts like the close code",
        arguments: [
            (3503, "terminal 3503"), (3001, "waiting 3001"), (4500, "terminal 4500"), (70_000, "waiting 65535"),
        ]
            as [(UInt32, String)]
    )
    func disconnectPush(code: UInt32, status: String) {
        var bench = ConnectionBench()
        bench.connect()
        bench.receive(Reply(id: 0, .push(Push(channel: "", .disconnect(code: code, reason: "out", reconnect: false)))))
        #expect(bench.actions.last == .close(code: 1000, reason: .toldToLeave))
        #expect(bench.statuses.last == status)
    }

    @Test("C27: 3014 voids the token and the positions of all rooms, each with a gap")
    func stateInvalidated() {
        let voided = Lock<[ByteString?]>([])
        let tokens = TokenSource(
            connection: { Secret("token") },
            subscription: { _ in nil },
            expired: { name in voided.withLock { $0.append(name) } }
        )
        var bench = ConnectionBench.rooms(2, policy: ConnectionPolicy(tokens: tokens))
        bench.connect()
        bench.serve()
        bench.streams["r0"]?.publish()
        bench.close(3014)
        #expect(voided.withLock { $0 } == [nil])
        bench.waitForRetry()
        bench.connect()
        bench.serve()
        #expect(bench.subscribes.suffix(2).allSatisfy { !$0.recover })
        #expect(bench.seen(0).last == "gap invalidated A/9-9 then A/9")
        #expect(bench.seen(1).last == "gap invalidated A/9- then A/8")
    }

    @Test("C50: what an older socket says is dropped")
    func oldGeneration() {
        var bench = ConnectionBench.rooms(1)
        bench.connect()
        bench.serve()
        bench.close(3001)
        bench.waitForRetry()
        let push = Reply(id: 0, .push(Push(channel: "r0", .publication(publication(9)))))
        bench.receive(push, generation: 1)
        bench.turn { $0.opened(generation: 1, &$1) }
        bench.turn { $0.ended(.closed(code: 3500, reason: ""), generation: 1, &$1) }
        #expect(bench.machine.state == .dialling)
        #expect(!bench.seen(0).contains("event A/9"))
    }

    @Test("C25: stop closes cleanly and nothing comes after it")
    func stop() {
        var bench = ConnectionBench.rooms(1)
        bench.connect()
        bench.serve()
        bench.turn { $0.stop(&$1) }
        #expect(bench.actions.last == .close(code: 1000, reason: .none))
        bench.publish("r0")
        bench.pass(.seconds(1_000))
        #expect(bench.machine.sessions[0].position?.offset == 8)
        #expect(bench.statuses.last == "stopped")
        #expect(bench.actions.last == .close(code: 1000, reason: .none))
    }

    // MARK: intake

    @Test("intake paused: reading stops, after 5 s the connection is closed, and dialled when intake resumes")
    func held() {
        var bench = ConnectionBench.rooms(1)
        bench.connect()
        bench.serve()
        bench.turn { $0.intakePaused(&$1) }
        #expect(bench.actions.last == .pauseReading)
        bench.pass(.seconds(4))
        #expect(bench.isReady)
        bench.pass(.seconds(1))
        #expect(bench.actions.last == .close(code: 1000, reason: .intakePaused))
        #expect(bench.statuses.last == "held")
        bench.pass(.seconds(1_000))
        #expect(bench.statuses.last == "held")
        bench.turn { $0.intakeResumed(&$1) }
        #expect(bench.actions.last == .dial(generation: 2))
    }

    @Test("a short pause of intake costs nothing, and no command is blamed for it")
    func shortPause() {
        var bench = ConnectionBench.rooms(1)
        bench.connect()
        bench.turn { $0.intakePaused(&$1) }
        bench.pass(.milliseconds(4_900))
        bench.turn { $0.intakeResumed(&$1) }
        #expect(bench.actions.last == .resumeReading)
        bench.pass(.seconds(4))
        #expect(bench.isReady)
        bench.serve()
        #expect(bench.seen(0).count == 4)
    }

    @Test("while intake is paused nothing is dialled")
    func pausedBetweenConnections() {
        var bench = ConnectionBench()
        bench.connect()
        bench.turn { $0.intakePaused(&$1) }
        bench.close(3001)
        bench.waitForRetry()
        #expect(bench.statuses.last == "held")
        bench.turn { $0.intakeResumed(&$1) }
        #expect(bench.actions.last == .dial(generation: 2))
    }

    // MARK: tokens

    private func tokens(_ count: Lock<Int>) -> TokenSource {
        TokenSource(
            connection: {
                count.withLock { count in
                    count += 1
                    return Secret("connection \(count)")
                }
            },
            subscription: { name in Secret("room \(name.string)") }
        )
    }

    @Test(
        "C55: a connection that expires is refreshed early, and again by the new ttl",
        arguments: [600, 3_600] as [UInt32]
    )
    func refresh(ttl: UInt32) {
        let count = Lock(0)
        var bench = ConnectionBench(policy: ConnectionPolicy(tokens: tokens(count)))
        var result = ConnectResult.expiring(ttl)
        result.ping = 0
        bench.connect(result)
        #expect(bench.machine.client == "c")
        let latest: Duration = ttl == 600 ? .seconds(300) : .seconds(3_000)
        bench.pass(latest - latest / 10 - .seconds(1))
        #expect(bench.commands == [])
        bench.pass(latest / 10 + .seconds(1))
        #expect(bench.commands.last?.request == .refresh(token: "connection 2"))
        var answer = RefreshResult()
        answer.expires = true
        answer.ttl = 100
        bench.receive(Reply(id: bench.commands.removeLast().id, .refresh(answer)))
        // The answer names no client: it is still the same.
        #expect(bench.machine.client == "c")
        bench.pass(.seconds(50))
        #expect(bench.commands.last?.request == .refresh(token: "connection 3"))
    }

    @Test("C56: a refused refresh is tried again after 5 to 10 s")
    func refreshRefused() {
        var bench = ConnectionBench(policy: ConnectionPolicy(tokens: tokens(Lock(0))))
        bench.connect(.expiring(60))
        bench.pass(.seconds(30))
        let first = bench.commands.removeLast()
        bench.receive(Reply(id: first.id, .error(ErrorReply(code: 100, message: "later", isTemporary: true))))
        bench.pass(.milliseconds(4_900))
        #expect(bench.commands == [])
        bench.receive(.ping)
        bench.pass(.milliseconds(5_100))
        #expect(bench.commands.contains { $0.request == .refresh(token: "connection 3") })
    }

    @Test("C56: a token that cannot be fetched is tried for every 5 to 10 s until 3005; then with a new one")
    func refreshFails() {
        struct NoToken: Error {}
        let calls = Lock<[Instant]>([])
        let (now, isBroken) = (Lock(Instant(nanoseconds: 0)), Lock(false))
        let expired = Lock(0)
        let tokens = TokenSource(
            connection: {
                calls.withLock { $0.append(now.withLock { $0 }) }
                if isBroken.withLock({ $0 }) { throw NoToken() }
                return Secret("token \(calls.withLock { $0.count })")
            },
            subscription: { _ in nil },
            expired: { _ in expired.withLock { $0 += 1 } }
        )
        var bench = ConnectionBench(policy: ConnectionPolicy(tokens: tokens))
        var result = ConnectResult.expiring(60)
        result.ping = 0
        bench.connect(result)
        isBroken.withLock { $0 = true }
        let end = bench.now + .seconds(85)
        while bench.now < end {
            bench.pass(.milliseconds(100))
            now.withLock { $0 = bench.now }
        }
        let times = calls.withLock { $0.dropFirst() }
        let pauses = zip(times, times.dropFirst()).map { $1 - $0 }
        #expect(pauses.count >= 5)
        #expect(pauses.allSatisfy { $0 > .milliseconds(4_800) && $0 < .milliseconds(10_200) }, "\(pauses)")
        #expect(bench.commands.isEmpty && bench.isReady)
        bench.close(3005)
        #expect(expired.withLock { $0 } == 1)
        isBroken.withLock { $0 = false }
        bench.waitForRetry()
        bench.open()
        guard case .connect(let request) = bench.commands.last?.request else { return #expect(Bool(false)) }
        #expect(request.token == ByteString("token \(calls.withLock { $0.count })"))
    }

    @Test("C57: a room's token is refreshed with its name, and only when it expires")
    func subscriptionRefresh() {
        let start = RoomStart.now
        var bench = ConnectionBench(
            [RoomSpecification(name: "a", start: start), RoomSpecification(name: "b", start: start)],
            policy: ConnectionPolicy(tokens: tokens(Lock(0)))
        )
        bench.connect()
        for command in bench.commands {
            guard case .subscribe(let request) = command.request else { continue }
            #expect(request.token == ByteString("room \(request.channel.string)"))
            var result = SubscribeResult()
            result.expires = request.channel == "a"
            result.ttl = request.channel == "a" ? 60 : 0
            bench.receive(Reply(id: command.id, .subscribe(result)))
        }
        bench.commands = []
        bench.pass(.seconds(30))
        #expect(bench.commands.map(\.request) == [.subRefresh(channel: "a", token: "room a")])
    }

    @Test("C60: a machine that slept renews its tokens by the wall clock; one whose clock went back, by the other")
    func bothClocks() {
        for shift in [3_100_000, -86_400_000] as [Int64] {
            var bench = ConnectionBench(
                [RoomSpecification(name: "a", start: .now)],
                policy: ConnectionPolicy(tokens: tokens(Lock(0)))
            )
            var result = ConnectResult.expiring(3_600)
            result.ping = 0
            bench.connect(result)
            var joined = SubscribeResult()
            joined.expires = true
            joined.ttl = 3_600
            bench.receive(Reply(id: bench.commands.removeLast().id, .subscribe(joined)))
            bench.wallShift = shift
            bench.pass(.seconds(1))
            if shift < 0 {
                #expect(bench.commands.isEmpty)
                bench.pass(.seconds(3_000))
            }
            #expect(
                Set(bench.commands.map { "\($0.request)" }) == [
                    "\(Request.refresh(token: "connection 2"))",
                    "\(Request.subRefresh(channel: "a", token: "room a"))",
                ]
            )
        }
    }
}

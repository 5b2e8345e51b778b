import RoomsRuntime
import RoomsWire
import Testing

@testable import Rooms

@Suite struct ConnectionPacingTests {
    @Test("C28: at most 32 commands are in flight, at most 8 of them recoveries")
    func window() {
        var bench = ConnectionBench.rooms(50)
        bench.connect()
        #expect(bench.commands.count == 8)
        bench.answer(bench.commands.removeFirst())
        #expect(bench.commands.count == 8)
        var fresh = ConnectionBench(
            (0..<50).map { RoomSpecification(name: ByteString("r\($0)"), start: .now) }
        )
        fresh.connect()
        #expect(fresh.commands.count == 32)
        fresh.serve()
        #expect(fresh.subscribes.count == 50)
    }

    @Test("C28: every room is subscribed after each connect, in one frame's worth of turns")
    func everyRoom() {
        var bench = ConnectionBench.rooms(100)
        bench.connect()
        bench.serve()
        #expect((0..<100).allSatisfy { bench.seen($0) == ["joined A/5", "replay A/6", "replay A/7", "replay A/8"] })
        bench.close(3001)
        bench.waitForRetry()
        bench.connect()
        bench.serve()
        #expect(bench.subscribes.count == 200)
        #expect(bench.lines.count { "\($0.message)" == "rooms are joined" } == 2)
    }

    @Test("C29: no answer to a subscribe in 5 s ends the connection")
    func subscribeTimeout() {
        var bench = ConnectionBench([RoomSpecification(name: "a", start: .now)])
        bench.connect()
        bench.pass(.milliseconds(2_500))
        bench.receive(.ping)
        bench.pass(.milliseconds(2_500))
        #expect(bench.actions.last == .close(code: 1000, reason: .noAnswer))
        #expect(bench.statuses.last == "waiting 0")
        bench.waitForRetry()
        #expect(bench.actions.last == .dial(generation: 2))
    }

    @Test("a recovery may take longer as long as something is heard, but not for ever")
    func slowRecovery() {
        var bench = ConnectionBench.rooms(1)
        bench.connect()
        for _ in 0..<13 {
            bench.pass(.seconds(4))
            bench.receive(.ping)
        }
        #expect(bench.isReady)
        for _ in 0..<4 {
            bench.pass(.seconds(4))
            bench.receive(.ping)
        }
        #expect(!bench.isReady)
    }

    @Test(
        "C62: an overload with recoveries in flight halves the window, each answer widens it by one",
        arguments: [
            1006, 3008, 3009,
        ] as [UInt16]
    )
    func halves(code: UInt16) {
        var bench = ConnectionBench.rooms(50, published: 700)
        bench.connect()
        bench.close(code)
        bench.waitForRetry()
        bench.connect()
        // The eight that were lost join without recovery, the others wait for their turn in a window of four.
        #expect(bench.commands.count { isRecovery($0) } == 4)
        #expect(bench.commands.count { !isRecovery($0) } == 8)
        bench.close(code)
        bench.waitForRetry()
        bench.connect()
        // The second time in a row no room asks for a large answer any more.
        #expect(bench.machine.window.heavyLimit == 2)
        #expect(bench.commands.count { isRecovery($0) } == 0)
        #expect(bench.commands.count == 32)
        bench.serve()
        #expect((0..<50).allSatisfy { bench.seen($0).last == "replay A/700" })
        #expect(bench.machine.window.heavyLimit == 8)
    }

    private func isRecovery(_ command: Command) -> Bool {
        if case .subscribe(let request) = command.request { return request.recover }
        return false
    }

    @Test("an end without recoveries in flight, or of another kind, leaves the window")
    func windowStays() {
        var bench = ConnectionBench.rooms(50)
        bench.connect()
        bench.close(3001)
        bench.waitForRetry()
        bench.connect()
        #expect(bench.commands.count == 8)
        bench.serve()
        bench.close(1006)
        bench.waitForRetry()
        bench.connect()
        #expect(bench.commands.count == 8)
    }

    /// What a server whose queue is small does with an answer.
    enum Closing: Sendable, CaseIterable {
        case behindEachRecovery
        case behindLargeAnswers
    }

    @Test(
        "C61: a server that closes with 3008 behind an answer brings everything, without a loop",
        arguments: Closing.allCases
    )
    func closesBehindAnswers(_ closing: Closing) {
        var bench = ConnectionBench.rooms(20, published: 200)
        var connections = 0
        while (0..<20).contains(where: { bench.lastEvent($0) != "replay A/200" }), connections < 100 {
            connections += 1
            if connections > 1 { bench.waitForRetry() }
            bench.connect()
            while !bench.commands.isEmpty {
                let command = bench.commands.removeFirst()
                let body = bench.honestAnswer(command.request)
                bench.answer(command)
                switch body {
                case .subscribe(let result) where result.recovered: bench.close(3008)
                case .history(let result):
                    if closing == .behindLargeAnswers, result.publications.count > 100 { bench.close(3008) }
                default: break
                }
            }
        }
        #expect(connections < 30)
        for room in 0..<20 {
            let replays = bench.seen(room).filter { !$0.hasPrefix("joined") }
            #expect(replays == (6...200).map { "replay A/\($0)" })
        }
    }

    @Test("C63: one room whose event comes through no reply is found, and the others are all joined")
    func oneBadRoom() {
        var bench = ConnectionBench.rooms(20, published: 40)
        var connections = 0
        while bench.machine.sessions.contains(where: { $0.state != .live }), connections < 60 {
            connections += 1
            if connections > 1 { bench.waitForRetry() }
            bench.connect()
            while !bench.commands.isEmpty {
                let command = bench.commands.removeFirst()
                if isTooLarge(command, bench) {
                    bench.close(3008)
                } else {
                    bench.answer(command)
                }
            }
        }
        #expect(bench.seen(7).filter { $0.hasPrefix("gap") } == ["gap too_large A/20-20 then A/20"])
        #expect((0..<20).allSatisfy { bench.lastEvent($0) == "replay A/40" })
        let others = (0..<20).filter { $0 != 7 }
        #expect(others.allSatisfy { !bench.seen($0).contains { $0.hasPrefix("gap") } })
        // Three of them are the bad room's alone, with one for all between each two.
        #expect(connections < 18)
    }

    /// The answer would hold event 20 of room r7.
    private func isTooLarge(_ command: Command, _ bench: ConnectionBench) -> Bool {
        switch bench.honestAnswer(command.request) {
        case .subscribe(let result): isBad(command.request, result.publications)
        case .history(let result): isBad(command.request, result.publications)
        default: false
        }
    }

    private func isBad(_ request: Request, _ publications: [Publication]) -> Bool {
        let channel: ByteString =
            switch request {
            case .subscribe(let request): request.channel
            case .history(let request): request.channel
            default: ""
            }
        return channel == "r7" && publications.contains { $0.offset == 20 }
    }

    @Test("C65: a broker that is down (3004 on each subscribe) fails no room")
    func brokerDown() {
        var bench = ConnectionBench.rooms(5)
        for _ in 0..<5 {
            bench.connect()
            bench.close(3004)
            bench.waitForRetry()
        }
        bench.connect()
        bench.serve()
        #expect((0..<5).allSatisfy { bench.seen($0).last == "replay A/8" })
    }

    @Test(
        "C30: what a subscribe is refused with is its room's affair, and the other rooms are joined",
        arguments: [100, 102, 103, 105, 106, 107, 108, 109, 111, 400] as [UInt32]
    )
    func refusedAmongOthers(code: UInt32) {
        var bench = ConnectionBench.rooms(3)
        bench.connect()
        while !bench.commands.isEmpty {
            let command = bench.commands.removeFirst()
            guard case .subscribe(let request) = command.request, request.channel == "r1" else {
                bench.answer(command)
                continue
            }
            let error = ErrorReply(code: code, message: "no", isTemporary: code == 100 || code == 111)
            bench.receive(Reply(id: command.id, .error(error)))
        }
        #expect(bench.lastEvent(0) == "replay A/8" && bench.lastEvent(2) == "replay A/8")
        #expect(bench.statuses == ["connecting", "connected"])
        let isTemporary = code == 100 || code == 111
        #expect(bench.seen(1) == (isTemporary ? [] : ["failed \(code)"]))
        guard isTemporary else { return }
        bench.pass(.seconds(2))
        bench.serve()
        #expect(bench.lastEvent(1) == "replay A/8")
    }

    @Test(
        "C67: an unsubscribe without a room, or for one that is not joined, changes nothing",
        arguments: [2000, 2500, 2502]
    )
    func strayUnsubscribes(code: UInt32) {
        var bench = ConnectionBench.rooms(3)
        bench.connect()
        let pending = bench.commands.removeFirst()
        let refused = bench.commands.removeFirst()
        bench.receive(Reply(id: refused.id, .error(ErrorReply(code: 103, message: "no"))))
        bench.serve()
        let (items, sent) = (bench.items.count, bench.sent.count)
        for room in ["", "other", "r0", "r1"] as [ByteString] {
            bench.receive(Reply(id: 0, .push(Push(channel: room, .unsubscribe(code: code, reason: "out")))))
        }
        #expect(bench.items.count == items && bench.sent.count == sent)
        #expect(bench.machine.sessions.map(\.isJoined) == [false, false, true])
        bench.answer(pending)
        bench.publish("r2")
        #expect(bench.seen(0).last == "replay A/8" && bench.seen(1) == ["failed 103"])
        #expect(bench.seen(2).last == "event A/9")
    }

    @Test("an unsubscribe that is answered with an error ends the connection: nobody knows what is subscribed")
    func unsubscribeError() {
        var bench = ConnectionBench.rooms(1)
        bench.connect()
        bench.serve()
        bench.receive(Reply(id: 0, .push(Push(channel: "r0", .publication(publication(12))))))
        #expect(bench.commands.last?.request == .unsubscribe(channel: "r0"))
        bench.receive(Reply(id: bench.commands.removeLast().id, .error(ErrorReply(code: 100, message: "no"))))
        #expect(!bench.isReady)
        #expect(bench.statuses.last == "waiting 0")
    }
}

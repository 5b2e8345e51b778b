import RoomsRuntime
import RoomsWire
import Testing

@testable import Rooms

/// Rooms that the server puts a client into by itself.
@Suite struct ServerSideTests {
    /// What the server adds to its answer to connect: rooms with the streams of the bench.
    private func connect(_ bench: inout ConnectionBench, subs: [ByteString]) {
        if bench.machine.state == .idle { bench.start() }
        bench.waitForRetry()
        bench.open()
        guard let command = bench.commands.popLast(), case .connect(let request) = command.request else { return }
        var result = ConnectResult.plain
        result.subs = subs.map { name in
            let listed = request.subs.first { $0.channel == name }?.request ?? SubscribeRequest()
            let answer = bench.streams[name]?.subscribe(listed) ?? SubscribeResult()
            return NamedSubscribeResult(channel: name, result: answer)
        }
        bench.receive(Reply(id: command.id, .connect(result)))
    }

    private func listed(_ bench: ConnectionBench) -> [[String]] {
        bench.sent.compactMap { command in
            guard case .connect(let request) = command.request else { return nil }
            return request.subs.map { "\($0.channel) \($0.request.epoch)/\($0.request.offset)" }
        }
    }

    private func push(_ bench: inout ConnectionBench, _ room: ByteString) {
        let result = bench.streams[room]?.subscribe(SubscribeRequest()) ?? SubscribeResult()
        var push = SubscribePush()
        push.recoverable = result.recoverable
        push.positioned = result.positioned
        push.epoch = result.epoch
        push.offset = result.offset
        bench.receive(Reply(id: 0, .push(Push(channel: room, .subscribe(push)))))
    }

    private func fresh(_ names: ByteString..., history: Bool = true) -> ConnectionBench {
        var bench = ConnectionBench(names.map { RoomSpecification(name: $0, start: .now) })
        for name in names { bench.streams[name]?.isHistoryAllowed = history }
        return bench
    }

    @Test(
        "C51: a room that comes with connect is joined without a subscribe, and its position goes with the next connect"
    )
    func likeOthers() {
        var bench = fresh("a", "b")
        connect(&bench, subs: ["a"])
        bench.serve()
        #expect(bench.subscribes.map(\.channel) == ["b"])
        bench.publish("a")
        bench.publish("b")
        #expect(bench.seen(0) == ["joined A/0", "event A/1"])
        bench.close(3001)
        bench.streams["a"]?.publish()
        connect(&bench, subs: ["a"])
        bench.serve()
        // Only the room that really was the server's: naming another would be the wish to be put into that.
        #expect(listed(bench) == [[], ["a A/1"]])
        #expect(bench.seen(0) == ["joined A/0", "event A/1", "joined A/1", "replay A/2"])
        bench.publish("a")
        #expect(bench.seen(0).last == "event A/3")
        #expect(bench.subscribes.map(\.channel) == ["b", "b"])
    }

    @Test("C51: what the server names no longer is subscribed like any other room")
    func namedNoLonger() {
        var bench = fresh("a")
        connect(&bench, subs: ["a"])
        bench.publish("a")
        bench.close(3001)
        bench.streams["a"]?.publish()
        connect(&bench, subs: [])
        bench.serve()
        #expect(bench.subscribes.map(\.recover) == [true])
        #expect(bench.seen(0) == ["joined A/0", "event A/1", "joined A/1", "replay A/2"])
        bench.close(3001)
        connect(&bench, subs: [])
        #expect(listed(bench) == [[], ["a A/1"], []])
    }

    @Test("C51: a room that nobody joined is dropped and told of once; whoever joins it later is in it at once")
    func nobodyJoined() {
        var bench = fresh("a")
        bench.streams["b"] = StreamModel(published: 3)
        connect(&bench, subs: ["b"])
        bench.serve()
        bench.publish("b")
        #expect(bench.items.count { if case .event = $0 { true } else { false } } == 0)
        #expect(bench.lines.count { $0.level == .warning } == 1)
        #expect(bench.machine.tally.unknown == 0)
        let room = bench.add(RoomSpecification(name: "b", start: .now))
        bench.serve()
        bench.publish("b")
        #expect(bench.seen(room) == ["joined A/4", "event A/5"])
        #expect(bench.subscribes.map(\.channel) == ["a"])
        // A position of an earlier life is caught up by pages.
        var other = ConnectionBench()
        other.streams["b"] = StreamModel(published: 9)
        connect(&other, subs: ["b"])
        let resumed = other.add(
            RoomSpecification(name: "b", start: .resume(RoomPosition(epoch: "A", offset: 7)))
        )
        other.serve()
        #expect(other.seen(resumed) == ["joined A/7", "replay A/8", "replay A/9"])
    }

    @Test("C51: a subscription that the server adds while connected counts, also for a room that had failed")
    func added() {
        var bench = fresh("a")
        bench.connect()
        let refusal = ErrorReply(code: 103, message: "permission denied")
        bench.receive(Reply(id: bench.commands.removeLast().id, .error(refusal)))
        #expect(bench.seen(0) == ["failed 103"])
        push(&bench, "a")
        bench.publish("a")
        #expect(bench.seen(0) == ["failed 103", "joined A/0", "event A/1"])
        bench.pass(.seconds(1_000))
        #expect(bench.subscribes.count == 1)
    }

    @Test("C51: a subscribe that crosses the server's own subscription is no reason to leave the room")
    func crossed() {
        var bench = fresh("a")
        bench.connect()
        let command = bench.commands.removeLast()
        push(&bench, "a")
        bench.receive(Reply(id: command.id, .error(ErrorReply(code: 105, message: "already subscribed"))))
        bench.publish("a")
        #expect(bench.commands.isEmpty)
        #expect(bench.seen(0) == ["joined A/0", "event A/1"])
    }

    @Test("C51: what a stored position misses is recovered by one more connect where history is refused")
    func historyRefused() {
        let start = RoomStart.resume(RoomPosition(epoch: "A", offset: 5))
        var bench = ConnectionBench([RoomSpecification(name: "a", start: start)])
        bench.streams["a"] = StreamModel(published: 8)
        bench.streams["a"]?.isHistoryAllowed = false
        connect(&bench, subs: ["a"])
        bench.serve()
        #expect(bench.actions.last == .close(code: 1000, reason: .rejoining))
        #expect(bench.waitForRetry() <= .seconds(1))
        connect(&bench, subs: ["a"])
        bench.serve()
        #expect(listed(bench) == [[], ["a A/5"]])
        #expect(bench.seen(0) == ["joined A/5", "joined A/5", "replay A/6", "replay A/7", "replay A/8"])
        // What cannot be recovered either is a gap, and no loop.
        bench.close(3001)
        for _ in 0..<5 { bench.streams["a"]?.publish() }
        bench.streams["a"]?.trim(upTo: 11)
        connect(&bench, subs: ["a"])
        bench.serve()
        #expect(bench.isReady)
        #expect(bench.seen(0).last == "gap not_permitted A/9-13 then A/13")
    }

    @Test("C51: a hole between live events is healed by a new connection, and a room that is left is unsubscribed")
    func holeAndLeave() {
        var bench = fresh("a", "b")
        connect(&bench, subs: ["a", "b"])
        bench.streams["a"]?.publish()
        bench.publish("a")
        #expect(bench.actions.last == .close(code: 1000, reason: .rejoining))
        connect(&bench, subs: ["a", "b"])
        #expect(bench.seen(0) == ["joined A/0", "joined A/0", "replay A/1", "replay A/2"])
        bench.remove(1)
        #expect(bench.commands.map(\.request) == [.unsubscribe(channel: "b")])
        bench.serve()
        bench.close(3001)
        connect(&bench, subs: ["a", "b"])
        #expect(listed(bench).last == ["a A/2"])
        #expect(bench.seen(1) == ["joined A/0", "joined A/0"])
    }

    @Test("C51: what the server took away again is not listed, and is tried after the long pause")
    func takenAway() {
        var bench = fresh("a")
        connect(&bench, subs: ["a"])
        bench.receive(Reply(id: 0, .push(Push(channel: "a", .unsubscribe(code: 2000, reason: "out")))))
        #expect(bench.seen(0) == ["joined A/0", "failed 2000"])
        bench.close(3001)
        connect(&bench, subs: [])
        #expect(listed(bench) == [[], []])
        #expect(bench.commands.isEmpty)
    }

    @Test("100,000 rooms of the server's own choice cost bounded memory and one line")
    func flood() {
        var bench = fresh("a")
        connect(&bench, subs: (0..<100_000).map { ByteString("s\($0)") } + ["a"])
        for number in 0..<100_000 {
            let push = Push(channel: ByteString("p\(number)"), .subscribe(SubscribePush()))
            bench.receive(Reply(id: 0, .push(push)))
        }
        bench.publish("a")
        #expect(bench.seen(0) == ["joined A/0", "event A/1"])
        #expect(bench.machine.serverSide.count == ServerSideRooms.most)
        #expect(bench.machine.sessions.count == 1)
        #expect(bench.lines.count { $0.level == .warning } == 1)
        bench.close(3001)
        #expect(bench.machine.serverSide.count == 0)
    }

    @Test(
        "C08 and C51: what goes with connect stays under what servers take in one frame, and shrinks when no answer comes through"
    )
    func bounded() {
        let names = (0..<128).map { ByteString("\($0):" + String(repeating: "n", count: 900)) }
        let start = RoomStart.resume(RoomPosition(epoch: "A", offset: 0))
        var bench = ConnectionBench(names.map { RoomSpecification(name: $0, start: start) })
        for name in names { bench.streams[name] = StreamModel() }
        connect(&bench, subs: names)
        bench.serve()
        for name in names { bench.publish(name) }
        bench.close(3001)
        var counts: [Int] = []
        for _ in 0..<4 {
            bench.waitForRetry()
            bench.open()
            let command = bench.commands.removeLast()
            var frame: [UInt8] = []
            ProtobufCodec.encode(command, into: &frame)
            #expect(frame.count < 65_536)
            counts.append(listed(bench).last?.count ?? 0)
            bench.end(.lost(reason: "too much"))
        }
        #expect(counts[0] > 20)
        #expect(counts[1...] == [counts[0] / 2, counts[0] / 4, counts[0] / 8])
        connect(&bench, subs: names)
        bench.serve()
        for room in names.indices { #expect(bench.lastEvent(room) == "event A/1") }
    }
}

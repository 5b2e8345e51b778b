import RoomsRuntime
import RoomsWire
import Testing

@testable import Rooms

struct RecoveryCase: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var stream: StreamModel
    var expected: [String]

    init(_ name: String, _ stream: StreamModel, _ expected: [String]) {
        testDescription = name
        self.stream = stream
        self.expected = expected
    }
}

private func stream(
    _ count: Int,
    epoch: ByteString = "A",
    trimmedTo: UInt64 = 0,
    history: Bool = true,
    recoveryLimit: Int = 3
) -> StreamModel {
    var model = StreamModel(epoch: epoch, published: count)
    model.trim(upTo: trimmedTo)
    model.isHistoryAllowed = history
    model.recoveryLimit = recoveryLimit
    return model
}

/// The cases of the table of recovery, for a room whose position is A/5 and whose server recovers at most three.
private let cases: [RecoveryCase] = [
    RecoveryCase(
        "all missed found",
        stream(8),
        ["joined A/5", "replay A/6", "replay A/7", "replay A/8"]
    ),
    RecoveryCase("nothing missed", stream(5), ["joined A/5"]),
    RecoveryCase(
        "too many missed, history allowed",
        stream(9),
        ["joined A/5", "replay A/6", "replay A/7", "replay A/8", "replay A/9"]
    ),
    RecoveryCase(
        "too many missed, history refused",
        stream(9, history: false),
        ["joined A/5", "gap not_permitted A/6-9 then A/9"]
    ),
    RecoveryCase(
        "oldest trimmed, history allowed",
        stream(8, trimmedTo: 6),
        ["joined A/5", "gap trimmed A/6-6 then A/6", "replay A/7", "replay A/8"]
    ),
    RecoveryCase(
        "oldest trimmed, history refused",
        stream(8, trimmedTo: 6, history: false),
        ["joined A/5", "gap not_permitted A/6-8 then A/8"]
    ),
    RecoveryCase(
        "all trimmed, history allowed",
        stream(8, trimmedTo: 8),
        ["joined A/5", "gap trimmed A/6-8 then A/8"]
    ),
    RecoveryCase(
        "offset ahead of the stream",
        stream(3),
        ["joined A/5", "gap went_back A/4-5 then A#1/3"]
    ),
    RecoveryCase(
        "new epoch, history allowed",
        stream(2, epoch: "B"),
        ["joined A/5", "gap epoch_changed A/6- then B/0", "replay B/1", "replay B/2"]
    ),
    RecoveryCase(
        "new epoch, nothing in it",
        stream(0, epoch: "B"),
        ["joined A/5", "gap epoch_changed A/6- then B/0"]
    ),
    RecoveryCase(
        "new epoch, its start trimmed",
        stream(4, epoch: "B", trimmedTo: 2),
        [
            "joined A/5", "gap epoch_changed A/6- then B/0", "gap trimmed B/1-2 then B/2", "replay B/3", "replay B/4",
        ]
    ),
    RecoveryCase(
        "new epoch, history refused",
        stream(7, epoch: "B", history: false),
        ["joined A/5", "gap epoch_changed A/6- then B/0", "gap not_permitted B/1-7 then B/7"]
    ),
]

@Suite struct SessionRecoveryTests {
    @Test("each case of the recovery table gives every offset once, or a gap", arguments: cases)
    func table(_ given: RecoveryCase) {
        var bench = SessionBench.resuming(at: 5, given.stream)
        bench.run()
        #expect(bench.seen == given.expected)
        #expect(bench.session.state == .live)
        #expect(bench.lastSubscribe?.recover == true)
        // What comes live continues behind it.
        bench.publish()
        let position = bench.session.position
        #expect(position?.offset == bench.stream.top)
        #expect(bench.seen.last?.hasPrefix("event ") == true)
    }

    @Test("C36: a room without a position subscribes without recover and starts at the top")
    func freshNow() {
        var bench = SessionBench(.now, StreamModel(published: 7))
        bench.run()
        #expect(bench.lastSubscribe?.recover == false)
        bench.publish()
        #expect(bench.seen == ["joined A/7", "event A/8"])
    }

    @Test("C36: a room with a stored position recovers from exactly that")
    func stored() {
        var bench = SessionBench.resuming(at: 5, epoch: "A", StreamModel(published: 7))
        bench.run()
        #expect(bench.lastSubscribe?.recover == true)
        #expect(bench.lastSubscribe?.epoch == "A")
        #expect(bench.lastSubscribe?.offset == 5)
    }

    @Test("C36: from the earliest recovers with no epoch and offset 0")
    func freshEarliest() {
        var bench = SessionBench(.earliest, StreamModel(published: 2))
        bench.run()
        #expect(bench.lastSubscribe?.recover == true)
        #expect(bench.lastSubscribe?.epoch == .empty)
        #expect(bench.lastSubscribe?.offset == 0)
        #expect(bench.seen == ["joined A/0", "replay A/1", "replay A/2"])
    }

    @Test("from the earliest, what was trimmed before the first join is no gap, and the baseline comes first")
    func freshEarliestTrimmed() {
        var bench = SessionBench(.earliest, stream(6, trimmedTo: 3))
        bench.run()
        #expect(bench.seen == ["joined A/3", "replay A/4", "replay A/5", "replay A/6"])
    }

    @Test("from the earliest with everything trimmed begins at the top")
    func freshEarliestEmpty() {
        var bench = SessionBench(.earliest, stream(6, trimmedTo: 6))
        bench.run()
        #expect(bench.seen == ["joined A/6"])
        #expect(bench.session.state == .live)
    }

    @Test("from the earliest with history refused and recovery not possible says what it could not have")
    func freshEarliestRefused() {
        var bench = SessionBench(.earliest, stream(6, history: false))
        bench.run()
        #expect(bench.seen == ["joined A/0", "gap not_permitted A/1-6 then A/6"])
    }

    @Test("a link lost while the first history is read forgets the baseline nobody was told of")
    func freshEarliestInterrupted() {
        var bench = SessionBench(.earliest, stream(6))
        bench.session.connected()
        bench.step()
        _ = bench.send()
        bench.disconnect()
        #expect(bench.seen == [])
        #expect(bench.session.position == nil)
        bench.run()
        #expect(bench.seen.first == "joined A/0")
        #expect(bench.seen.count == 7)
    }

    @Test("C37: recovered events are handed on in order, before any live one, and the position is the last one's")
    func recoveredFirst() {
        var bench = ConnectionBench.rooms(1)
        bench.connect()
        let command = bench.commands.removeLast()
        guard let answer = bench.honestAnswer(command.request) else { return #expect(Bool(false)) }
        let live = bench.streams["r0"]?.publish() ?? publication(0)
        bench.receive(Reply(id: command.id, answer), Reply(id: 0, .push(Push(channel: "r0", .publication(live)))))
        #expect(bench.seen(0) == ["joined A/5", "replay A/6", "replay A/7", "replay A/8", "event A/9"])
        #expect(bench.machine.sessions[0].position == RoomPosition(epoch: "A", offset: 9))
        let positions = bench.items.compactMap { item in
            if case .event(_, let publication, let position, _) = item {
                return [publication.offset, position?.offset]
            }
            return nil
        }
        #expect(positions == (6...9).map { [$0, $0] })
    }

    @Test(
        "C41: where history is refused what was missed is one gap up to the answer's offset, then live",
        arguments: [103, 108]
    )
    func historyRefused(code: UInt32) {
        var bench = SessionBench.resuming(at: 5, stream(9))
        bench.session.connected()
        bench.step()
        let request = bench.send()
        guard case .history = request else { return #expect(Bool(false)) }
        // These come while the answer is awaited, and are not part of the gap.
        bench.publish(count: 2)
        bench.answer(.error(ErrorReply(code: code, message: "no")))
        bench.publish()
        #expect(
            bench.seen == [
                "joined A/5", "gap not_permitted A/6-9 then A/9", "event A/10", "event A/11", "event A/12",
            ]
        )
        #expect(bench.session.state == .live && bench.session.wish == nil)
    }

    @Test("C38: recovered with nothing leaves the position")
    func nothingRecovered() {
        var bench = SessionBench.resuming(at: 5, stream(5))
        bench.run()
        #expect(bench.session.position == RoomPosition(epoch: "A", offset: 5))
    }

    @Test("C39: the offset of a recovered reply is not taken for the top")
    func offsetIsNotTop() {
        var bench = SessionBench.resuming(at: 5, stream(5))
        bench.session.connected()
        _ = bench.send()
        var result = SubscribeResult()
        result.recoverable = true
        result.positioned = true
        result.recovered = true
        result.epoch = "A"
        result.offset = 9
        bench.answer(.subscribe(result))
        #expect(bench.session.position?.offset == 5)
    }

    @Test("C40: 623 missed come by pages of at most 300, live ones wait, order has no holes")
    func manyPages() {
        var bench = SessionBench.resuming(at: 17, stream(640, recoveryLimit: 300))
        bench.session.connected()
        bench.step()
        bench.publish(count: 5)
        #expect(bench.seen == ["joined A/17"])
        bench.run()
        let expected = ["joined A/17"] + (18...640).map { "replay A/\($0)" } + (641...645).map { "event A/\($0)" }
        #expect(bench.seen == expected)
        #expect(bench.pageLimits.allSatisfy { $0 <= 300 })
    }

    @Test("C42: a trimmed start gives a gap for the missing part alone")
    func trimmedPart() {
        var bench = SessionBench.resuming(at: 5, stream(400, trimmedTo: 350, recoveryLimit: 300))
        bench.run()
        #expect(bench.seen[1] == "gap trimmed A/6-350 then A/350")
        #expect(bench.seen.count == 52)
    }

    @Test("C44: error 112 while filling is learned from by joining again, without a loop")
    func epochChangesWhileFilling() {
        var bench = SessionBench.resuming(at: 5, stream(9))
        bench.session.connected()
        bench.step()
        bench.stream.restart(epoch: "B")
        bench.stream.publish()
        bench.run()
        #expect(bench.seen == ["joined A/5", "joined A/5", "gap epoch_changed A/6- then B/0", "replay B/1"])
    }

    @Test("a server whose history and subscribe contradict each other ends in a gap, not in a loop")
    func contradiction() {
        var bench = SessionBench.resuming(at: 5, stream(9))
        bench.session.connected()
        for _ in 0..<100 {
            guard let request = bench.send() else {
                bench.pass(.seconds(30))
                continue
            }
            if case .history = request {
                bench.answer(.error(ErrorReply(code: 112, message: "unrecoverable position")))
            } else {
                bench.answer(bench.honestAnswer(request))
            }
        }
        #expect(bench.seen.last == "gap not_permitted A/6-9 then A/9")
        #expect(bench.session.state == .live)
        #expect(bench.requests.count < 15)
    }

    @Test(
        "4.5: a room that keeps its latest only gives that, with the offset that was asked for",
        arguments: [
            ("A", 1, 4, ["joined A/1", "gap trimmed A/2-3 then A/3", "replay A/4"]),
            ("A", 3, 4, ["joined A/3", "replay A/4"]),
            // It is older than what was heard: the stream is not what it was.
            ("A", 9, 4, ["joined A/9", "gap went_back A/4-9 then A#1/3", "replay A#1/4"]),
            (
                "B", 9, 4,
                ["joined A/9", "gap epoch_changed A/10- then B/0", "gap trimmed B/1-3 then B/3", "replay B/4"]
            ),
            ("B", 9, 1, ["joined A/9", "gap epoch_changed A/10- then B/0", "replay B/1"]),
        ] as [(String, UInt64, UInt64, [String])]
    )
    func cacheMode(epoch: String, known: UInt64, latest: UInt64, expected: [String]) {
        var bench = SessionBench.resuming(at: known, stream(4))
        bench.session.connected()
        _ = bench.send()
        bench.answer(.subscribe(.latest(latest, epoch: epoch, offset: known)))
        bench.push(publication(latest + 1))
        let stream = epoch == "B" ? "B" : known > latest ? "A#1" : "A"
        #expect(bench.seen == expected + ["event \(stream)/\(latest + 1)"])
    }

    @Test(
        "4.5: where the latest is given unasked it is no gap to whoever is new, and nothing twice to who knows it",
        arguments: [
            (.now, ["joined A/3", "replay A/4"]),
            (.earliest, ["joined A/3", "replay A/4"]),
            (.resume(RoomPosition(epoch: "A", offset: 4)), ["joined A/4"]),
        ] as [(RoomStart, [String])]
    )
    func unaskedLatest(start: RoomStart, expected: [String]) {
        var bench = SessionBench(start, stream(4))
        // As after a recovery that did not come through: it is not asked for again.
        bench.session.avoidRecovery()
        bench.session.connected()
        _ = bench.send()
        bench.answer(.subscribe(.latest(4, epoch: "A", offset: 0)))
        bench.push(publication(5))
        #expect(bench.seen == expected + ["event A/5"])
    }

    @Test("4.5: a voided stream whose latest is given unasked goes on behind that")
    func invalidatedLatest() {
        var bench = SessionBench.resuming(at: 2, stream(4))
        bench.session.invalidate()
        bench.session.connected()
        _ = bench.send()
        bench.answer(.subscribe(.latest(4, epoch: "A", offset: 0)))
        bench.push(publication(5))
        #expect(bench.seen == ["joined A/2", "gap invalidated A/3-4 then A/4", "event A/5"])
    }

    @Test("C27: a voided stream starts at its top again, behind a gap", arguments: ["A", "B"])
    func invalidated(epoch: String) {
        var bench = SessionBench.resuming(at: 5, stream(8, epoch: ByteString(epoch)))
        bench.session.invalidate()
        bench.run()
        #expect(bench.lastSubscribe?.recover == false)
        let gap = epoch == "A" ? "gap invalidated A/6-8 then A/8" : "gap invalidated A/6- then B/8"
        #expect(bench.seen == ["joined A/5", gap])
    }

    @Test("C35 and C48: a room that the server does not recover is live-only, its events have no position")
    func liveOnly() {
        var model = StreamModel()
        model.isRecoverable = false
        var bench = SessionBench(.now, model)
        bench.run()
        bench.push(publication(0))
        bench.push(publication(3))
        #expect(bench.seen == ["joined live-only", "loose", "loose"])
        #expect(bench.lastSubscribe?.recoverable == true)
        #expect(bench.lastSubscribe?.positioned == true)
    }

    @Test("that a room is live-only is logged once, and that it is durable again")
    func durabilityLog() {
        var model = StreamModel()
        model.isRecoverable = false
        var bench = SessionBench(.now, model)
        for isRecoverable in [false, false, true, true] {
            bench.stream.isRecoverable = isRecoverable
            bench.run()
            bench.disconnect()
        }
        #expect(bench.lines.map { "\($0.level)" } == ["warning", "info"])
    }

    @Test("a server that sends deltas, which nobody asked for, is left")
    func delta() {
        var bench = SessionBench(.now, StreamModel())
        bench.session.connected()
        _ = bench.send()
        var result = SubscribeResult()
        result.delta = true
        let verdict = bench.turn { $0.answered(.subscribe(result), attempt: $0.attempt, &$1) }
        #expect(verdict == .reconnect)
        #expect(bench.seen == [])
    }

    @Test("a room that is only positioned is not durable, and what is missed is told")
    func positionedOnly() {
        var bench = SessionBench.resuming(at: 5, stream(7, history: false))
        bench.session.connected()
        _ = bench.send()
        var result = SubscribeResult()
        result.positioned = true
        result.epoch = "A"
        result.offset = 7
        bench.answer(.subscribe(result))
        bench.run()
        #expect(bench.seen == ["joined A/5 not durable", "gap not_permitted A/6-7 then A/7"])
    }

    @Test("C52: offsets at the end of the number range do not trap")
    func hugeOffsets() {
        var bench = SessionBench.resuming(at: .max - 2, StreamModel())
        bench.stream.top = .max
        bench.stream.stored = [publication(.max - 1), publication(.max)]
        bench.run()
        bench.push(publication(.max))
        #expect(
            bench.seen == [
                "joined A/\(UInt64.max - 2)", "replay A/\(UInt64.max - 1)", "replay A/\(UInt64.max)",
            ]
        )
        var other = SessionBench.resuming(at: .max, StreamModel(published: 1))
        other.run()
        other.publish()
        #expect(other.seen.last == "event A#1/2")
    }

    @Test("an empty epoch is adopted from the first answer that has one")
    func emptyEpoch() {
        var bench = SessionBench.resuming(at: 5, epoch: "", stream(6))
        bench.run()
        #expect(bench.seen == ["joined A/5", "replay A/6"])
    }
}

extension SubscribeResult {
    /// Of a room that keeps its latest only.
    fileprivate static func latest(_ latest: UInt64, epoch: String, offset: UInt64) -> SubscribeResult {
        var result = SubscribeResult()
        result.recoverable = true
        result.positioned = true
        result.recovered = true
        result.epoch = ByteString(epoch)
        result.offset = offset
        result.publications = [publication(latest)]
        return result
    }
}

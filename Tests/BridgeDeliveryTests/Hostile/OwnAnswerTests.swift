import BridgeModel
import BridgeTestSupport
import RoomsRuntime
import RoomsTransport
import Testing

@testable import BridgeDelivery

/// An answer is credited to its own request only.
@Suite(.timeLimit(.minutes(1))) struct OwnAnswerTests {
    /// Complete answers with something behind them that another request could take for its own.
    static let surplus: [(String, String)] = [
        (plainAnswer(200), plainAnswer(200)),
        (plainAnswer(200), plainAnswer(410)),
        ("HTTP/1.1 204 No Content\r\n\r\n", plainAnswer(200)),
        ("HTTP/1.1 204 No Content\r\ncontent-length: 38\r\n\r\n", plainAnswer(200)),
        ("HTTP/1.1 202 X\r\ncontent-length: 2\r\n\r\nok", plainAnswer(200)),
        ("HTTP/1.1 200 X\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", plainAnswer(200)),
        ("HTTP/1.1 100 Continue\r\n\r\n" + plainAnswer(200), plainAnswer(200)),
        (plainAnswer(200), "HTTP/1.1 200 X\r\n"),
        (plainAnswer(200), "\n"),
    ]

    /// When the surplus comes.
    enum Moment: CaseIterable {
        case withTheAnswer
        /// While nothing is on its way, and before the next request is thought of.
        case whileIdle
        /// In the turn of the loop in which the next request goes out, too late for it to be told of the bytes.
        case withTheNextRequest
    }

    @Test(
        "what follows a complete answer never becomes the outcome of the next request",
        arguments: surplus,
        Moment.allCases
    )
    func dropsSurplus(_ texts: (String, String), _ moment: Moment) async throws {
        let (answer, surplus) = texts
        let mayFollow = Gate()
        let hasFollowed = Gate()
        let receiver = try RawReceiver { peer in
            guard peer.number == 1 else { return Self.refuseOnceThenAccept(peer) }
            guard peer.read() != nil else { return }
            guard moment != .withTheAnswer else {
                peer.connection.write(answer + surplus)
                _ = peer.read()
                return
            }
            peer.connection.write(answer)
            mayFollow.wait()
            peer.connection.write(surplus)
            hasFollowed.open()
            _ = peer.read()
        }
        let rig = DeliveryRig(port: receiver.port)
        rig.publish()
        try await rig.settleAll()
        switch moment {
        case .withTheAnswer:
            rig.publish()
        case .whileIdle:
            mayFollow.open()
            try await eventually("the surplus") { hasFollowed.isOpen }
            rig.publish()
        case .withTheNextRequest:
            try await rig.whileLoopStands {
                rig.publish()
                mayFollow.open()
                try await eventually("the surplus") { hasFollowed.isOpen }
            }
        }
        try await rig.settleAll()
        await rig.stop()
        mayFollow.open()
        // Neither accepted nor held by what was not its own: it was refused once and accepted then, on another connection.
        #expect(receiver.story == [[1, 1, 1], [2, 1, 2], [2, 2, 2]])
        #expect(receiver.requests.allSatisfy { $0.isWhole })
        receiver.stop()
    }

    /// Answers the first request with 500, the others with 200.
    private static func refuseOnceThenAccept(_ peer: RawReceiver.Peer) {
        while let request = peer.read() { peer.connection.answer(status: request.attempt == 1 ? 500 : 200) }
    }

    // MARK: an answer before the request was sent in full

    struct Early: Sendable, CustomTestStringConvertible {
        var status: Int?
        var end: End
        /// Attempts that follow the first, on other connections; the last is accepted.
        var again: [Int]

        enum End { case stays, closes, resets }

        var testDescription: String { "\(status.map(String.init) ?? "nothing") and \(end)" }
    }

    static let early: [Early] =
        [Early.End.stays, .closes, .resets].flatMap { end in
            [
                Early(status: 417, end: end, again: [2]),
                Early(status: 413, end: end, again: []),
                Early(status: 401, end: end, again: [2]),
                Early(status: 500, end: end, again: [2]),
                Early(status: 200, end: end, again: []),
            ]
        } + [Early(status: nil, end: .closes, again: [2]), Early(status: nil, end: .resets, again: [2])]

    @Test(
        "an answer that comes before the request was sent in full counts for it, and its connection serves no other",
        arguments: early
    )
    func countsEarlyAnswer(_ early: Early) async throws {
        let text = "\"" + String(repeating: "0123456789", count: 800_000) + "\""
        let rest = Lock<Int?>(nil)
        let hasSuccessor = Gate()
        let isOver = Gate()
        let receiver = try RawReceiver(window: 256 * 1024) { peer in
            guard peer.number == 1 else {
                while peer.read() != nil { peer.connection.answer() }
                return
            }
            // The head only: the body is on its way, and has no place to go.
            guard peer.readHead() != nil else { return }
            hasSuccessor.wait()
            if let status = early.status { peer.connection.answer("no", status: status) }
            switch early.end {
            case .stays:
                isOver.wait()
                let count = peer.readRest()
                rest.withLock { $0 = count }
            case .closes:
                peer.connection.close()
            case .resets:
                peer.connection.reset()
            }
        }
        // Long enough for the one behind it to come before it is tried again.
        let rig = DeliveryRig(port: receiver.port) {
            $0.retry = RetrySchedule(base: .milliseconds(300), cap: .milliseconds(300))
        }
        rig.publish(count: 1, Sample.event(text))
        rig.publish()
        hasSuccessor.open()
        try await rig.settleAll()
        isOver.open()
        await rig.stop()
        let later = receiver.requests.dropFirst()
        let expected = early.again.map { [1, $0] } + [[2, 1]]
        #expect(receiver.story.dropFirst().map { Array($0.prefix(2)) } == expected)
        // Each in full from its first byte, and nothing of them on the connection of the first.
        #expect(later.allSatisfy { $0.isWhole && $0.connection > 1 })
        for request in later where request.seq == 1 {
            #expect(String(decoding: request.body, as: UTF8.self).contains(text))
        }
        if case .stays = early.end {
            try await eventually("the end of the first connection") { rest.withLock { $0 } != nil }
            let length = receiver.requests.first?.fields["content-length"].flatMap { Int($0) } ?? 0
            #expect(rest.withLock { $0 ?? length } < length)
        }
        let deadLetters = rig.store.state.withLock { $0.settlements.compactMap(\.deadLetter) }
        #expect(deadLetters.map(\.reason) == (early.status == 413 ? [.tooLarge] : []))
        receiver.stop()
    }

    @Test(
        "a used connection that breaks in the middle of a request costs no attempt, and the request begins anew",
        arguments: [false, true]
    )
    func beginsAnew(isReset: Bool) async throws {
        let text = "\"" + String(repeating: "0123456789", count: 800_000) + "\""
        let receiver = try RawReceiver { peer in
            if peer.number == 1 {
                guard peer.read() != nil else { return }
                peer.connection.answer()
                _ = peer.connection.read(exactly: 300_000)
                return isReset ? peer.connection.reset() : peer.connection.close()
            }
            while peer.read() != nil { peer.connection.answer() }
        }
        let rig = DeliveryRig(port: receiver.port)
        rig.publish()
        rig.publish(count: 1, Sample.event(text))
        try await rig.settleAll()
        await rig.stop()
        #expect(receiver.story == [[1, 1, 1], [2, 1, 2]])
        #expect(receiver.requests.allSatisfy { $0.isWhole })
        #expect(rig.lines.lines.isEmpty)
        receiver.stop()
    }

    @Test("a used connection that dies while the endpoint has asked for a pause is not begun again before its end")
    func keepsPause() async throws {
        let isPaused = Gate()
        let receiver = try RawReceiver { peer in
            while let request = peer.read() {
                switch (request.room, request.seq, request.attempt) {
                case ("room:1", 2, 1) where !isPaused.isOpen:
                    // On its way while the other room gets the pause; then the connection is gone without a word.
                    isPaused.wait()
                    return
                case ("room:2", 2, 1):
                    peer.connection.write(plainAnswer(503, "retry-after: 1\r\n"))
                default:
                    peer.connection.answer()
                }
            }
        }
        let rig = DeliveryRig(port: receiver.port)
        for room in [1, 2] as [Int64] { rig.publish(room: room) }
        try await rig.settleAll()
        rig.publish(room: 1)
        try await eventually("room 1") { receiver.requests.contains { $0.room == "room:1" && $0.seq == 2 } }
        rig.publish(room: 2)
        try await eventually("the pause") { !rig.lines.lines.isEmpty }
        let begin = SystemClock.now
        isPaused.open()
        try await rig.settleAll()
        await rig.stop()
        let later = receiver.requests.dropFirst(4)
        #expect(later.count == 2)
        // A little less than a second: the pause began before its line was seen.
        #expect(later.allSatisfy { $0.arrived - begin > .milliseconds(800) })
        #expect(later.filter { $0.room == "room:1" }.map(\.attempt) == [1])
        #expect(later.filter { $0.room == "room:2" }.map(\.attempt) == [2])
        receiver.stop()
    }
}

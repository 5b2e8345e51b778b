import RoomsRuntime
import RoomsTransport
import RoomsWire
import Testing

@testable import Rooms

/// What clients may not read comes through the server's API, in the same order and with the same gaps.
@Suite struct SessionAPITests {
    /// A client that was away since event 5, of a room in which 300 at most are recovered and history is refused.
    private func returning(_ published: Int, start: RoomStart? = nil) -> SessionBench {
        var policy = ConnectionPolicy()
        policy.hasHistoryAPI = true
        var stream = StreamModel(published: published)
        stream.isHistoryAllowed = false
        let start = start ?? .resume(RoomPosition(epoch: "A", offset: 5))
        return SessionBench(start, stream, policy: policy)
    }

    /// How the API answers.
    private struct API {
        /// Pages with these are answered with 500.
        var unreadable: Set<UInt64> = []
        var isTooLarge = false
        var limits: [Int32] = []

        mutating func answer(_ request: HistoryRequest, _ stream: StreamModel) -> HistoryOutcome {
            limits.append(request.limit)
            var open = stream
            open.isHistoryAllowed = true
            switch open.history(request) {
            case .history(let result):
                let isReadable = !result.publications.contains { unreadable.contains($0.offset) }
                return isReadable ? .answered(.history(result)) : .unreadable(isTooLarge: isTooLarge)
            case .error(let error): return .answered(.error(error))
            default: return .unavailable("?")
            }
        }
    }

    /// Answers until nothing is wanted; pauses pass.
    private func run(_ bench: inout SessionBench, _ api: inout API, limit: Int = 1_000) {
        bench.session.connected()
        for _ in 0..<limit {
            guard let wish = bench.session.wish else {
                guard bench.session.pausedUntil != nil else { return }
                bench.pass(.seconds(60))
                continue
            }
            guard wish == .apiPage else {
                bench.step()
                continue
            }
            guard case .history(let request) = bench.session.start(wish, token: nil) else { return }
            answer(api.answer(request, bench.stream), &bench)
        }
    }

    private func answer(_ outcome: HistoryOutcome, _ bench: inout SessionBench) {
        let attempt = bench.session.attempt
        bench.turn { $0.apiAnswered(outcome, attempt: attempt, &$1) }
    }

    private func replays(_ range: ClosedRange<UInt64>) -> [String] { range.map { "replay A/\($0)" } }

    @Test("all of it comes, live events behind it, and the log says once which way")
    func fills() {
        var bench = returning(900)
        var api = API()
        bench.session.connected()
        bench.step()
        bench.step()
        #expect(bench.session.wish == .apiPage)
        bench.publish(count: 3)
        run(&bench, &api)
        #expect(bench.seen == ["joined A/5"] + replays(6...900) + (901...903).map { "event A/\($0)" })
        bench.disconnect()
        for _ in 0..<301 { bench.stream.publish() }
        run(&bench, &api)
        #expect(bench.seen.suffix(302) == ["joined A/903"] + replays(904...1_204))
        #expect(bench.lines.count { $0.message.description.contains("through the server's API") } == 1)
        #expect(!bench.seen.contains { $0.hasPrefix("gap") })
    }

    @Test("what is trimmed is that, in the API too")
    func trimmed() {
        var bench = returning(900)
        bench.stream.trim(upTo: 500)
        var api = API()
        run(&bench, &api)
        #expect(bench.seen == ["joined A/5", "gap trimmed A/6-500 then A/500"] + replays(501...900))
    }

    @Test("from the earliest event on, without a gap for what was gone before")
    func earliest() {
        var bench = returning(900, start: .earliest)
        bench.stream.trim(upTo: 500)
        var api = API()
        run(&bench, &api)
        #expect(bench.seen == ["joined A/500"] + replays(501...900))
    }

    @Test("events that the API cannot write are a gap, and no others", arguments: [true, false])
    func unreadable(isTooLarge: Bool) {
        var bench = returning(400)
        var api = API(unreadable: [6, 40, 41, 42, 44, 400], isTooLarge: isTooLarge)
        run(&bench, &api)
        let reason = isTooLarge ? "too_large" : "not_permitted"
        func gap(_ range: ClosedRange<UInt64>) -> [String] {
            ["gap \(reason) A/\(range.lowerBound)-\(range.upperBound) then A/\(range.upperBound)"]
        }
        let expected =
            ["joined A/5"] + gap(6...6) + replays(7...39) + gap(40...42) + replays(43...43) + gap(44...44)
            + replays(45...399) + gap(400...400)
        #expect(bench.seen == expected)
        #expect(bench.session.state == .live)
    }

    @Test("an API that is not well is asked again and again, nothing is given up, and the log says it once")
    func troubles() {
        var bench = returning(900)
        bench.session.connected()
        bench.step()
        bench.step()
        let troubles: [HistoryOutcome] = [
            .unavailable("no"), .unavailable("it does not accept the key (401)"),
            .answered(.error(ErrorReply(code: 100, message: "internal server error"))),
        ]
        for round in 0..<30 {
            _ = bench.session.start(.apiPage, token: nil)
            answer(troubles[round % 3], &bench)
            #expect(bench.session.wish == nil && bench.session.state == .filling)
            bench.pass(.seconds(60))
            #expect(bench.session.wish == .apiPage)
        }
        // A server that answers 500 to everything, also to a question about no event.
        for _ in 0..<30 {
            _ = bench.session.start(.apiPage, token: nil)
            answer(.unreadable(isTooLarge: false), &bench)
            bench.pass(.seconds(60))
        }
        #expect(bench.seen == ["joined A/5"])
        #expect(bench.lines.count { $0.message.description.contains("cannot be asked") } == 1)
        var api = API()
        run(&bench, &api)
        #expect(bench.seen == ["joined A/5"] + replays(6...900))
        #expect(
            bench.lines.last { $0.message.description.contains("API") }?.message.description.contains("again") == true
        )
    }

    @Test("where the API gives nothing either, it is a gap as without one", arguments: [102, 104, 108])
    func refused(code: UInt32) {
        var bench = returning(900)
        bench.session.connected()
        bench.step()
        bench.step()
        _ = bench.session.start(.apiPage, token: nil)
        answer(.answered(.error(ErrorReply(code: code, message: "not available"))), &bench)
        #expect(bench.seen == ["joined A/5", "gap not_permitted A/6-900 then A/900"])
        #expect(bench.session.state == .live)
    }

    @Test("an answer that comes after the connection ended counts for nothing")
    func late() {
        var bench = returning(900)
        var api = API()
        bench.session.connected()
        bench.step()
        bench.step()
        guard case .history(let request) = bench.session.start(.apiPage, token: nil) else { return }
        let attempt = bench.session.attempt
        bench.disconnect()
        let outcome = api.answer(request, bench.stream)
        bench.turn { $0.apiAnswered(outcome, attempt: attempt, &$1) }
        #expect(bench.seen == ["joined A/5"] && bench.tally.late == 1)
        run(&bench, &api)
        #expect(bench.seen == ["joined A/5", "joined A/5"] + replays(6...900))
    }

    /// Questions to the API that were not answered yet.
    private func questions(_ bench: inout ConnectionBench) -> [HistoryQuestion] {
        defer { bench.actions = [] }
        return bench.actions.compactMap { action -> HistoryQuestion? in
            if case .ask(let question) = action { return question }
            return nil
        }
    }

    @Test("of many rooms four at a time are asked for, and after the end of the connection they are asked for anew")
    func pacing() {
        var policy = ConnectionPolicy()
        policy.hasHistoryAPI = true
        var bench = ConnectionBench.rooms(10, published: 700, policy: policy)
        for room in bench.streams.keys { bench.streams[room]?.isHistoryAllowed = false }
        bench.connect()
        bench.serve()
        #expect(questions(&bench).count == 4)
        bench.close(1006)
        bench.waitForRetry()
        bench.connect()
        bench.serve()
        var waiting = questions(&bench)
        var rooms: Set<Int> = []
        var api = API()
        while !waiting.isEmpty {
            #expect(waiting.count <= 4)
            let question = waiting.removeFirst()
            rooms.insert(question.room)
            let outcome = api.answer(question.request, bench.streams[ByteString("r\(question.room)")] ?? StreamModel())
            bench.turn { $0.apiAnswered(question, outcome, &$1) }
            waiting += questions(&bench)
        }
        #expect(rooms == Set(0..<10))
        for room in 0..<10 { #expect(bench.seen(room).suffix(695) == replays(6...700)[...], "\(room)") }
    }

    @Test("what each answer of the API means")
    func outcomes() {
        func outcome(_ status: Int, _ body: String = "") -> HistoryOutcome {
            HistoryOutcome(.success(TransferAnswer(status: status, body: Array(body.utf8))))
        }
        #expect(outcome(500, "Internal Server Error") == .unreadable(isTooLarge: false))
        #expect(
            outcome(200, #"{"error":{"code":108,"message":"x"}}"#)
                == .answered(.error(ErrorReply(code: 108, message: "x")))
        )
        for (status, body) in [(200, "<html>"), (401, ""), (404, ""), (502, ""), (301, "")] {
            guard case .unavailable = outcome(status, body) else {
                Issue.record("\(status) \(body)")
                continue
            }
        }
        #expect(HistoryOutcome(.failure(TransportError(.messageTooLarge, "x"))) == .unreadable(isTooLarge: true))
        #expect(HistoryOutcome(.failure(TransportError(.timedOut, "x"))) == .unavailable("x"))
    }
}

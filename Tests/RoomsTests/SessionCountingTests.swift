import RoomsRuntime
import RoomsWire
import Testing

@testable import Rooms

/// How many users are in a room, for who wants to know.
@Suite struct SessionCountingTests {
    private static let question = Request.presenceStats(channel: "room")

    /// Joined, with the count asked for.
    private func joined() -> SessionBench {
        var bench = SessionBench(.now, StreamModel(published: 5), countsMembers: true)
        bench.session.connected()
        bench.step()
        return bench
    }

    private func move(_ bench: inout SessionBench) {
        bench.turn { $0.membersMoved($1) }
    }

    private func answer(_ users: UInt32, _ bench: inout SessionBench) {
        bench.answer(.presenceStats(clients: users + 1, users: users))
    }

    @Test("it is asked for when the room was joined, and joins and leaves are asked for with it")
    func onJoin() {
        var bench = joined()
        #expect(bench.lastSubscribe?.joinLeave == true)
        #expect(bench.send() == Self.question)
        answer(3, &bench)
        #expect(bench.seen == ["joined A/5", "count 3"])
        #expect(bench.session.wish == nil && bench.session.deadline == nil)
        // A room whose members nobody wants to count asks for nothing.
        var other = SessionBench(.now, StreamModel(published: 5))
        other.run()
        move(&other)
        #expect(other.session.wish == nil && other.lastSubscribe?.joinLeave == false)
    }

    @Test("who comes and goes is counted at once, then not before a second is over, however many they are")
    func spacing() {
        var bench = joined()
        _ = bench.send()
        answer(1, &bench)
        bench.pass(.seconds(2))
        move(&bench)
        #expect(bench.send() == Self.question)
        // These may not be in the answer.
        for _ in 0..<100 { move(&bench) }
        #expect(bench.session.wish == nil)
        answer(2, &bench)
        #expect(bench.session.wish == nil)
        for _ in 0..<100 { move(&bench) }
        bench.pass(.milliseconds(999))
        #expect(bench.session.wish == nil && bench.session.deadline == bench.now + .milliseconds(1))
        bench.pass(.milliseconds(1))
        #expect(bench.send() == Self.question)
        answer(102, &bench)
        #expect(bench.session.deadline == nil)
        #expect(bench.seen == ["joined A/5", "count 1", "count 2", "count 102"])
    }

    @Test("a server that does not tell is not asked again, and the log says so once", arguments: [103, 108])
    func refused(code: UInt32) {
        var bench = joined()
        for _ in 0..<2 {
            #expect(bench.send() == Self.question)
            bench.answer(.error(ErrorReply(code: code, message: "no")))
            for _ in 0..<3 {
                move(&bench)
                bench.pass(.seconds(60))
                #expect(bench.session.wish == nil && bench.session.deadline == nil)
            }
            // The next connection may be allowed to.
            bench.disconnect()
            bench.session.connected()
            bench.step()
        }
        #expect(bench.lines.count { $0.message.description.contains("how many are in a room") } == 1)
        #expect(!bench.seen.contains { $0.hasPrefix("count") })
    }

    @Test("trouble of the server's own passes")
    func trouble() {
        var bench = joined()
        #expect(bench.send() == Self.question)
        bench.answer(.error(ErrorReply(code: 100, message: "internal server error")))
        #expect(bench.session.wish == nil)
        bench.pass(.seconds(11))
        #expect(bench.send() == Self.question)
        // An answer of a connection that is over says nothing.
        let attempt = bench.session.attempt
        bench.disconnect()
        bench.answer(.presenceStats(clients: 1, users: 1), attempt: attempt)
        #expect(bench.seen == ["joined A/5"])
    }
}

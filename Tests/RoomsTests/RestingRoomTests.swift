import BridgeTestSupport
import RoomsRuntime
import RoomsWire
import Testing

@testable import Rooms

/// Rooms that are left for now and joined again where they were left.
@Suite struct RestingRoomTests {
    private func unsubscribes(_ bench: ConnectionBench) -> Int {
        bench.sent.count { command in
            if case .unsubscribe = command.request { return true }
            return false
        }
    }

    private func rest(_ bench: inout ConnectionBench, _ isResting: Bool) {
        bench.turn { $0.rest(0, isResting, &$1) }
    }

    @Test("it is left once, nothing of it is heard, and it goes on where it was left; the others do not notice")
    func rests() {
        var bench = ConnectionBench.rooms(2)
        bench.connect()
        bench.serve()
        rest(&bench, true)
        bench.publish("r0")
        bench.serve()
        bench.publish("r0")
        bench.publish("r1")
        #expect(bench.lastEvent(0) == "replay A/8" && bench.lastEvent(1) == "event A/9")
        #expect(unsubscribes(bench) == 1 && bench.machine.sessions[0].state == .resting)
        rest(&bench, false)
        bench.serve()
        bench.publish("r0")
        #expect(Array(bench.seen(0).suffix(4)) == ["joined A/8", "replay A/9", "replay A/10", "event A/11"])
        #expect(bench.subscribes.map(\.channel) == ["r0", "r1", "r0"])
    }

    @Test("over a new connection it stays left")
    func staysLeft() {
        var bench = ConnectionBench.rooms(2)
        bench.connect()
        bench.serve()
        rest(&bench, true)
        bench.serve()
        bench.close(3_001)
        bench.waitForRetry()
        bench.connect()
        bench.serve()
        #expect(bench.subscribes.map(\.channel) == ["r0", "r1", "r1"])
        rest(&bench, false)
        bench.serve()
        #expect(bench.subscribes.last?.channel == "r0" && bench.subscribes.last?.offset == 8)
    }

    @Test(
        "whatever is in flight when it is left, it ends left, and each event comes once when it is joined again",
        arguments: ["before", "subscribe", "page", "refused", "failed", "leaving"]
    )
    func inBetween(_ moment: String) {
        var bench = ConnectionBench.rooms(1, published: 8)
        if moment != "before" { bench.connect() }
        switch moment {
        case "page":
            bench.joinBehind()
        case "failed":
            bench.receive(Reply(id: bench.commands.removeFirst().id, .error(ErrorReply(code: 103, message: "no"))))
        case "leaving":
            bench.serve()
        default: break
        }
        rest(&bench, true)
        if moment == "refused" {
            bench.receive(Reply(id: bench.commands.removeFirst().id, .error(ErrorReply(code: 100, message: "later"))))
        }
        if moment == "before" { bench.connect() }
        if moment == "leaving" { rest(&bench, false) }
        bench.serve()
        bench.pass(.seconds(1))
        if moment != "leaving" {
            #expect(bench.machine.sessions[0].state == (moment == "failed" ? .failed : .resting))
        }
        rest(&bench, false)
        bench.serve()
        bench.pass(.seconds(3_600))
        if !bench.isReady {
            bench.waitForRetry()
            bench.connect()
        }
        bench.serve()
        #expect(bench.seen(0).filter { $0.hasPrefix("replay") } == ["replay A/6", "replay A/7", "replay A/8"])
        bench.publish("r0")
        #expect(bench.lastEvent(0) == "event A/9")
    }

    @Test("a room that begins now is joined once, so that it is known where: what comes while it is left is not lost")
    func beginsNow() {
        var bench = ConnectionBench([RoomSpecification(name: "r0", start: .now)])
        bench.streams["r0"] = StreamModel(published: 3)
        rest(&bench, true)
        bench.connect()
        bench.serve()
        #expect(bench.seen(0) == ["joined A/3"] && bench.machine.sessions[0].state == .resting)
        bench.publish("r0")
        rest(&bench, false)
        bench.serve()
        #expect(bench.lastEvent(0) == "replay A/4")
    }

    @Test("a live-only room is left, too, and only once")
    func liveOnly() {
        var bench = ConnectionBench([RoomSpecification(name: "r0", start: .now)])
        bench.connect()
        bench.receive(Reply(id: bench.commands.removeFirst().id, .subscribe(SubscribeResult())))
        rest(&bench, true)
        bench.serve()
        #expect(bench.machine.sessions[0].state == .resting && unsubscribes(bench) == 1)
    }

    @Test("a room that is left for now can be left for good")
    func gone() {
        var bench = ConnectionBench.rooms(1)
        bench.connect()
        bench.serve()
        rest(&bench, true)
        bench.serve()
        bench.turn { $0.remove(0, &$1) }
        #expect(bench.machine.sessions[0].state == .gone && unsubscribes(bench) == 1)
        rest(&bench, false)
        #expect(bench.machine.sessions[0].state == .gone)
    }
}

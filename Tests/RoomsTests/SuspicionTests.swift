import RoomsRuntime
import RoomsWire
import Testing

@testable import Rooms

/// Which room is blamed for a connection that ended, which waits, and how long.
@Suite struct SuspicionTests {
    /// Serves; before the `fatal` command is answered, or behind its answer, the connection ends.
    private func serve(_ bench: inout ConnectionBench, behind: Bool, end: ConnectionEnd, _ fatal: (Command) -> Bool) {
        while !bench.commands.isEmpty {
            let command = bench.commands.removeFirst()
            guard fatal(command) else {
                bench.answer(command)
                continue
            }
            if behind { bench.answer(command) }
            bench.end(end)
        }
    }

    @Test(
        "a live message of another room that is too large never makes a gap in this room",
        arguments: [.tooLarge(reason: ""), .lost(reason: ""), .closed(code: 3008, reason: "")] as [ConnectionEnd],
        [2, 5]
    )
    func otherRoomIsLive(_ end: ConnectionEnd, rooms: Int) {
        var bench = ConnectionBench.rooms(rooms, published: 8)
        bench.streams["r0"] = StreamModel(published: 20)
        for _ in 0..<100 {
            bench.connect()
            var subscribed: Set<ByteString> = []
            // Whenever a page of r0 is awaited and another room is joined, that one is sent what ends the connection.
            serve(&bench, behind: false, end: end) { command in
                if case .subscribe(let request) = command.request {
                    subscribed.insert(request.channel)
                    return request.channel == "r0" && request.recover
                }
                if case .history = command.request { return subscribed.count > 1 }
                return false
            }
            bench.waitForRetry()
        }
        let all = (0..<rooms).flatMap { bench.seen($0) }
        #expect(!all.contains { $0.hasPrefix("gap") })
        // Alone on its connection now and then, the room gets its events all the same.
        #expect(bench.seen(0).contains("replay A/20"))
    }

    @Test(
        "no gap either while a connection of its own ends before the room's page is asked for",
        arguments: [.tooLarge(reason: ""), .lost(reason: ""), .closed(code: 3008, reason: "")] as [ConnectionEnd],
        [2, 5]
    )
    func neverAsked(_ end: ConnectionEnd, rooms: Int) {
        var bench = ConnectionBench.rooms(rooms, published: 8)
        bench.streams["r0"] = StreamModel(published: 20)
        for _ in 0..<60 {
            bench.connect()
            let isAlone = bench.commands.count == 1
            serve(&bench, behind: false, end: end) { command in
                switch command.request {
                case .subscribe(let request): isAlone || (request.channel == "r0" && request.recover)
                case .history: true
                default: false
                }
            }
            bench.waitForRetry()
        }
        #expect(!bench.seen(0).contains { $0.hasPrefix("gap") })
    }

    @Test(
        "a page that ends every connection is a gap after three ends where its room was alone",
        arguments: [1, 2, 6]
    )
    func pageIsBad(rooms: Int) {
        var bench = ConnectionBench.rooms(rooms, published: 8)
        bench.streams["r0"] = StreamModel(published: 400)
        var connections = 0
        while bench.lastEvent(0)?.hasPrefix("gap") != true, connections < 40 {
            connections += 1
            bench.connect()
            serve(&bench, behind: false, end: .closed(code: 3008, reason: "")) { command in
                if case .history(let request) = command.request { return request.channel == "r0" }
                return false
            }
            bench.waitForRetry()
        }
        #expect(bench.seen(0).filter { $0.hasPrefix("gap") } == ["gap too_large A/6-6 then A/6"])
        #expect((1..<rooms).allSatisfy { bench.seen($0).last == "replay A/8" || bench.lastEvent($0) == "replay A/8" })
        #expect(connections < 14)
    }

    @Test("a connection that brought an event before an overload is followed by one at once", arguments: [3008, 3009])
    func progress(code: UInt16) {
        var bench = ConnectionBench.rooms(1, published: 40)
        for _ in 0..<6 {
            bench.connect()
            bench.close(code)
            bench.waitForRetry()
        }
        var pauses: [Duration] = []
        while bench.lastEvent(0) != "replay A/40", pauses.count < 60 {
            bench.connect()
            serve(&bench, behind: true, end: .closed(code: code, reason: "")) { command in
                if case .history = command.request { return true }
                return false
            }
            pauses.append(bench.waitForRetry())
        }
        #expect(bench.lastEvent(0) == "replay A/40")
        #expect(pauses.allSatisfy { $0 >= .milliseconds(100) && $0 <= .milliseconds(200) })
    }

    @Test("without an event the pauses grow, though rooms were joined before each overload")
    func noProgress() {
        var bench = ConnectionBench([RoomSpecification(name: "a", start: .now)])
        var pauses: [Duration] = []
        for _ in 0..<12 {
            bench.connect()
            bench.serve()
            bench.close(3008)
            pauses.append(bench.waitForRetry())
        }
        #expect(pauses.allSatisfy { $0 >= .milliseconds(500) })
        #expect((pauses.max() ?? .zero) > .seconds(5))
    }

    @Test("a room that misses little comes before those that end the connections", arguments: [1, 5, 10, 20])
    func smallComesFirst(large: Int) {
        var bench = ConnectionBench.rooms(large + 1, published: 40)
        let small = ByteString("r\(large)")
        bench.streams[small] = StreamModel(published: 6)
        var connections = 0
        while bench.lastEvent(large) != "replay A/6", connections < 20 {
            connections += 1
            bench.connect()
            // Of the large rooms nothing but a page of one comes through.
            serve(&bench, behind: false, end: .tooLarge(reason: "")) { command in
                switch command.request {
                case .subscribe(let request): request.recover && request.channel != small
                case .history(let request): request.channel != small && request.limit > 1
                default: false
                }
            }
            bench.waitForRetry()
        }
        #expect(connections <= 3)
    }

    @Test("what one room learned of the page size, the others need not learn again")
    func sharedLesson() {
        var bench = ConnectionBench.rooms(10, published: 20)
        var connections = 0
        while bench.machine.sessions.contains(where: { $0.position?.offset == 5 }), connections < 60 {
            connections += 1
            bench.connect()
            serve(&bench, behind: false, end: .tooLarge(reason: "")) { command in
                switch command.request {
                case .subscribe(let request): request.recover
                case .history(let request): request.limit > 1
                default: false
                }
            }
            bench.waitForRetry()
        }
        #expect(connections < 15)
    }

    @Test("rooms whose every answer ends the connection take turns")
    func suspectsTakeTurns() {
        var bench = ConnectionBench.rooms(4, published: 400)
        var connections = 0
        while bench.machine.sessions.contains(where: { ($0.position?.offset ?? 0) < 60 }), connections < 60 {
            connections += 1
            bench.connect()
            serve(&bench, behind: true, end: .closed(code: 3008, reason: "")) { command in
                if case .history = command.request { return true }
                return false
            }
            bench.waitForRetry()
        }
        #expect(connections < 20)
    }
}

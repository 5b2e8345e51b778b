import BridgeModel
import BridgeTestSupport
import Foundation
import RoomsRuntime
import RoomsTransport
import RoomsWire
import Testing

@testable import BridgeDelivery

/// Each word that a receiver of the protocol may say, from a scripted one.
@Suite(.timeLimit(.minutes(1))) struct StreamProtocolTests {
    private func rig(
        _ receiver: StreamReceiver,
        _ change: @escaping (inout StreamSettings) -> Void = { _ in }
    ) -> DeliveryRig {
        StreamDeliveryTests.rig(receiver, .protocol, change)
    }

    @Test("the hello says who we are and what we can")
    func hello() async throws {
        let said = Lock<[UInt8]>([])
        let receiver = try StreamReceiver { peer in
            if let line = peer.next() { said.withLock { $0 = line.bytes } }
            peer.say(#"{"op":"hello"}"#)
            peer.acknowledgeAll()
        }
        let rig = rig(receiver)
        rig.publish()
        try await rig.settleAll()
        await rig.stop()
        let text = String(decoding: said.withLock { $0 }, as: UTF8.self)
        #expect(
            text == #"{"op":"hello","v":1,"agent":"roombridge","endpoint":"orders","store":"k9","max_line":1048576,"#
                + #""window":256,"features":["cum","sel","nack","wip","credit"]}"#
        )
        receiver.stop()
    }

    @Test("a cumulative acknowledgement covers all up to it but those refused for now")
    func cumulative() async throws {
        let receiver = try StreamReceiver { peer in
            peer.greet()
            let first = (1...5).compactMap { _ in peer.nextEvent() }
            guard first.count == 5 else { return }
            peer.say(#"{"op":"nack","n":3,"delay_ms":30}"#)
            peer.say(#"{"op":"ack","n":5}"#)
            peer.acknowledgeAll()
        }
        let rig = rig(receiver)
        try await rig.whileLoopStands { for room in 1...5 { rig.publish(room: Int64(room)) } }
        try await rig.settleAll()
        await rig.stop()
        #expect(receiver.lines.count == 6)
        #expect(receiver.lines.last?.room == receiver.lines[2].room)
        #expect(receiver.lines.last?.attempt == 2)
        #expect(receiver.connections == 1)
        receiver.stop()
    }

    @Test("a room whose event is wanted later waits for that time alone")
    func nack() async throws {
        let times = Lock<[Instant]>([])
        let receiver = try StreamReceiver { peer in
            peer.greet()
            while let line = peer.nextEvent() {
                if line.room == "room:1", line.attempt <= 3 {
                    times.withLock { $0.append(SystemClock.now) }
                    peer.say(#"{"op":"nack","n":\#(line.n),"delay_ms":150,"reason":"busy"}"#)
                } else {
                    if line.room == "room:1" { times.withLock { $0.append(SystemClock.now) } }
                    peer.say(#"{"op":"ack","ns":[\#(line.n)]}"#)
                }
            }
        }
        let rig = rig(receiver)
        rig.publish(room: 1)
        for room in 2...4 { rig.publish(room: Int64(room), count: 10) }
        try await rig.settleAll()
        await rig.stop()
        let waits = times.withLock { times in zip(times, times.dropFirst()).map { $1 - $0 } }
        #expect(waits.count == 3 && waits.allSatisfy { $0 >= .milliseconds(150) })
        // The others went on meanwhile.
        let last = receiver.lines.lastIndex { $0.room == "room:1" }
        #expect(last == receiver.lines.count - 1)
        #expect(rig.lines.lines.contains { $0.contains("its room waits") && $0.contains("busy") })
        #expect(!rig.lines.lines.contains { $0.contains("the endpoint is not well") })
        receiver.stop()
    }

    @Test("what a room was told to wait lapses with the connection")
    func nackLapses() async throws {
        let receiver = try StreamReceiver { peer in
            peer.greet()
            guard let line = peer.nextEvent() else { return }
            guard peer.number > 1 else { return peer.say(#"{"op":"nack","n":\#(line.n),"delay_ms":3600000}"#) }
            peer.say(#"{"op":"ack","n":\#(line.n)}"#)
            peer.acknowledgeAll()
        }
        let rig = rig(receiver)
        rig.publish()
        try await rig.settleAll()
        await rig.stop()
        #expect(receiver.lines.map(\.attempt) == [1, 2])
        receiver.stop()
    }

    @Test("what the receiver wants never is a dead letter at once, and the next event tells of it")
    func term() async throws {
        let receiver = try StreamReceiver { peer in
            peer.greet()
            while let line = peer.nextEvent() {
                let op = line.seq <= 7 ? "term" : "ack"
                peer.say(#"{"op":"\#(op)","n":\#(line.n),"reason":"no such order"}"#)
            }
        }
        let rig = rig(receiver)
        rig.publish(count: 8)
        try await rig.settleAll()
        await rig.stop()
        #expect(receiver.lines.map(\.seq) == Array(1...8))
        #expect(receiver.lines.last?.skipped == 7)
        let letters = rig.store.state.withLock { $0.settlements.compactMap(\.deadLetter) }
        #expect(letters.count == 7 && letters.allSatisfy { $0.reason == .aborted && $0.attempts == 1 })
        receiver.stop()
    }

    @Test("a line above the receiver's limit is a dead letter that was never sent")
    func longLine() async throws {
        let receiver = try StreamReceiver { peer in
            peer.greet(#"{"op":"hello","max_line":500}"#)
            peer.acknowledgeAll()
        }
        let rig = rig(receiver)
        rig.publish()
        rig.publish(Sample.event(#"{"t":"\#(String(repeating: "x", count: 500))"}"#))
        rig.publish()
        try await rig.settleAll()
        await rig.stop()
        #expect(receiver.lines.map(\.seq) == [1, 3])
        #expect(receiver.lines.last?.skipped == 1)
        #expect(rig.store.state.withLock { $0.settlements.compactMap { $0.deadLetter?.reason } } == [.tooLarge])
        receiver.stop()
    }

    @Test("word of work gives a line more time")
    func workInProgress() async throws {
        let receiver = try StreamReceiver { peer in
            peer.greet()
            guard let line = peer.nextEvent() else { return }
            for _ in 1...6 {
                peer.say(#"{"op":"wip","n":\#(line.n)}"#)
                _ = peer.hasMore(within: .milliseconds(50))
            }
            peer.say(#"{"op":"ack","n":\#(line.n)}"#)
            peer.acknowledgeAll()
        }
        let rig = rig(receiver) { $0.answerTime = .milliseconds(200) }
        rig.publish(count: 2)
        try await rig.settleAll()
        await rig.stop()
        #expect(receiver.connections == 1)
        #expect(receiver.lines.map(\.attempt) == [1, 1])
        receiver.stop()
    }

    @Test("nothing is sent during a pause, and a pause lapses with the connection")
    func pause() async throws {
        let receiver = try StreamReceiver { peer in
            peer.greet()
            guard let line = peer.nextEvent() else { return }
            peer.say(#"{"op":"pause","ms":\#(peer.number == 1 ? 200 : 3_600_000)}"#)
            peer.say(#"{"op":"ack","n":\#(line.n)}"#)
            let since = SystemClock.now
            guard peer.number == 1, peer.nextEvent() != nil else { return }
            if SystemClock.now - since < .milliseconds(190) { peer.say("it came too early") }
        }
        let rig = rig(receiver)
        rig.publish(count: 3)
        try await rig.settleAll()
        await rig.stop()
        #expect(receiver.lines.map(\.seq) == [1, 2, 2, 3] || receiver.lines.map(\.seq) == [1, 2, 2, 3, 3])
        #expect(!rig.lines.lines.contains { $0.contains("means nothing") })
        receiver.stop()
    }

    @Test("with credit no more lines come than were asked for")
    func credit() async throws {
        let receiver = try StreamReceiver { peer in
            peer.greet(#"{"op":"hello","credit":0}"#)
            if peer.hasMore(within: .milliseconds(50)) { peer.say("too early") }
            peer.say(#"{"op":"credit","n":3}"#)
            let first = (1...3).compactMap { _ in peer.nextEvent() }
            guard first.count == 3 else { return }
            for line in first { peer.say(#"{"op":"ack","ns":[\#(line.n)]}"#) }
            if peer.hasMore(within: .milliseconds(100)) { peer.say("too many") }
            peer.say(#"{"op":"credit","n":100}"#)
            peer.acknowledgeAll()
        }
        let rig = rig(receiver)
        try await rig.whileLoopStands { for room in 1...10 { rig.publish(room: Int64(room)) } }
        try await rig.settleAll()
        await rig.stop()
        #expect(receiver.lines.count == 10)
        #expect(receiver.connections == 1)
        receiver.stop()
    }

    @Test("the receiver's window is kept to")
    func window() async throws {
        let most = Lock(0)
        let receiver = try StreamReceiver { peer in
            peer.greet(#"{"op":"hello","v":1,"window":3}"#)
            while true {
                var lines: [StreamLine] = []
                repeat {
                    guard let line = peer.nextEvent() else { return }
                    lines.append(line)
                } while peer.hasMore(within: .milliseconds(30))
                most.withLock { $0 = max($0, lines.count) }
                for line in lines { peer.say(#"{"op":"ack","ns":[\#(line.n)]}"#) }
            }
        }
        let rig = rig(receiver)
        try await rig.whileLoopStands { for room in 1...10 { rig.publish(room: Int64(room)) } }
        try await rig.settleAll()
        await rig.stop()
        #expect((2...3).contains(most.withLock { $0 }))
        receiver.stop()
    }

    @Test("a ping is answered, and a receiver that says nothing is asked and then left")
    func silence() async throws {
        let answered = Lock(false)
        let asked = Lock(0)
        let receiver = try StreamReceiver { peer in
            peer.greet()
            if peer.number == 1 {
                peer.say(#"{"op":"ping"}"#)
                while let line = peer.next() {
                    if line.op == "pong" { answered.withLock { $0 = true } }
                    if line.op == "ping" { asked.withLock { $0 += 1 } }
                }
            } else {
                while let line = peer.next() {
                    if line.op == "ping" { peer.say(#"{"op":"pong"}"#) }
                    if line.seq > 0 {
                        // Longer than it may be silent, were it not for the pongs.
                        for _ in 1...10 where peer.hasMore(within: .milliseconds(30)) {
                            if peer.next()?.op == "ping" { peer.say(#"{"op":"pong"}"#) }
                        }
                        peer.say(#"{"op":"ack","n":\#(line.n)}"#)
                    }
                }
            }
        }
        let rig = rig(receiver) { $0.silence = .milliseconds(80) }
        rig.publish(count: 2)
        try await rig.settleAll()
        await rig.stop()
        #expect(answered.withLock { $0 })
        #expect(asked.withLock { $0 } == 1)
        #expect(receiver.connections == 2)
        #expect(rig.lines.lines.first?.contains("nothing is heard") == true)
        receiver.stop()
    }

    @Test("a goodbye is no failure: what was not acknowledged comes again")
    func bye() async throws {
        let receiver = try StreamReceiver { peer in
            peer.greet()
            guard peer.number < 4 else { return peer.acknowledgeAll() }
            let lines = (1...3).compactMap { _ in peer.nextEvent() }
            guard lines.count == 3 else { return }
            peer.say(#"{"op":"bye","reason":"restart"}"#)
            peer.say(#"{"op":"ack","ns":[\#(lines[1].n)]}"#)
        }
        let rig = rig(receiver)
        try await rig.whileLoopStands { for room in 1...3 { rig.publish(room: Int64(room), count: 5) } }
        try await rig.settleAll()
        await rig.stop()
        #expect(receiver.arrivedInOrder(rooms: 3, events: 5))
        #expect(receiver.lines.map(\.attempt).max() == 4)
        #expect(rig.lines.lines.isEmpty, "\(rig.lines.lines)")
        receiver.stop()
    }

    @Test("our own goodbye is said when the service stops")
    func ourBye() async throws {
        let last = Lock<ByteString?>(nil)
        let receiver = try StreamReceiver { peer in
            peer.greet()
            while let line = peer.next() {
                if line.seq > 0 { peer.say(#"{"op":"ack","n":\#(line.n)}"#) }
                last.withLock { $0 = line.op }
            }
        }
        let rig = rig(receiver)
        rig.publish()
        try await rig.settleAll()
        await rig.drain(within: .seconds(5))
        await rig.stop()
        try await eventually("the goodbye") { last.withLock { $0 } == "bye" }
        receiver.stop()
    }

    @Test(
        "a line that means nothing ends the connection, and what was on it comes again",
        arguments: [
            "ok", "[]", #"{"op":"ack"}"#, #"{"op":"ack","n":-1}"#, #"{"op":"ack","n":99}"#, #"{"op":"ack","ns":[1.5]}"#,
            #"{"op":"ack","ns":[0]}"#, #"{"op":"nack","n":1,"delay_ms":"x"}"#, #"{"op":"term"}"#, #"{"n":1}"#,
            #"{"op":"hello"}"#, #"{"op":"pause"}"#, #"{"op":"credit","n":1e3x}"#, "",
        ]
    )
    func malformed(line: String) async throws {
        let receiver = try StreamReceiver { peer in
            peer.greet()
            guard let event = peer.nextEvent() else { return }
            guard peer.number > 1 else {
                peer.say(line)
                // It ends the connection, not we.
                while peer.next() != nil {}
                return
            }
            peer.say(#"{"op":"ack","n":\#(event.n)}"#)
            peer.acknowledgeAll()
        }
        let rig = rig(receiver)
        rig.publish()
        try await rig.settleAll()
        await rig.stop()
        #expect(receiver.lines.map(\.attempt) == [1, 2])
        #expect(rig.lines.lines.first?.contains("means nothing") == true)
        receiver.stop()
    }

    @Test("what is not known is passed over, and numbers of any size do no harm")
    func unknown() async throws {
        let receiver = try StreamReceiver { peer in
            peer.greet(#"{"op":"hello","v":1,"window":99999999999,"max_line":99999999999999,"new":[{}]}"#)
            while let line = peer.nextEvent() {
                peer.say(#"{"op":"weather","n":"rain"}"#)
                peer.say(#"{"op":"credit","n":18446744073709551615}"#)
                peer.say(#"{"op":"credit","n":18446744073709551615}"#)
                peer.say(#"{"op":"ack","n":\#(line.n),"more":{"x":1}}"#)
                peer.say(#"{"op":"ack","n":\#(line.n)}"#)
            }
        }
        let rig = rig(receiver)
        rig.publish(count: 5)
        try await rig.settleAll()
        await rig.stop()
        #expect(receiver.lines.count == 5)
        #expect(receiver.connections == 1)
        receiver.stop()
    }

    @Test("what a receiver has of a room already is not sent, if it speaks of our store", arguments: [true, false])
    func resume(isOurs: Bool) async throws {
        let receiver = try StreamReceiver { peer in
            peer.greet(#"{"op":"hello","v":1,"store":"\#(isOurs ? "k9" : "k8")","resume":{"room:1":3,"room:9":1}}"#)
            peer.acknowledgeAll()
        }
        let rig = rig(receiver)
        try await rig.whileLoopStands { for room in 1...2 { rig.publish(room: Int64(room), count: 5) } }
        try await rig.settleAll()
        await rig.stop()
        #expect(receiver.lines.filter { $0.room == "room:1" }.map(\.seq) == (isOurs ? [4, 5] : [1, 2, 3, 4, 5]))
        #expect(receiver.lines.filter { $0.room == "room:2" }.map(\.seq) == [1, 2, 3, 4, 5])
        receiver.stop()
    }

    @Test(
        "who is not spoken to as agreed is waited for, whole",
        arguments: [#"{"op":"hello","v":2}"#, "", "hi", #"{"op":"bye"}"#]
    )
    func otherHello(hello: String) async throws {
        let receiver = try StreamReceiver { peer in
            guard peer.number > 3 else { return peer.greet(hello) }
            peer.greet()
            peer.acknowledgeAll()
        }
        let rig = rig(receiver)
        try await rig.whileLoopStands { for room in 1...5 { rig.publish(room: Int64(room)) } }
        try await rig.settleAll()
        await rig.stop()
        #expect(receiver.lines.count == 5)
        #expect(rig.lines.lines.first?.contains("the endpoint is not well") == true)
        receiver.stop()
    }
}

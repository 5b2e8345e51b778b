import BridgeModel
import BridgeTestSupport
import Foundation
import RoomsRuntime
import RoomsTransport
import RoomsWire
import Testing

@testable import BridgeDelivery

@Suite(.timeLimit(.minutes(1))) struct StreamDeliveryTests {
    static let modes = StreamAcknowledgement.allCases

    static func rig(
        _ receiver: StreamReceiver,
        _ mode: StreamAcknowledgement,
        store: MemoryStore = MemoryStore(),
        _ change: @escaping (inout StreamSettings) -> Void = { _ in }
    ) -> DeliveryRig {
        DeliveryRig(receiver.target, store: store) { settings in
            settings.concurrency = StreamSettings.window
            var stream = StreamSettings(mode)
            change(&stream)
            settings.stream = stream
        }
    }

    /// Takes everything as it should.
    @Sendable static func takeAll(_ peer: StreamPeer, _ mode: StreamAcknowledgement) {
        if mode == .protocol { peer.greet() }
        while let line = peer.nextEvent() {
            switch mode {
            case .read: break
            case .line: peer.say(line.seq.isMultiple(of: 2) ? "ok" : "\(line.n)")
            case .protocol: peer.say(#"{"op":"ack","ns":[\#(line.n)]}"#)
            }
        }
    }

    @Test("many rooms go over one connection, each in order, each line once", arguments: modes)
    func takesAll(mode: StreamAcknowledgement) async throws {
        let receiver = try StreamReceiver { Self.takeAll($0, mode) }
        let rig = Self.rig(receiver, mode)
        for _ in 0..<20 { for room in 1...30 { rig.publish(room: Int64(room)) } }
        try await rig.settleAll()
        await rig.stop()
        #expect(receiver.connections == 1)
        // The kernel says that a line was read before the receiver has noted it.
        try await eventually("all lines noted") { receiver.lines.count >= 600 }
        #expect(receiver.lines.count == 600)
        #expect(receiver.arrivedInOrder(rooms: 30, events: 20))
        for line in receiver.lines {
            #expect(line.attempt == 1 && line.previousSeq == line.seq - 1)
            #expect(line.op == (mode == .protocol ? "event" : nil))
            #expect((line.n > 0) == (mode != .read))
        }
        #expect(rig.lines.lines.isEmpty)
        receiver.stop()
    }

    @Test("a receiver killed at any byte loses nothing", arguments: modes, [1, 2, 3, 4] as [UInt64])
    func killedAnywhere(mode: StreamAcknowledgement, seed: UInt64) async throws {
        let random = Lock(SeededRandom(seed: seed))
        let kills = Lock(0)
        let receiver = try StreamReceiver { peer in
            let (count, isLast) = random.withLock { random in
                (
                    Int.random(in: 1...2_500, using: &random),
                    kills.withLock {
                        $0 += 1; return $0 > 60
                    }
                )
            }
            guard !isLast else { return Self.takeAll(peer, mode) }
            if mode == .protocol { peer.say(#"{"op":"hello"}"#) }
            _ = peer.take(count) { line in
                guard line.seq > 0, random.withLock({ Int.random(in: 0..<4, using: &$0) }) > 0 else { return }
                switch mode {
                case .read: break
                case .line: peer.say("\(line.n)")
                case .protocol: peer.say(#"{"op":"ack","ns":[\#(line.n)]}"#)
                }
            }
        }
        // A receiver that has answered nothing waits for bytes that do not come.
        let rig = Self.rig(receiver, mode) { $0.answerTime = .milliseconds(60) }
        for index in 0..<25 {
            let text = String(repeating: "x", count: index * 17)
            for room in 1...12 { rig.publish(room: Int64(room), Sample.event(#"{"t":"\#(text)"}"#)) }
        }
        try await rig.settleAll(within: .seconds(40))
        await rig.stop()
        #expect(receiver.arrivedInOrder(rooms: 12, events: 25))
        #expect(kills.withLock { $0 } > 10)
        receiver.stop()
    }

    @Test("what the receiver never read is not delivered")
    func readMeansRead() async throws {
        let store = MemoryStore()
        let settledUnread = Lock(0)
        let receiver = try StreamReceiver { peer in
            peer.connection.isLeft(within: .milliseconds(60))
            settledUnread.withLock { $0 = store.state.withLock { $0.settlements.count } }
            Self.takeAll(peer, .read)
        }
        let rig = Self.rig(receiver, .read, store: store)
        rig.publish(count: 3)
        try await rig.settleAll()
        #expect(settledUnread.withLock { $0 } == 0)
        await rig.stop()
        #expect(receiver.lines.map(\.seq) == [1, 2, 3])
        receiver.stop()
    }

    @Test("a receiver that sends no more but reads on is served")
    func halfClosed() async throws {
        let receiver = try StreamReceiver { peer in
            peer.connection.endSending()
            Self.takeAll(peer, .read)
        }
        let rig = Self.rig(receiver, .read)
        for _ in 1...5 {
            rig.publish()
            try await rig.settleAll()
        }
        await rig.stop()
        #expect(receiver.connections == 1)
        #expect(receiver.lines.map(\.seq) == [1, 2, 3, 4, 5])
        receiver.stop()
    }

    @Test("where the kernel does not tell what was read, lines are answered, and the journal says so")
    func fallsBack() async throws {
        let receiver = try StreamReceiver { Self.takeAll($0, .line) }
        let rig = Self.rig(receiver, .read) { $0.kernelTells = false }
        rig.publish(count: 3)
        try await rig.settleAll()
        await rig.stop()
        #expect(receiver.lines.map(\.n) == [1, 2, 3])
        #expect(rig.lines.lines.first?.contains("this kernel does not tell") == true)
        receiver.stop()
    }

    @Test("an idle connection that the receiver ends is made again without a failure", arguments: modes)
    func endedWhileIdle(mode: StreamAcknowledgement) async throws {
        let receiver = try StreamReceiver { peer in
            if mode == .protocol { peer.greet() }
            guard let line = peer.nextEvent() else { return }
            if mode != .read { peer.say(mode == .line ? "ok" : #"{"op":"ack","n":\#(line.n)}"#) }
        }
        let rig = Self.rig(receiver, mode)
        for _ in 1...10 {
            rig.publish()
            try await rig.settleAll()
        }
        await rig.stop()
        #expect(receiver.arrivedInOrder(rooms: 1, events: 10))
        receiver.stop()
    }

    @Test("a socket that appears gets its lines at once", arguments: modes)
    func appears(mode: StreamAcknowledgement) async throws {
        let receiver = try StreamReceiver { Self.takeAll($0, mode) }
        receiver.stop()
        let rig = DeliveryRig(receiver.target) { settings in
            settings.stream = StreamSettings(mode)
            settings.retry = RetrySchedule(base: .seconds(50), cap: .seconds(50))
        }
        rig.publish(count: 2)
        try await eventually("the hold") { rig.lines.lines.contains { $0.contains("there is no such file") } }
        try receiver.listen { Self.takeAll($0, mode) }
        try await rig.settleAll(within: .seconds(3))
        await rig.stop()
        receiver.stop()
    }

    @Test("a line that is not acknowledged in time is sent again on another connection", arguments: modes)
    func overdue(mode: StreamAcknowledgement) async throws {
        let receiver = try StreamReceiver { peer in
            if mode == .protocol { peer.greet() }
            if peer.number == 1 {
                // Neither reads nor answers; the end of the connection ends this.
                if mode != .read { while peer.next() != nil {} } else { peer.connection.isLeft(within: .seconds(60)) }
            } else {
                while let line = peer.nextEvent() {
                    if mode != .read { peer.say(mode == .line ? "ok" : #"{"op":"ack","n":\#(line.n)}"#) }
                }
            }
        }
        let rig = Self.rig(receiver, mode) { $0.answerTime = .milliseconds(150) }
        rig.publish(count: 2)
        try await rig.settleAll()
        await rig.stop()
        #expect(receiver.lines.last { $0.seq == 1 }?.attempt == 2)
        #expect(rig.lines.lines.first?.contains("in time") == true)
        receiver.stop()
    }

    @Test("a socket with a full queue has too much to do, and gets its lines when it accepts", arguments: modes)
    func fullQueue(mode: StreamAcknowledgement) async throws {
        let folder = try TemporaryDirectory()
        let full = try FullSocket(path: folder.file("s"))
        let rig = DeliveryRig(StreamTarget(unixPath: ByteString(folder.file("s")))) { settings in
            settings.stream = StreamSettings(mode)
        }
        rig.publish()
        try await eventually("the refusal") { rig.lines.lines.contains { $0.contains("takes no more connections") } }
        #expect(rig.store.state.withLock { $0.settlements.isEmpty })
        full.serve { Self.takeAll(StreamPeer($0, number: 1) { _ in }, mode) }
        try await rig.settleAll()
        await rig.stop()
        full.stop()
    }

    @Test("pretty-printed payloads lose their line ends and nothing else")
    func linesAreLines() async throws {
        let payload = "{\r\n  \"a\" : \"x\\n\\u000a\",\n\t\"b\":\n[1e400, -0.0 ,\"\u{2028}\"]\r}"
        let receiver = try StreamReceiver { Self.takeAll($0, .read) }
        let rig = Self.rig(receiver, .read)
        rig.publish(Sample.event(payload))
        try await rig.settleAll()
        await rig.stop()
        let expected = "{  \"a\" : \"x\\n\\u000a\",\t\"b\":[1e400, -0.0 ,\"\u{2028}\"]}"
        let line = try #require(receiver.lines.first)
        #expect(JSONSliceSearch.contains(line.bytes, Array("\"data\":\(expected),\"meta\"".utf8)))
        receiver.stop()
    }

    @Test("ok is for the oldest line, and one too many is a mistake")
    func lineAnswers() async throws {
        let receiver = try StreamReceiver { peer in
            guard peer.number == 1 else { return Self.takeAll(peer, .line) }
            let lines = (1...3).compactMap { _ in peer.nextEvent() }
            guard lines.count == 3 else { return }
            peer.say("2")
            peer.say(" ok\r")
            peer.say("ok")
            peer.say("ok")
            while peer.next() != nil {}
        }
        let rig = Self.rig(receiver, .line)
        try await rig.whileLoopStands { for room in 1...3 { rig.publish(room: Int64(room)) } }
        try await rig.settleAll()
        #expect(receiver.lines.map(\.n) == [1, 2, 3])
        rig.publish(room: 1)
        try await rig.settleAll()
        await rig.stop()
        #expect(receiver.connections == 2)
        receiver.stop()
    }
}

enum JSONSliceSearch {
    static func contains(_ bytes: [UInt8], _ part: [UInt8]) -> Bool {
        Data(bytes).range(of: Data(part)) != nil
    }
}

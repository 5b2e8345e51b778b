import BridgeModel
import BridgeTestSupport
import Foundation
import RoomsRuntime
import RoomsTransport
import Testing

@testable import BridgeDelivery

@Suite(.timeLimit(.minutes(1))) struct DispatcherTests {
    @Test("whatever the endpoint does, each room arrives whole and in order", arguments: [1, 2, 3] as [UInt64])
    func keepsOrder(seed: UInt64) async throws {
        let accepted = Lock<[String: [Int]]>([:])
        let random = Lock(SeededRandom(seed: seed))
        let receiver = try ScriptedReceiver { request in
            let choice = random.withLock { Int.random(in: 0..<Misbehaviour.all.count * 2, using: &$0) }
            let behaviour = choice < Misbehaviour.all.count ? Misbehaviour.all[choice] : (.ok, true)
            if behaviour.1 { accepted.withLock { $0[request.room, default: []].append(request.seq) } }
            return behaviour.0
        }
        let rig = DeliveryRig(port: receiver.port) { $0.timeouts.head = .milliseconds(500) }
        for _ in 0..<40 { for room in 1...8 { rig.publish(room: Int64(room)) } }
        try await rig.settleAll()
        await rig.stop()
        for room in 1...8 {
            // An answer that a busy machine brings after its time is given again: once more in place, never out of order.
            let seqs = accepted.withLock { $0["room:\(room)"] } ?? []
            #expect(seqs.indices.filter { $0 == 0 || seqs[$0] != seqs[$0 - 1] }.map { seqs[$0] } == Array(1...40))
            let requests = receiver.requests.filter { $0.room == "room:\(room)" }
            for (earlier, later) in zip(requests, requests.dropFirst()) {
                #expect(later.seq == earlier.seq || later.seq == earlier.seq + 1)
                #expect(later.previousSeq == later.seq - 1)
                if later.seq == earlier.seq {
                    #expect(later.attempt == earlier.attempt || later.attempt == earlier.attempt + 1)
                    #expect(later.body == earlier.body)
                }
            }
        }
        receiver.stop()
    }

    @Test("as many rooms at a time as allowed, and one event of each")
    func limitsConcurrency() async throws {
        let receiver = try ScriptedReceiver { _ in .hold }
        let rig = DeliveryRig(port: receiver.port) { $0.concurrency = 4 }
        for room in 1...10 { rig.publish(room: Int64(room), count: 2) }
        var done = 0
        while done < 20 {
            let due = min(4, 20 - done)
            try await eventually("the next requests") { receiver.requests.count >= done + due }
            #expect(receiver.requests.count == done + due)
            #expect(Set(receiver.requests[done...].map(\.room)).count == due)
            done += due
            receiver.release()
        }
        try await rig.settleAll()
        #expect(receiver.connections <= 4)
        await rig.stop()
        receiver.stop()
    }

    @Test(
        "an event is tried until it is accepted, and the journal has two lines about it",
        arguments: [500, 404, 302, 429]
    )
    func triesWithoutEnd(status: Int) async throws {
        let receiver = try ScriptedReceiver { $0.attempt < 30 ? .status(status) : .ok }
        let rig = DeliveryRig(port: receiver.port)
        rig.publish(count: 2)
        try await rig.settleAll()
        await rig.stop()
        #expect(receiver.requests.map(\.attempt) == Array(1...30) + Array(1...30))
        #expect(receiver.connections == 1)
        #expect(Set(receiver.requests.map { $0.fields["webhook-id"] }).count == 2)
        #expect(rig.lines.lines.count == 4)
        #expect(rig.lines.lines.first?.contains("it answered \(status)") == true)
        #expect(rig.lines.lines.last?.contains("failures=29") == true)
        receiver.stop()
    }

    @Test("a redirect is not followed")
    func staysOnAddress() async throws {
        let elsewhere = try ScriptedReceiver { _ in .ok }
        let location = "http://127.0.0.1:\(elsewhere.port)/"
        let receiver = try ScriptedReceiver { request in
            request.attempt < 5
                ? .send("HTTP/1.1 307 Go\r\nlocation: \(location)\r\ncontent-length: 0\r\n\r\n") : .ok
        }
        let rig = DeliveryRig(port: receiver.port)
        rig.publish()
        try await rig.settleAll()
        await rig.stop()
        #expect(elsewhere.connections == 0)
        #expect(receiver.requests.count == 5)
        receiver.stop()
        elsewhere.stop()
    }

    @Test("an endpoint that never answers is asked again after its time")
    func givesUpOnHang() async throws {
        let receiver = try ScriptedReceiver { $0.attempt < 3 ? .hold : .ok }
        let rig = DeliveryRig(port: receiver.port) { $0.timeouts.head = .milliseconds(300) }
        rig.publish(count: 2)
        try await rig.settleAll()
        await rig.stop()
        for seq in 1...2 {
            let attempts = receiver.requests.filter { $0.seq == seq }.map(\.attempt)
            #expect(attempts.count >= 3)
            #expect(attempts == Array(1...attempts.count))
        }
        #expect(rig.lines.lines.first?.contains("no answer came in time") == true)
        receiver.stop()
    }

    @Test(
        "a good head is a delivery, whatever becomes of the body",
        arguments: [
            ScriptedReceiver.Answer.send("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc"),
            .send("HTTP/1.1 202 OK\r\n\r\nno end"),
            .sendThenClose("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc"),
            .sendThenReset("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc"),
            .send("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nrubbish\r\n"),
            .sendForEver("HTTP/1.1 200 OK\r\n\r\n", "x"),
            .sendForEver(
                "HTTP/1.1 201 OK\r\ntransfer-encoding: chunked\r\n\r\n",
                "100\r\n\(String(repeating: "x", count: 256))\r\n"
            ),
            .send("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nokHTTP/1.1 500 X\r\n\r\n"),
            .send("HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\nok"),
        ]
    )
    func countsHead(answer: ScriptedReceiver.Answer) async throws {
        let receiver = try ScriptedReceiver { _ in answer }
        let rig = DeliveryRig(port: receiver.port) { $0.timeouts.total = .seconds(1) }
        rig.publish(count: 3)
        try await rig.settleAll()
        await rig.stop()
        #expect(receiver.requests.map(\.seq) == [1, 2, 3])
        #expect(receiver.connections == 3)
        #expect(rig.lines.lines.isEmpty)
        receiver.stop()
    }

    @Test(
        "what is no answer is tried again on a new connection",
        arguments: [
            ScriptedReceiver.Answer.close,
            .sendThenReset(""),
            .sendThenClose("HTTP/1.1 200"),
            .send("SSH-2.0-OpenSSH\r\n"),
            .send("HTTP/1.1 200 OK\0\r\n\r\n"),
            .sendForEver("HTTP/1.1 200 OK\r\nx: ", "y"),
            .sendForEver("", "HTTP/1.1 100 Continue\r\n\r\n"),
            .sendForEver("HTTP/1.1 500 X\r\ncontent-length: 99999999\r\n\r\n", "y"),
        ]
    )
    func retriesOnNewConnection(answer: ScriptedReceiver.Answer) async throws {
        let receiver = try ScriptedReceiver { $0.attempt == 1 ? answer : .ok }
        let rig = DeliveryRig(port: receiver.port)
        rig.publish()
        try await rig.settleAll()
        await rig.stop()
        #expect(receiver.requests.map(\.attempt) == [1, 2])
        #expect(receiver.connections == 2)
        receiver.stop()
    }

    @Test("one connection serves one event after the other")
    func keepsConnection() async throws {
        let receiver = try ScriptedReceiver { _ in .ok }
        let rig = DeliveryRig(port: receiver.port)
        for number in 1...20 {
            rig.publish()
            try await eventually("the settlement") { rig.store.state.withLock { $0.settlements.count } == number }
        }
        #expect(receiver.connections == 1)
        #expect(receiver.requests.map(\.number) == Array(1...20))
        await rig.stop()
        receiver.stop()
    }

    @Test("a used connection that dies without a byte of the answer costs no attempt")
    func retriesForFree() async throws {
        let receiver = try ScriptedReceiver { $0.number == 3 ? .close : .ok }
        let rig = DeliveryRig(port: receiver.port)
        rig.publish(count: 12)
        try await rig.settleAll()
        await rig.stop()
        #expect(Set(receiver.requests.map(\.attempt)) == [1])
        #expect(receiver.requests.count == 12 + receiver.requests.filter { $0.number == 3 }.count)
        #expect(receiver.requests.contains { $0.number == 3 })
        #expect(rig.lines.lines.isEmpty)
        receiver.stop()
    }

    @Test("one free try and no more: a new connection that dies counts")
    func countsSecondDeath() async throws {
        let receiver = try ScriptedReceiver { request in
            if request.seq == 2, request.attempt == 1 { return .close }
            return .ok
        }
        let rig = DeliveryRig(port: receiver.port)
        rig.publish(count: 2)
        try await rig.settleAll()
        await rig.stop()
        #expect(receiver.requests.map(\.seq) == [1, 2, 2, 2])
        #expect(receiver.requests.map(\.attempt) == [1, 1, 1, 2])
        receiver.stop()
    }

    @Test(
        "an idle connection is closed after its time, earlier when the server says so",
        arguments: [
            ("", Duration.milliseconds(80)), ("keep-alive: max=5, timeout=1\r\n", .seconds(30)),
        ]
    )
    func closesIdle(field: String, idle: Duration) async throws {
        let receiver = try ScriptedReceiver { _ in .send("HTTP/1.1 200 OK\r\n\(field)content-length: 0\r\n\r\n") }
        let rig = DeliveryRig(port: receiver.port) { $0.timeouts.idle = idle }
        rig.publish()
        try await rig.settleAll()
        try await eventually("the end of the connection") { receiver.openConnections == 0 }
        rig.publish()
        try await rig.settleAll()
        #expect(receiver.connections == 2)
        await rig.stop()
        receiver.stop()
    }

    @Test(
        "a Unix socket that appears later is noticed at once; until then one line says what is missing",
        arguments: ["receiver.sock", "run/app/receiver.sock"]
    )
    func waitsForUnixSocket(name: String) async throws {
        let folder = try TemporaryDirectory()
        let path = folder.file(name)
        // No retry could help within this test's time.
        let rig = DeliveryRig(StreamTarget(unixPath: ByteString(path))) {
            $0.retry = RetrySchedule(base: .seconds(3_600), cap: .seconds(3_600))
        }
        for room in 1...3 { rig.publish(room: Int64(room), count: 5) }
        try await eventually("the line") { !rig.lines.lines.isEmpty }
        try FileManager.default.createDirectory(
            atPath: URL(fileURLWithPath: path).deletingLastPathComponent().path,
            withIntermediateDirectories: true
        )
        let receiver = try ScriptedReceiver(unixPath: path) { _ in .ok }
        try await rig.settleAll()
        await rig.stop()
        #expect(rig.lines.lines.count == 2)
        #expect(rig.lines.lines.first?.contains("is the program running?") == true)
        #expect(receiver.requests.first?.line == "POST /hook HTTP/1.1")
        for room in 1...3 {
            #expect(receiver.requests.filter { $0.room == "room:\(room)" }.map(\.seq) == Array(1...5))
        }
        receiver.stop()
    }

    @Test("an endpoint that is down has one line in the journal, however many rooms wait")
    func reportsOnce() async throws {
        let port = try HeldPort()
        let rig = DeliveryRig(port: port.number)
        for room in 1...20 { rig.publish(room: Int64(room)) }
        try await eventually("the line") { !rig.lines.lines.isEmpty }
        #expect(rig.lines.lines.first?.contains("nothing listens there") == true)
        await rig.stop()
        #expect(rig.lines.lines.count == 1)
        #expect(rig.store.state.withLock { $0.settlements.isEmpty })
    }

    @Test("a backlog larger than the memory for it comes from the store in order")
    func refills() async throws {
        let receiver = try ScriptedReceiver { _ in .ok }
        let store = MemoryStore()
        for _ in 0..<100 { for room in 1...3 { store.commit(room: Int64(room)) } }
        let rig = DeliveryRig(port: receiver.port, store: store) {
            $0.laneBytes = 2_000
            $0.totalBytes = 5_000
        }
        for _ in 0..<100 { for room in 1...3 { rig.publish(room: Int64(room)) } }
        try await rig.settleAll()
        await rig.stop()
        for room in 1...3 {
            #expect(receiver.requests.filter { $0.room == "room:\(room)" }.map(\.seq) == Array(1...200))
        }
        #expect(store.state.withLock { $0.refills } > 10)
        receiver.stop()
    }

    @Test("a new process goes on where the store says, with the first attempt again")
    func goesOnAfterRestart() async throws {
        let receiver = try ScriptedReceiver { $0.seq == 4 && $0.fields["x-life"] == "1" ? .status(500) : .ok }
        let store = MemoryStore()
        let first = DeliveryRig(port: receiver.port, store: store) {
            $0.headers = [.init(name: "x-life", value: Secret("1"))]
        }
        first.publish(count: 6)
        try await eventually("some failures") { receiver.requests.filter { $0.seq == 4 }.count > 2 }
        await first.stop()
        let second = DeliveryRig(port: receiver.port, store: store) {
            $0.headers = [.init(name: "x-life", value: Secret("2"))]
        }
        second.publish(count: 2)
        try await second.settleAll()
        await second.stop()
        let later = receiver.requests.filter { $0.fields["x-life"] == "2" }
        #expect(later.map(\.seq) == [4, 5, 6, 7, 8])
        #expect(later.first?.attempt == 1)
        #expect(later.first?.previousSeq == 3)
        receiver.stop()
    }

    @Test("draining waits for what is on its way and begins nothing")
    func drains() async throws {
        let receiver = try ScriptedReceiver { _ in .hold }
        let rig = DeliveryRig(port: receiver.port) { $0.concurrency = 3 }
        for room in 1...6 { rig.publish(room: Int64(room), count: 2) }
        try await eventually("three requests") { receiver.requests.count == 3 }
        let isDone = Lock(false)
        await rig.beginDrain { isDone.withLock { $0 = true } }
        #expect(!isDone.withLock { $0 })
        receiver.release()
        try await eventually("the end of draining") { isDone.withLock { $0 } }
        #expect(receiver.requests.count == 3)
        #expect(rig.store.state.withLock { $0.settlements.count } == 3)
        await rig.stop()
        receiver.stop()
    }

    @Test("draining ends in time when an endpoint hangs")
    func drainsInTime() async throws {
        let receiver = try ScriptedReceiver { _ in .hold }
        let rig = DeliveryRig(port: receiver.port)
        rig.publish()
        try await eventually("the request") { receiver.requests.count == 1 }
        let start = SystemClock.now
        await rig.drain(within: .milliseconds(50))
        #expect(SystemClock.now - start < .seconds(5))
        #expect(rig.store.state.withLock { $0.settlements.isEmpty })
        await rig.stop()
        receiver.stop()
    }

    @Test("a large body arrives whole, also when it is sent in pieces")
    func sendsLargeBody() async throws {
        let receiver = try ScriptedReceiver { _ in .ok }
        let rig = DeliveryRig(port: receiver.port)
        let text = "\"" + String(repeating: "0123456789", count: 800_000) + "\""
        rig.publish(count: 2, Sample.event(text))
        try await rig.settleAll()
        await rig.stop()
        #expect(receiver.requests.count == 2)
        #expect(receiver.requests.allSatisfy { $0.body.contains(text) })
        receiver.stop()
    }
}

/// Answers of all sorts, and whether the event counts as delivered with them.
private enum Misbehaviour {
    static let all: [(ScriptedReceiver.Answer, Bool)] = [
        (.status(500), false), (.status(404), false), (.status(429), false), (.status(302), false),
        (.status(204), true), (.close, false), (.sendThenReset(""), false), (.hold, false),
        (.sendThenClose("HTTP/1.1 200 OK\r\ncontent-le"), false), (.send("rubbish\r\n\r\n"), false),
        (.sendThenClose("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"), true),
        (.sendThenClose("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n"), true),
        (.sendThenClose("HTTP/1.0 200 OK\n\nold"), true),
        (.send("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n"), true),
        (.send("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"), true),
        (.send("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\nHTTP/1.1 500 X\r\n\r\n"), true),
    ]
}

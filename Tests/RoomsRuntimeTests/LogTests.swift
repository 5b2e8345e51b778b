import BridgeTestSupport
import Foundation
import RoomsRuntime
import Testing

@Suite struct LogTests {
    private final class MemorySink: LogSink {
        let records = Lock<[LogRecord]>([])
        let gate = Lock(())

        func write(_ records: [LogRecord]) {
            gate.withLock { _ in }
            self.records.withLock { $0 += records }
        }
    }

    @Test func `lines arrive in order with their fields, those below the level do not`() {
        let sink = MemorySink()
        let queue = LogQueue(sink: sink)
        let logger = Logger(queue: queue, level: .info).with(LogField(.server, "main"))
        logger.info("joined", LogField(.room, ByteString("a\nb")))
        logger.debug("not wanted")
        logger.error("failed", LogField(.count, 3))
        queue.close()
        let lines = sink.records.withLock { $0 }.map { record in
            "\(record.level) \(record.message) " + record.fields.map { "\($0.key)=\($0.value)" }.joined(separator: ",")
        }
        #expect(lines == ["info joined server=main,room=a\\nb", "error failed server=main,count=3"])
    }

    @Test func `closing gives up on a sink that is stuck`() {
        let sink = MemorySink()
        let queue = LogQueue(sink: sink)
        let logger = Logger(queue: queue, level: .info)
        sink.gate.withLock { _ in
            logger.info("line")
            let start = SystemClock.now
            queue.close(within: .milliseconds(50))
            let time = SystemClock.now - start
            #expect(time >= .milliseconds(50) && time < .seconds(30))
        }
        queue.close()
    }

    @Test func `durations have one short form`() {
        let forms: [(Duration, String)] = [
            (.zero, "0ms"), (.milliseconds(455), "455ms"), (.microseconds(999_100), "1.0s"), (.seconds(5), "5.0s"),
            (.milliseconds(59_940), "59.9s"), (.milliseconds(59_960), "1m0s"), (.seconds(304.623), "5m5s"),
            (.seconds(3_600), "1h0m"), (.seconds(90_061), "1d1h"), (.seconds(-1), "0ms"),
            (.seconds(Int64.max), "106751d23h"),
        ]
        for (duration, text) in forms { #expect(LogField(.wait, duration).value == text) }
    }

    @Test func `no value passes for another field or another line`() async {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            let queue = LogQueue(sink: StandardErrorSink(style: .supervised))
            let logger = Logger(queue: queue, level: .info)
            logger.info(
                "joined",
                LogField(.room, "plain"),
                LogField(.room, ByteString("x\n<3>forged")),
                LogField(.room, ByteString("a=b")),
                LogField(.room, ByteString("\"q\" ROOM=y")),
                LogField(.room, ByteString(#"end\"#)),
                LogField(.room, ByteString(#"\" e"#)),
                LogField(.room, "")
            )
            queue.close()
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        let line =
            #"<6>joined room=plain room=x\n<3>forged room="a=b" room="\"q\" ROOM=y" room=end\\ room="\\\" e" room="""#
        #expect(text.contains(line + "\n"), "\(text)")
    }

    @Test func `what comes too often is left out and counted, what is rare is not`() async throws {
        let sink = MemorySink()
        let queue = LogQueue(sink: sink, throttle: LogThrottle(limit: 10, in: .milliseconds(50)))
        let logger = Logger(queue: queue, level: .debug)
        for number in 0..<1_000 {
            logger.notice("room joined", LogField(.count, number))
            logger.debug("asked for")
        }
        logger.error("rare")
        // The summary comes by itself when the time is over.
        try await eventually("a summary") {
            sink.records.withLock { $0.contains { $0.fields.contains { $0.key == .kind } } }
        }
        queue.close()
        let records = sink.records.withLock { $0 }
        #expect(records.count { "\($0.message)" == "asked for" } == 1_000)
        #expect(records.count { "\($0.message)" == "rare" } == 1)
        let joined = records.count { "\($0.message)" == "room joined" }
        let summaries = records.filter { $0.fields.contains { $0.key == .kind && $0.value == "room joined" } }
        let left = summaries.flatMap(\.fields).filter { $0.key == .count }.compactMap { Int($0.value) }.reduce(0, +)
        #expect(joined < 1_000 && joined >= 10)
        #expect(joined + left == 1_000)
        #expect(summaries.allSatisfy { $0.level == .notice })
    }

    @Test func `closing tells what a minute that is not over left out`() {
        let sink = MemorySink()
        let queue = LogQueue(sink: sink, throttle: LogThrottle())
        let logger = Logger(queue: queue, level: .info)
        for _ in 0..<15 { logger.info("line") }
        queue.close()
        let records = sink.records.withLock { $0 }
        #expect(records.count == 11)
        #expect(records.last?.fields.first?.value == "5")
    }

    @Test func `a full queue keeps a place for what is grave`() {
        let sink = MemorySink()
        let queue = LogQueue(sink: sink, limit: 100)
        let logger = Logger(queue: queue, level: .info)
        sink.gate.withLock { _ in
            for _ in 0..<1_000 { logger.info("line") }
            for _ in 0..<20 { logger.error("grave") }
        }
        queue.close()
        #expect(sink.records.withLock { $0 }.count { "\($0.message)" == "grave" } == 20)
    }

    @Test func `long foreign text is cut between characters`() {
        #expect(
            LogField(.room, ByteString(String(repeating: "é", count: 200))).value == String(repeating: "é", count: 128)
                + "..."
        )
        #expect(LogField(.room, ByteString(String(repeating: "a", count: 256))).value.utf8.count == 256)
        #expect(LogField(.error, String(repeating: "a", count: 3_000)).value.utf8.count == 1_027)
    }

    @Test func `times are UTC wherever the machine is`() async {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            setenv("TZ", "America/New_York", 1)
            let record = LogRecord(level: .notice, message: "started", fields: [], wallMilliseconds: 1_772_366_400_250)
            StandardErrorSink(style: .plain).write([record])
            StandardErrorSink(style: .terminal).write([record])
            exit(0)
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text == "2026-03-01T12:00:00.250Z notice: started\n12:00:00.250Z notice: started\n")
    }

    @Test func `what comes too fast is dropped and counted`() {
        let sink = MemorySink()
        let queue = LogQueue(sink: sink, limit: 10)
        let logger = Logger(queue: queue, level: .info)
        // While the sink is held at most one batch is with it and ten lines wait.
        sink.gate.withLock { _ in
            for _ in 0..<1_000 { logger.info("line") }
        }
        queue.close()
        let records = sink.records.withLock { $0 }
        let dropped = records.flatMap(\.fields).filter { $0.key == .count }.compactMap { Int($0.value) }.reduce(0, +)
        let written = records.count { "\($0.message)" == "line" }
        #expect(dropped > 0)
        #expect(written + dropped == 1_000)
    }
}

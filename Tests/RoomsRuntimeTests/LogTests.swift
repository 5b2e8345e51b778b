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
        #expect(lines == ["info joined server=main,room=a\\xab", "error failed server=main,count=3"])
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

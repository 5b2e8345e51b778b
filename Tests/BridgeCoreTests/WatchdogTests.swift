import BridgeTestSupport
import RoomsRuntime
import Testing

@testable import BridgeCore

/// A watchdog over loops of the test's own.
@Suite struct WatchdogTests {
    private let main = EventLoop(name: "main")
    private let worker = EventLoop(name: "worker")
    private let records = Lock<[LogRecord]>([])
    private let signs = Lock(0)
    private let log: LogQueue

    private struct Sink: LogSink {
        let records: Lock<[LogRecord]>
        func write(_ records: [LogRecord]) { self.records.withLock { $0 += records } }
    }

    init() {
        log = LogQueue(sink: Sink(records: records))
        main.start()
        worker.start()
    }

    private func start(budget: Duration) async throws {
        let (main, worker, signs, logger) = (main, worker, signs, Logger(queue: log, level: .info))
        try await main.run {
            let watchdog = Watchdog(
                main: main,
                parts: [Watchdog.Part(loop: main, budget: .seconds(20)), Watchdog.Part(loop: worker, budget: budget)],
                interval: .milliseconds(30),
                logger: logger,
                alive: { signs.withLock { $0 += 1 } }
            )
            watchdog.start()
            // Keeps it for as long as the loop runs.
            main.schedule(after: .seconds(3_600)) { _ = watchdog }
        }
    }

    private func end() {
        for loop in [worker, main] {
            loop.stop()
            loop.join()
        }
        log.close()
    }

    private func says(_ text: String) -> Bool {
        records.withLock { $0.contains { $0.text.contains(text) } }
    }

    @Test func `it is fed again and again while every loop answers`() async throws {
        try await start(budget: .seconds(20))
        try await eventually("signs of life") { signs.withLock { $0 } >= 5 }
        end()
        #expect(records.withLock { $0 }.isEmpty)
    }

    @Test func `a loop that does nothing starves it, is named once, and feeds it when it goes on`() async throws {
        let gate = Gate()
        try await start(budget: .seconds(20))
        try await eventually("a sign of life") { signs.withLock { $0 } >= 1 }
        worker.post { gate.wait() }
        try await eventually("the line") { says("a thread makes no progress") }
        let count = signs.withLock { $0 }
        // Long enough for several rounds.
        let main = main
        for _ in 0..<5 {
            try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
                main.post { main.schedule(after: .milliseconds(12)) { done.resume() } }
            }
        }
        #expect(signs.withLock { $0 } == count)
        #expect(says("thread=worker") && !says("thread=main"))
        gate.open()
        try await eventually("signs of life") { signs.withLock { $0 } > count + 1 }
        end()
        #expect(records.withLock { $0 }.count { $0.text.contains("no progress") } == 1)
    }

    @Test func `an answer behind its budget is no sign of life`() async throws {
        try await start(budget: .zero)
        try await eventually("the line") { says("a thread was slow thread=worker") }
        try await eventually("rounds") { records.withLock { $0.count } >= 3 }
        #expect(signs.withLock { $0 } == 0)
        end()
    }
}

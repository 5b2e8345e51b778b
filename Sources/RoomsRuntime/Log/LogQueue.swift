internal import Glibc

/// The one log thread: a bounded queue of lines in front of a sink.
///
/// What does not fit is dropped and counted.
package final class LogQueue: Sendable {
    private struct State: Sendable {
        var records: [LogRecord] = []
        var dropped = 0
        var isClosed = false
        var isFinished = false
    }

    private let state = Lock(State())
    private let loop = EventLoop(name: "log")
    private let sink: any LogSink
    private let limit: Int

    /// Starts the thread.
    ///
    /// `limit` is in lines.
    package init(sink: any LogSink, limit: Int = 4_096) {
        self.sink = sink
        self.limit = limit
        let drain = LoopBound(self, on: loop)
        loop.onWake { drain.value.flush() }
        loop.start()
    }

    func put(_ record: LogRecord) {
        let isFirst = state.withLock { state in
            guard state.records.count < limit else {
                state.dropped += 1
                return false
            }
            state.records.append(record)
            return state.records.count == 1
        }
        if isFirst { loop.wake() }
    }

    /// Writes what waits and ends the thread; after `limit` it gives up, with the thread stuck in its sink.
    ///
    /// Lines put later are lost. Closing again waits for the same end.
    package func close(within limit: Duration = .seconds(1)) {
        let isFirst = state.withLock { state in
            defer { state.isClosed = true }
            return !state.isClosed
        }
        if isFirst {
            loop.post { [self] in
                flush()
                state.withLock { $0.isFinished = true }
                loop.stop()
            }
        }
        // Whoever reads the other end of standard error may not read any more, and the process must end all the same.
        let deadline = SystemClock.now + limit
        while !state.withLock({ $0.isFinished }) {
            guard SystemClock.now < deadline else { return }
            poll(nil, 0, 1)
        }
        loop.join()
    }

    private func flush() {
        let (records, dropped) = state.withLock { state in
            defer { (state.records, state.dropped) = ([], 0) }
            return (state.records, state.dropped)
        }
        if !records.isEmpty { sink.write(records) }
        guard dropped > 0 else { return }
        sink.write([
            LogRecord(
                level: .warning,
                message: "log lines were dropped because they came too fast",
                fields: [LogField(.count, dropped)],
                wallMilliseconds: SystemClock.wallMilliseconds
            )
        ])
    }
}

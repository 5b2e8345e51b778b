/// The one log thread: a bounded queue of lines in front of a sink.
///
/// What does not fit is dropped and counted.
package final class LogQueue: Sendable {
    private struct State: Sendable {
        var records: [LogRecord] = []
        var dropped = 0
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

    /// Writes what waits and ends the thread.
    ///
    /// Lines put later are lost.
    package func close() {
        loop.stop()
        loop.join()
        flush()
    }

    private func flush() {
        let (records, dropped) = state.withLock { state in
            defer { state = State() }
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

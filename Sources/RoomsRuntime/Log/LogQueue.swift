internal import Glibc

/// The one log thread: a bounded queue of lines in front of a sink.
///
/// What does not fit is dropped and counted, what is less grave first. With a throttle, so is what comes too often.
package final class LogQueue: Sendable {
    private struct State: Sendable {
        var records: [LogRecord] = []
        var dropped = 0
        var throttle: LogThrottle?
        /// When the thread looks for summaries that are due.
        var armed: Instant?
        var isClosed = false
        var isFinished = false
    }

    private let state: Lock<State>
    private let loop = EventLoop(name: "log")
    private let sink: any LogSink
    private let limit: Int

    /// Starts the thread.
    ///
    /// `limit` is in lines; a quarter more is for what is graver than `info`. `throttle` nil: every line is written.
    package init(sink: any LogSink, limit: Int = 1_024, throttle: LogThrottle? = nil) {
        self.sink = sink
        self.limit = limit
        state = Lock(State(throttle: throttle))
        let drain = LoopBound(self, on: loop)
        loop.onWake { drain.value.flush() }
        loop.start()
    }

    func put(_ record: LogRecord) {
        let isNews = state.withLock { state in
            switch state.throttle?.judge(record, SystemClock.now) {
            case .pass, nil: break
            // The thread has to know when to tell of it.
            case .firstLeftOut: return true
            case .leftOut: return false
            }
            guard state.records.count < (record.level < .notice ? limit : limit + limit / 4) else {
                state.dropped += 1
                return false
            }
            state.records.append(record)
            return state.records.count == 1
        }
        if isNews { loop.wake() }
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
                flush(isLast: true)
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

    private func flush(isLast: Bool = false) {
        let now = SystemClock.now
        let (waiting, dropped, deadline) = state.withLock { state in
            defer { (state.records, state.dropped) = ([], 0) }
            let told = state.throttle?.takeSummaries(isLast ? .distantFuture : now) ?? []
            if let armed = state.armed, armed <= now { state.armed = nil }
            let deadline = state.armed == nil ? state.throttle?.deadline : nil
            if deadline != nil { state.armed = deadline }
            return (state.records + told, state.dropped, deadline)
        }
        var records = waiting
        if dropped > 0 {
            records.append(
                LogRecord(
                    level: .warning,
                    message: "log lines were dropped because they came too fast",
                    fields: [LogField(.count, dropped)],
                    wallMilliseconds: SystemClock.wallMilliseconds
                )
            )
        }
        if !records.isEmpty { sink.write(records) }
        if let deadline, !isLast { loop.schedule(at: deadline) { [unowned self] in flush() } }
    }
}

/// Lets some lines of one kind through in a minute and counts the rest: whatever comes by the thousand, what is rare is
/// still read.
package struct LogThrottle: Sendable {
    enum Verdict {
        case pass
        /// The first of its kind in this window: a summary will be due.
        case firstLeftOut
        case leftOut
    }

    private struct Window: Sendable {
        var end: Instant
        var passed = 0
        var leftOut = 0
        var level: LogLevel
        var message: StaticString
    }

    private let limit: Int
    private let length: Duration
    /// By the message: there are as many as the program has texts.
    private var windows: [String: Window] = [:]

    package init(limit: Int = 10, in length: Duration = .seconds(60)) {
        self.limit = limit
        self.length = length
    }

    mutating func judge(_ record: LogRecord, _ now: Instant) -> Verdict {
        // Whoever asks for debug lines wants them.
        guard record.level != .debug else { return .pass }
        let key = "\(record.message)"
        var window =
            windows[key]
            ?? Window(end: now + length, level: record.level, message: record.message)
        defer { windows[key] = window }
        if window.end <= now, window.leftOut == 0 {
            window = Window(end: now + length, level: record.level, message: record.message)
        }
        window.level = max(window.level, record.level)
        guard window.passed >= limit else {
            window.passed += 1
            return .pass
        }
        window.leftOut += 1
        return window.leftOut == 1 ? .firstLeftOut : .leftOut
    }

    /// When the next summary is due.
    var deadline: Instant? {
        windows.values.filter { $0.leftOut > 0 }.map(\.end).min()
    }

    /// One line for each window that is over and left something out.
    mutating func takeSummaries(_ now: Instant) -> [LogRecord] {
        var records: [LogRecord] = []
        for (key, window) in windows where window.end <= now {
            windows[key] = nil
            guard window.leftOut > 0 else { continue }
            records.append(
                LogRecord(
                    level: window.level,
                    message: "lines of one kind came too often: those after the tenth in a minute were left out",
                    fields: [LogField(.count, window.leftOut), LogField(.kind, "\(window.message)")],
                    wallMilliseconds: SystemClock.wallMilliseconds
                )
            )
        }
        return records.sorted { $0.level > $1.level }
    }
}

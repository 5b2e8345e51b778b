internal import Glibc

/// Lines on standard error: `<N>` prefixes for a supervisor, the time of day in UTC on a terminal, date and time elsewhere.
package struct StandardErrorSink: LineSink {
    package enum Style: Sendable {
        case terminal
        case supervised
        case plain
    }

    private let style: Style

    package init(style: Style) {
        self.style = style
    }

    /// What fits this process: a terminal, a service manager (it sets `INVOCATION_ID`), or neither.
    ///
    /// With a `JOURNAL_STREAM` somebody put something else in the journal's place, a file for example.
    package static var detected: StandardErrorSink {
        if isatty(STDERR_FILENO) == 1 { return StandardErrorSink(style: .terminal) }
        let isSupervised = getenv("INVOCATION_ID") != nil && getenv("JOURNAL_STREAM") == nil
        return StandardErrorSink(style: isSupervised ? .supervised : .plain)
    }

    package func write(_ records: [LogRecord]) {
        var text = ""
        for record in records { append(record, to: &text) }
        write(text)
    }

    package var isThrottled: Bool { style == .supervised }

    /// No time, no fields.
    package func write(_ lines: [String], level: LogLevel, message: StaticString) {
        let prefix = style == .supervised ? "<\(level.rawValue)>" : ""
        write(lines.map { prefix + $0 + "\n" }.joined())
    }

    private func write(_ text: String) {
        var bytes = ContiguousArray(text.utf8)[...]
        while !bytes.isEmpty {
            let written = bytes.withUnsafeBytes { Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
            if written > 0 {
                bytes.removeFirst(written)
            } else if errno != EINTR {
                return
            }
        }
    }

    private func append(_ record: LogRecord, to text: inout String) {
        switch style {
        case .supervised: text += "<\(record.level.rawValue)>"
        case .terminal: text += "\(UTCTime(milliseconds: record.wallMilliseconds).timeOfDay)Z \(record.level): "
        case .plain: text += "\(UTCTime(milliseconds: record.wallMilliseconds)) \(record.level): "
        }
        text += record.text + "\n"
    }
}

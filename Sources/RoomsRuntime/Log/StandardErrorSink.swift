internal import Glibc

/// Lines for people on standard error: `<N>` prefixes for a supervisor, a time of day on a terminal.
package struct StandardErrorSink: LogSink {
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
    package static var detected: StandardErrorSink {
        if isatty(STDERR_FILENO) == 1 { return StandardErrorSink(style: .terminal) }
        return StandardErrorSink(style: getenv("INVOCATION_ID") == nil ? .plain : .supervised)
    }

    package func write(_ records: [LogRecord]) {
        var text = ""
        for record in records { append(record, to: &text) }
        write(text)
    }

    /// Lines that stand for themselves, such as compilers write: no time, no fields.
    package func write(_ lines: [String], level: LogLevel) {
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
        case .terminal, .plain: text += timeOfDay(record.wallMilliseconds) + " \(record.level): "
        }
        text += record.text + "\n"
    }

    private func timeOfDay(_ milliseconds: Int64) -> String {
        var seconds = time_t(milliseconds / 1_000)
        var parts = tm()
        localtime_r(&seconds, &parts)
        func two(_ number: CInt) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let fraction = String(1_000 + milliseconds % 1_000).dropFirst()
        return "\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec)).\(fraction)"
    }
}

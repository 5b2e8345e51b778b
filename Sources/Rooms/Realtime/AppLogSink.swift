internal import RoomsRuntime

/// Gives lines of the log to the app.
struct AppLogSink: LogSink {
    let write: @Sendable (RealtimeOptions.LogLevel, String) -> Void

    func write(_ records: [LogRecord]) {
        for record in records { write(RealtimeOptions.LogLevel(record.level), record.text) }
    }
}

extension RealtimeOptions.LogLevel {
    fileprivate init(_ level: LogLevel) {
        switch level {
        case .critical, .error: self = .error
        case .warning: self = .warning
        case .notice: self = .notice
        case .info: self = .info
        case .debug: self = .debug
        }
    }
}

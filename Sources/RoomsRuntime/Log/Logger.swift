/// Writes lines into the log queue; a value that may be copied anywhere.
///
/// Never blocks.
package struct Logger: Sendable {
    private let queue: LogQueue?
    private let fields: [LogField]
    package let level: LogLevel

    package init(queue: LogQueue, level: LogLevel, fields: [LogField] = []) {
        self.queue = queue
        self.level = level
        self.fields = fields
    }

    /// Says nothing.
    package static let off = Logger()

    private init() {
        (queue, fields, level) = (nil, [], .error)
    }

    /// The same logger with fields that each of its lines carries.
    package func with(_ more: LogField...) -> Logger {
        guard let queue else { return self }
        return Logger(queue: queue, level: level, fields: fields + more)
    }

    package func critical(_ message: StaticString, _ fields: LogField...) { log(.critical, message, fields) }
    package func error(_ message: StaticString, _ fields: LogField...) { log(.error, message, fields) }
    package func warning(_ message: StaticString, _ fields: LogField...) { log(.warning, message, fields) }
    package func notice(_ message: StaticString, _ fields: LogField...) { log(.notice, message, fields) }
    package func info(_ message: StaticString, _ fields: LogField...) { log(.info, message, fields) }

    /// The fields are built only when debug lines are wanted.
    package func debug(_ message: StaticString, _ fields: @autoclosure () -> [LogField] = []) {
        guard level <= .debug else { return }
        log(.debug, message, fields())
    }

    package func log(_ level: LogLevel, _ message: StaticString, _ fields: [LogField]) {
        guard let queue, level >= self.level else { return }
        queue.put(
            LogRecord(
                level: level,
                message: message,
                fields: self.fields + fields,
                wallMilliseconds: SystemClock.wallMilliseconds
            )
        )
    }
}

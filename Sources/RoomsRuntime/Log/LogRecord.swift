/// How grave a line is, in syslog's numbers.
package enum LogLevel: Int, Comparable, Sendable {
    /// Data is at risk or gone: the store failed, events are missing.
    case critical = 2
    /// The operator must act.
    case error = 3
    /// Degraded, heals by itself.
    case warning = 4
    /// The life of the service: started, stopping.
    case notice = 5
    /// A state changed.
    case info = 6
    /// Once a batch or less often.
    case debug = 7

    /// `left < right` when left is less grave.
    package static func < (left: LogLevel, right: LogLevel) -> Bool { left.rawValue > right.rawValue }

    /// Those that a configuration may ask for: nobody turns errors off.
    package static let configurable: [LogLevel] = [.error, .warning, .notice, .info, .debug]

    package init?(name: String) {
        guard let level = Self.configurable.first(where: { "\($0)" == name }) else { return nil }
        self = level
    }
}

/// The only place where the keys of log fields are spelled.
package enum LogKey: String, Sendable {
    case address = "ADDRESS"
    case attempt = "ATTEMPT"
    case bytes = "BYTES"
    case code = "CODE"
    case count = "COUNT"
    case endpoint = "ENDPOINT"
    case epoch = "EPOCH"
    case error = "ERROR"
    case eventID = "EVENT_ID"
    case failures = "FAILURES"
    case gapFrom = "GAP_FROM"
    case gapTo = "GAP_TO"
    case hint = "HINT"
    case httpStatus = "HTTP_STATUS"
    case kind = "KIND"
    case lasted = "LASTED"
    case limit = "LIMIT"
    case missing = "MISSING"
    case offset = "OFFSET"
    case path = "FILE"
    case process = "PROCESS"
    case reason = "REASON"
    case refused = "REFUSED"
    case room = "ROOM"
    case rooms = "ROOMS"
    case row = "ROW"
    case run = "RUN"
    case seq = "SEQ"
    case server = "SERVER"
    case signal = "SIGNAL"
    case skew = "SKEW"
    case state = "STATE"
    case thread = "THREAD"
    case url = "URL"
    case version = "VERSION"
    case wait = "WAIT"
}

/// A key with its value, escaped so that nothing foreign can forge a line.
package struct LogField: Sendable {
    package let key: LogKey
    package let value: String

    /// Our own text may have foreign parts; a hint may be long.
    package init(_ key: LogKey, _ value: String) {
        self.key = key
        self.value = Self.cut(ByteString(value).description, to: 1_024)
    }

    package init(_ key: LogKey, _ value: ByteString) {
        self.key = key
        self.value = Self.cut(value.description, to: 256)
    }

    /// Ends with a mark when something is left out.
    private static func cut(_ text: String, to limit: Int) -> String {
        guard text.utf8.count > limit else { return text }
        var kept = ""
        var count = 0
        for scalar in text.unicodeScalars {
            count += scalar.utf8.count
            if count > limit { break }
            kept.unicodeScalars.append(scalar)
        }
        return kept + "..."
    }

    package init(_ key: LogKey, _ value: Duration) {
        self.key = key
        self.value = value.shortText
    }

    package init(_ key: LogKey, _ value: some BinaryInteger & Sendable) {
        self.key = key
        self.value = "\(value)"
    }
}

/// One line before it is written: a fixed message and its fields.
package struct LogRecord: Sendable {
    package let level: LogLevel
    package let message: StaticString
    package let fields: [LogField]
    package let wallMilliseconds: Int64

    package init(level: LogLevel, message: StaticString, fields: [LogField], wallMilliseconds: Int64) {
        self.level = level
        self.message = message
        self.fields = fields
        self.wallMilliseconds = wallMilliseconds
    }
}

/// Where lines go; called on the log thread alone.
package protocol LogSink: Sendable {
    func write(_ records: [LogRecord])
}

/// A sink for what comes before there is a queue, too: lines that stand for themselves, such as compilers write.
package protocol LineSink: LogSink {
    /// Whether it is better to leave out what comes too often: a journal drops a service's lines blindly.
    var isThrottled: Bool { get }

    /// `message` names what kind of lines they are, where there is a place for that.
    func write(_ lines: [String], level: LogLevel, message: StaticString)
}

/// How grave a line is, in syslog's numbers.
package enum LogLevel: Int, Comparable, Sendable, CaseIterable {
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

    package init?(name: String) {
        guard let level = Self.allCases.first(where: { "\($0)" == name }) else { return nil }
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
    case gapFrom = "GAP_FROM"
    case gapTo = "GAP_TO"
    case hint = "HINT"
    case httpStatus = "HTTP_STATUS"
    case limit = "LIMIT"
    case offset = "OFFSET"
    case path = "FILE"
    case process = "PROCESS"
    case reason = "REASON"
    case room = "ROOM"
    case row = "ROW"
    case run = "RUN"
    case seq = "SEQ"
    case server = "SERVER"
    case state = "STATE"
    case url = "URL"
    case version = "VERSION"
    case wait = "WAIT"
}

/// A key with its value, escaped so that nothing foreign can forge a line.
package struct LogField: Sendable {
    package let key: LogKey
    package let value: String

    package init(_ key: LogKey, _ value: String) {
        self.key = key
        self.value = ByteString(value).description
    }

    package init(_ key: LogKey, _ value: ByteString) {
        self.key = key
        self.value = value.description
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
}

/// Where lines go; called on the log thread alone.
package protocol LogSink: Sendable {
    func write(_ records: [LogRecord])
}

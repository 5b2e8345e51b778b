import Testing

/// A mistake in a configuration, and the reports it must give.
struct ConfigurationMistake: Sendable, CustomTestStringConvertible {
    let text: String
    /// `line:column: path: ` and the message.
    let reports: [String]

    init(_ text: String, _ reports: String...) {
        self.text = text
        self.reports = reports
    }

    /// A good configuration but for one part, which begins in column 14 of line 2, column 16 of line 3, column 12 of
    /// line 4 or column 1 of line 5.
    private init(_ parts: [String], _ reports: [String]) {
        text = """
            {
              "servers": \(parts[0]),
              "endpoints": \(parts[1]),
              "rooms": \(parts[2])
            \(parts[3])}
            """
        self.reports = reports
    }

    private static let good = [
        #"{"main": {"url": "ws://127.0.0.1:8000/connection/websocket"}}"#,
        #"{"app": {"url": "http://127.0.0.1:9000/hooks/rooms"}}"#,
        #"[{"room": "shop", "to": ["app"]}]"#, "",
    ]

    private static func with(_ part: String, at index: Int, _ reports: [String]) -> ConfigurationMistake {
        var parts = good
        parts[index] = part
        return ConfigurationMistake(parts, reports)
    }

    static func servers(_ text: String, _ reports: String...) -> ConfigurationMistake { with(text, at: 0, reports) }

    static func server(_ rest: String, _ reports: String...) -> ConfigurationMistake {
        with(#"{"main": {"url": "ws://127.0.0.1:8000/connection/websocket", \#(rest)}}"#, at: 0, reports)
    }

    static func endpoint(_ text: String, _ reports: String...) -> ConfigurationMistake {
        with(#"{"app": \#(text)}"#, at: 1, reports)
    }

    static func endpoints(_ text: String, _ reports: String...) -> ConfigurationMistake { with(text, at: 1, reports) }

    static func rooms(_ text: String, _ reports: String...) -> ConfigurationMistake { with(text, at: 2, reports) }

    /// More members of the whole.
    static func more(_ text: String, _ reports: String...) -> ConfigurationMistake { with(",\(text)", at: 3, reports) }

    var testDescription: String { reports.first ?? text }
}

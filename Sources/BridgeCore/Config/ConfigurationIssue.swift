package import RoomsRuntime

/// One thing that is wrong with the configuration: where, what, and what would be right.
package struct ConfigurationIssue: Hashable, Sendable, CustomStringConvertible {
    package var file: ByteString
    /// 1-based; nil when the problem is the file itself.
    package var place: Place?
    /// Such as `endpoints.orders.url`; empty for the document.
    package var path: String
    package var message: String

    package struct Place: Hashable, Sendable, Comparable {
        package var line: Int
        package var column: Int

        package init(line: Int, column: Int) {
            self.line = line
            self.column = column
        }

        package static func < (left: Place, right: Place) -> Bool {
            (left.line, left.column) < (right.line, right.column)
        }
    }

    package init(file: ByteString, place: Place?, path: String = "", message: String) {
        self.file = file
        self.place = place
        self.path = path
        self.message = message
    }

    /// `file:line:column: path: message`, which editors turn into a link.
    package var description: String {
        var text = file.description
        if let place { text += ":\(place.line):\(place.column)" }
        if !path.isEmpty { text += ": \(path)" }
        return text + ": \(message)"
    }
}

/// Everything that is wrong with a configuration, in the order of its text.
package struct ConfigurationError: Error, CustomStringConvertible {
    package let issues: [ConfigurationIssue]

    package var description: String { issues.map(\.description).joined(separator: "\n") }
}

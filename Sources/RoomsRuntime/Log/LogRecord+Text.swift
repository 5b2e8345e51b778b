extension LogRecord {
    /// The message and its fields, `key=value` each, in one line; what to do about it comes last.
    package var text: String {
        var text = "\(message)"
        for field in fields where field.key != .hint {
            text += " \(field.key.rawValue.lowercased())="
            Self.append(field.value, to: &text)
        }
        for field in fields where field.key == .hint { text += " -- \(field.value)" }
        return text
    }

    /// Quoted when it would not be one word: what it holds cannot pass for another field.
    ///
    /// A value comes with its backslashes and control characters escaped, so quotes are all that is left.
    private static func append(_ value: String, to text: inout String) {
        guard value.isEmpty || value.utf8.contains(where: { " \"=".utf8.contains($0) }) else { return text += value }
        text += "\""
        for scalar in value.unicodeScalars {
            if scalar == "\"" { text += "\\" }
            text.unicodeScalars.append(scalar)
        }
        text += "\""
    }
}

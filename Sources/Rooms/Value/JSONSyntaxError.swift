/// Why bytes are not JSON, and where.
public struct JSONSyntaxError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The line of the mistake, from 1.
    public let line: Int
    /// The byte of the line at which the mistake is, from 1.
    public let column: Int
    /// What is wrong and what would be right, without a piece of the text longer than a byte.
    public let reason: String

    /// Place and reason on one line: `2:6: '1' behind a key; a colon and a value have to follow`.
    public var description: String { "\(line):\(column): \(reason)" }
}

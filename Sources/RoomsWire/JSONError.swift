/// Why a text is not JSON, where, and what would be right.
package struct JSONError: Error, Equatable, Sendable {
    package enum Code: Equatable, Sendable {
        /// Something stands where something else has to.
        case unexpected
        /// The text ends before the value does.
        case unfinished
        case badNumber
        case badString
        case notUTF8
        case tooDeep
        case tooLarge
    }

    package let code: Code
    package let position: JSONPosition
    /// What is wrong, in words that follow `file:line:column: `.
    package let what: String
    package let remedy: String

    package var line: Int { position.line }
    package var column: Int { position.column }

    package init(_ code: Code, at position: JSONPosition, _ what: String, remedy: String) {
        self.code = code
        self.position = position
        self.what = what
        self.remedy = remedy
    }
}

extension JSONError: CustomStringConvertible {
    package var description: String { "\(line):\(column): \(what); \(remedy)" }
}

internal import LocalHTTP
internal import RoomsRuntime
package import RoomsWire

/// Everything that is wrong with a configuration.
package struct HubConfigurationError: Error, Equatable, Sendable {
    /// In the order of the text.
    package let issues: [HubConfigurationIssue]
}

/// One mistake: where, what is wrong, what would be right.
package struct HubConfigurationIssue: Equatable, Sendable, CustomStringConvertible {
    package let position: JSONPosition
    /// Such as `rooms[1].history`; empty for the whole text.
    package let path: String
    package let what: String
    package let remedy: String

    package var description: String {
        "\(position.line):\(position.column): \(path.isEmpty ? "" : path + ": ")\(what), \(remedy)"
    }
}

extension HubConfiguration {
    /// The configuration that a JSON text describes; what it does not say is as in `standard`.
    package static func parse(_ json: [UInt8]) throws(HubConfigurationError) -> HubConfiguration {
        let root: JSONNode
        do {
            root = try JSONDocument.parse(json).root
        } catch {
            let issue = HubConfigurationIssue(
                position: error.position,
                path: "",
                what: error.what,
                remedy: error.remedy
            )
            throw HubConfigurationError(issues: [issue])
        }
        return try ConfigurationReader.read { $0.configuration(root) }
    }
}

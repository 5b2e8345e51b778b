internal import BridgeTestSupport
internal import Foundation

/// The languages of the examples.
enum ExampleLanguage: String, CaseIterable, Sendable, CustomStringConvertible {
    case node
    case php
    case python

    var description: String { rawValue }

    /// The interpreter; nil when it is not installed and nobody insists on it.
    func find() throws -> String? {
        switch self {
        case .node: try RequiredProgram.node.find()
        case .php: try RequiredProgram.php.find()
        case .python: "python3"
        }
    }

    /// The path of the `receiver` or the `server`.
    func path(of example: String) -> String {
        let ending =
            switch self {
            case .node: "mjs"
            case .php: "php"
            case .python: "py"
            }
        return Programs.root + "/deploy/examples/\(example)/\(example).\(ending)"
    }

    /// The words that run such a file; on this port, where the language itself is the server.
    func arguments(for path: String, port: UInt16) -> [String] {
        switch self {
        case .node: [path]
        case .php: ["-d", "display_errors=0", "-S", "127.0.0.1:\(port)", path]
        case .python: ["-u", path]
        }
    }

    /// What stands in the line that says where it listens, before the port.
    var listening: String { self == .php ? "(http://127.0.0.1:" : "listens on 127.0.0.1:" }

    /// The port in that line.
    func port(in line: String) -> UInt16? {
        guard let start = line.range(of: listening)?.upperBound else { return nil }
        return UInt16(line[start...].prefix { $0.isNumber })
    }
}

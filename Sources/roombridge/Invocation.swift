internal import BridgeCore

/// What the command line asks for.
enum Invocation: Equatable {
    case run(config: String, stateDirectory: String?, control: String?)
    case check(config: String)
    case status(StatusCommand)
    case deadLetters(DeadLetterCommand)
    case keygen(KeygenCommand)
    case verify(VerifyCommand)
    case version
    /// Of one command, or of all.
    case help(Command?)

    enum Command: String, CaseIterable {
        case run, check, status
        case deadLetters = "dead-letters"
        case keygen, verify, version, help
    }

    static let defaultConfig = "/etc/roombridge/config.json"

    /// `arguments` without the program's name.
    static func parse(_ arguments: [String]) throws(UsageError) -> Invocation {
        guard let first = arguments.first else {
            throw UsageError("no command was given, must be one of \(Command.list)")
        }
        switch first {
        case "--help", "-h": return .help(nil)
        case "--version", "-V": return .version
        default: break
        }
        guard let command = Command(rawValue: first) else {
            let hint = Suggestion.nearest(to: first, among: Command.allCases.map(\.rawValue)) ?? ""
            throw UsageError(
                "there is no command \"\(first)\", must be one of \(Command.list)"
                    + (hint.isEmpty ? "" : "; did you mean \(hint)?")
            )
        }
        let rest = Array(arguments.dropFirst())
        if rest.contains("--help") || rest.contains("-h") { return .help(command) }
        switch command {
        case .run:
            let options = try Options(rest, of: command, ["--config", "--state-dir", "--control"])
            return .run(
                config: options["--config"] ?? defaultConfig,
                stateDirectory: options["--state-dir"],
                control: options["--control"]
            )
        case .check:
            let options = try Options(rest, of: command, ["--config"])
            return .check(config: options["--config"] ?? defaultConfig)
        case .status:
            var command = StatusCommand()
            command.isJSON = rest.contains("--json")
            let options = try Options(rest.filter { $0 != "--json" }, of: .status, ["--control", "--state-dir"])
            (command.socket, command.stateDirectory) = (options["--control"], options["--state-dir"])
            return .status(command)
        case .deadLetters:
            return .deadLetters(try DeadLetterCommand(arguments: rest))
        case .keygen:
            return .keygen(try KeygenCommand(arguments: rest))
        case .verify:
            return .verify(try VerifyCommand(arguments: rest))
        case .version:
            _ = try Options(rest, of: command, [])
            return .version
        case .help:
            guard let topic = rest.first else { return .help(nil) }
            guard let named = Command(rawValue: topic), rest.count == 1 else {
                throw UsageError(
                    "there is no help for \"\(rest.joined(separator: " "))\", must be one of \(Command.list)"
                )
            }
            return .help(named)
        }
    }
}

extension Invocation.Command {
    static var list: String { allCases.map(\.rawValue).joined(separator: ", ") }
}

/// A mistake on the command line; the message says what would be right.
struct UsageError: Error, Equatable {
    let message: String

    init(_ message: String) {
        self.message = message
    }
}

/// Options that take a value, as `--name VALUE` or `--name=VALUE`.
private struct Options {
    private var values: [String: String] = [:]

    init(_ arguments: [String], of command: Invocation.Command, _ names: [String]) throws(UsageError) {
        let most = names.dropLast().joined(separator: ", ")
        let list = names.count > 1 ? "\(most) and \(names[names.count - 1])" : names.first ?? "none"
        let choice = "it takes \(list)"
        var index = arguments.startIndex
        while index < arguments.endIndex {
            let argument = arguments[index]
            index += 1
            guard argument.hasPrefix("-") else {
                throw UsageError("\(command.rawValue) takes no argument \"\(argument)\", \(choice)")
            }
            let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            let name = parts[0]
            guard names.contains(name) else {
                throw UsageError("\(command.rawValue) has no option \"\(name)\", \(choice)")
            }
            guard values[name] == nil else { throw UsageError("\(name) was given twice, must be given once") }
            let value: String
            if parts.count == 2 {
                value = parts[1]
            } else if index < arguments.endIndex {
                value = arguments[index]
                index += 1
            } else {
                throw UsageError("\(name) needs a value, such as \(name) PATH")
            }
            guard !value.isEmpty else { throw UsageError("\(name) has an empty value, must be a path") }
            values[name] = value
        }
    }

    subscript(_ name: String) -> String? { values[name] }
}

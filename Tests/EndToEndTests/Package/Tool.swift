internal import BridgeTestSupport

/// A program of the machine that ends by itself, and what it said.
struct Tool {
    let exit: ChildProcess.Exit
    let output: String

    var isDone: Bool { exit == .status(0) }

    static func run(
        _ program: String,
        _ arguments: [String],
        environment: [String: String] = [:],
        directory: String = Programs.root,
        within limit: Duration = .seconds(60)
    ) async throws -> Tool {
        let child = try ChildProcess(
            program,
            arguments,
            environment: Programs.quiet.merging(environment) { $1 },
            directory: directory
        )
        let exit = try await child.wait(within: limit)
        return Tool(exit: exit, output: child.output)
    }

    /// What `roombridge help` says, of one command or of all.
    static func help(_ command: String? = nil) async throws -> String {
        try await run(Programs.bridge, ["help"] + (command.map { [$0] } ?? [])).output
    }

    /// The commands that there are.
    static func commands() async throws -> [String] {
        let lines = try await help().split(separator: "\n", omittingEmptySubsequences: false)
        let list = lines.drop { $0 != "commands:" }.dropFirst().prefix { !$0.isEmpty }
        return list.compactMap { $0.split(separator: " ").first.map(String.init) }
    }

    /// The options of a command.
    static func options(of command: String) async throws -> Set<String> {
        Set(try await help(command).matches(of: /--[a-z][a-z0-9-]*/).map { String($0.output) })
    }
}

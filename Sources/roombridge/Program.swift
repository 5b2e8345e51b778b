internal import BridgeCore
internal import Glibc

/// The commands.
enum Program {
    /// Does what the command line asks for; the result is the exit code.
    static func run(_ arguments: [String]) -> Int32 {
        do throws(UsageError) {
            switch try Invocation.parse(arguments) {
            case .run(let config, let stateDirectory, let control):
                return Service.run(config: config, stateDirectory: stateDirectory, control: control).rawValue
            case .status(let command):
                return run(command).rawValue
            case .deadLetters(let command):
                return run(command).rawValue
            case .keygen(let command):
                return run { () throws(CommandError) in try command.run(say: { print($0) }, remark: complain) }.rawValue
            case .verify(let command):
                return run { () throws(CommandError) in try command.run { print($0) } }.rawValue
            case .check(let config):
                return check(config).rawValue
            case .version:
                print(Version.report)
            case .help(let command):
                print(Help.text(command))
            }
            return ExitCode.success.rawValue
        } catch {
            complain("roombridge: \(error.message)\nTry: roombridge help")
            return ExitCode.usage.rawValue
        }
    }

    private static func check(_ config: String) -> ExitCode {
        do throws(ConfigurationError) {
            let configuration = try ConfigurationDecoder.load(config)
            print("\(config) is good\n\(ConfigurationSummary(configuration))")
            for advice in ConfigurationAdvice.load(config) { complain("\(advice)") }
            return .success
        } catch {
            complain("\(error)")
            return .configuration
        }
    }

    private static func run(_ command: StatusCommand) -> ExitCode {
        do throws(ControlError) {
            try command.run(onTerminal: isatty(STDOUT_FILENO) == 1) { print($0) }
            return .success
        } catch {
            complain("roombridge: \(error.message)")
            return error.exitCode
        }
    }

    private static func run(_ command: DeadLetterCommand) -> ExitCode {
        do throws(ControlError) {
            try command.run { print($0) }
            return .success
        } catch {
            complain("roombridge: \(error.message)")
            return error.exitCode
        }
    }

    private static func run(_ command: () throws(CommandError) -> Void) -> ExitCode {
        do throws(CommandError) {
            try command()
            return .success
        } catch {
            complain(error.message)
            return error.exitCode
        }
    }

    private static func complain(_ text: String) {
        let line = Array((text + "\n").utf8)
        _ = write(STDERR_FILENO, line, line.count)
    }
}

/// Why a command cannot do what it was asked to, and what the process ends with.
package struct CommandError: Error, Equatable, Sendable {
    package let message: String
    package let exitCode: ExitCode

    init(_ message: String, _ exitCode: ExitCode) {
        self.message = message
        self.exitCode = exitCode
    }
}

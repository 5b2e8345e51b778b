/// What the process ends with; those from `sysexits.h` that the unit file and scripts know.
package enum ExitCode: Int32, Sendable {
    case success = 0
    /// What was to be checked is not right.
    case refused = 1
    /// The command line is wrong.
    case usage = 64
    /// Another process uses the state directory.
    case unavailable = 69
    /// The state cannot be created.
    case cannotCreate = 73
    /// Reading or writing failed: a fresh start must look at what is there.
    case inputOutput = 74
    case configuration = 78
}

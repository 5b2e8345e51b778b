/// Why the program cannot go on; the message says what would be right.
struct Failure: Error {
    /// What the process ends with, as `sysexits.h` has it.
    enum Status: Int32 {
        /// The command line is wrong.
        case usage = 64
        /// A file that it names cannot be read, or holds something else.
        case input = 66
        /// No room can be followed.
        case unavailable = 69
        /// Output or positions cannot be written.
        case output = 74
    }

    let status: Status
    let message: String

    init(_ status: Status, _ message: String) {
        self.status = status
        self.message = message
    }
}

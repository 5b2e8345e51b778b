import Glibc

/// What ends the program: the first of a signal, nobody reading its output, and a failure.
enum Ending {
    private static let reasons = AsyncStream.makeStream(of: Failure?.self, bufferingPolicy: .bufferingOldest(1))
    /// Wakes the thread that watches: a signal's handler may write, and little else.
    private static let wake: (read: CInt, write: CInt) = {
        var ends: [CInt] = [-1, -1]
        precondition(pipe(&ends) == 0, "no descriptor left")
        return (ends[0], ends[1])
    }()

    /// Must come before anything else in the process.
    static func prepareProcess() {
        // Else the next file that is opened would be standard output to whoever prints.
        for number in STDIN_FILENO...STDERR_FILENO where fcntl(number, F_GETFD) < 0 { _ = open("/dev/null", O_RDWR) }
        // Who is not read any more learns it from `write`.
        signal(SIGPIPE, SIG_IGN)
    }

    /// Nil: it was asked to end.
    static var reached: Failure? {
        get async {
            for await reason in reasons.stream { return reason }
            return nil
        }
    }

    static func reach(_ failure: Failure? = nil) {
        reasons.continuation.yield(failure)
    }

    /// Ends at SIGINT and SIGTERM, and when the reader of a pipe is gone; at a second signal at once.
    static func watch() {
        _ = wake
        for number in [SIGINT, SIGTERM] {
            signal(number) { number in
                signal(number, SIG_DFL)
                var byte: UInt8 = 0
                _ = write(Ending.wake.write, &byte, 1)
            }
        }
        var thread = pthread_t()
        pthread_create(
            &thread,
            nil,
            { _ in
                // A pipe without a reader is an error by itself.
                var watched = [
                    pollfd(fd: Ending.wake.read, events: Int16(POLLIN), revents: 0),
                    pollfd(fd: STDOUT_FILENO, events: 0, revents: 0),
                ]
                while poll(&watched, nfds_t(watched.count), -1) < 0, errno == EINTR {}
                Ending.reach()
                return nil
            },
            nil
        )
        pthread_detach(thread)
    }
}

internal import CRoomsLinux
internal import Glibc

/// Signals as something a loop can watch.
///
/// Make it in `main` before the first thread: threads inherit that the signals are blocked.
package final class SignalSource {
    /// Readable when a signal came; stays this object's.
    package let descriptor: CInt
    private let signals: [CInt]

    package init(_ signals: [CInt]) {
        self.signals = signals
        var set = Self.set(of: signals)
        pthread_sigmask(SIG_BLOCK, &set, nil)
        descriptor = signalfd(-1, &set, CInt(SFD_CLOEXEC) | CInt(SFD_NONBLOCK))
        precondition(descriptor >= 0, "no descriptor left for signals")
    }

    deinit { close(descriptor) }

    /// The next signal that came, nil when there is none.
    package func next() -> CInt? {
        var info = signalfd_siginfo()
        let size = MemoryLayout<signalfd_siginfo>.size
        return read(descriptor, &info, size) == size ? CInt(bitPattern: info.ssi_signo) : nil
    }

    /// Gives the signals their default effect back; one that waits takes it at once.
    package func release() {
        for number in signals { signal(number, SIG_DFL) }
        var set = Self.set(of: signals)
        pthread_sigmask(SIG_UNBLOCK, &set, nil)
    }

    /// As people call it.
    package static func name(of signal: CInt) -> String {
        switch signal {
        case SIGTERM: "SIGTERM"
        case SIGINT: "SIGINT"
        case SIGHUP: "SIGHUP"
        default: "\(signal)"
        }
    }

    private static func set(of signals: [CInt]) -> sigset_t {
        var set = sigset_t()
        sigemptyset(&set)
        for number in signals { sigaddset(&set, number) }
        return set
    }
}

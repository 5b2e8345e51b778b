internal import CRoomsLinux
internal import Glibc

/// What a program that holds secrets and long connections asks of the kernel.
package enum ProcessSettings {
    /// Whether so many more descriptors can be had just now.
    package static func hasDescriptors(_ count: Int) -> Bool {
        var descriptors: [CInt] = []
        defer { for descriptor in descriptors { close(descriptor) } }
        for _ in 0..<count {
            let descriptor = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0)
            if descriptor >= 0 {
                descriptors.append(descriptor)
            } else if errno != EBADF {
                return false
            }
        }
        return true
    }

    /// What the program needs at least: its own threads' descriptors and some connections.
    package static let leastOpenFiles: UInt64 = 64

    /// Opens `/dev/null` in the place of a standard descriptor that is closed; must be the first thing in the process.
    ///
    /// Otherwise the next descriptor we open is standard error to whatever writes there.
    package static func openStandardDescriptors() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
            // The lowest number that is free: this one, since those below are open by now.
            _ = open("/dev/null", O_RDWR)
        }
    }

    /// Raises the limit of open files as far as this process may; the limit that is in force then.
    package static func raiseOpenFiles() -> UInt64 {
        var limit = rlimit()
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        guard getrlimit(resource, &limit) == 0 else { return .max }
        var raised = rlimit(rlim_cur: limit.rlim_max, rlim_max: limit.rlim_max)
        return UInt64(setrlimit(resource, &raised) == 0 ? limit.rlim_max : limit.rlim_cur)
    }

    /// A broken pipe is an error of `write`, not the end of the process.
    package static func ignoreBrokenPipes() {
        signal(SIGPIPE, SIG_IGN)
    }

    /// Gives memory that is free inside the heap back to the kernel; takes some milliseconds for each 100 MB.
    package static func returnFreeMemory() {
        malloc_trim(0)
    }

    /// No core file and no other process's eyes on the memory; new files are for this user alone.
    package static func protectSecrets() {
        umask(0o077)
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
        _ = shim_set_dumpable(0)
    }
}

internal import CRoomsLinux
internal import Glibc

/// What a program that holds secrets and long connections asks of the kernel.
package enum ProcessSettings {
    /// A broken pipe is an error of `write`, not the end of the process.
    package static func ignoreBrokenPipes() {
        signal(SIGPIPE, SIG_IGN)
    }

    /// No core file and no other process's eyes on the memory; new files are for this user alone.
    package static func protectSecrets() {
        umask(0o077)
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
        _ = shim_set_dumpable(0)
    }
}

internal import Glibc
internal import HubCore

/// Whole lines, and at once: whoever started the hub waits for them.
private func write(_ line: String, to descriptor: CInt) {
    var bytes = Array((line + "\n").utf8)[...]
    while !bytes.isEmpty {
        let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
        guard count > 0 else { return }
        bytes.removeFirst(count)
    }
}

HubProgram.prepareProcess()
exit(
    HubProgram.run(
        Array(CommandLine.arguments.dropFirst()),
        say: { write($0, to: STDOUT_FILENO) },
        complain: { write($0, to: STDERR_FILENO) }
    )
)

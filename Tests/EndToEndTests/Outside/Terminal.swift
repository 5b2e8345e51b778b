internal import BridgeTestSupport
internal import CRoomsLinux
internal import Foundation
internal import RoomsRuntime

/// A terminal that a program of a test writes to: what it would show, byte for byte.
final class Terminal: Sendable {
    /// What the program opens.
    let path: String
    private let descriptor: Int32
    private let shown = Lock<[UInt8]>([])

    init() throws {
        descriptor = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)
        var name = [CChar](repeating: 0, count: 64)
        guard descriptor >= 0, unlockpt(descriptor) == 0, ptsname_r(descriptor, &name, name.count) == 0 else {
            throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
        }
        path = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
    }

    deinit { close(descriptor) }

    var text: String {
        shown.withLock { shown in
            var buffer = [UInt8](repeating: 0, count: 65_536)
            while case let count = read(descriptor, &buffer, buffer.count), count > 0 { shown += buffer[..<count] }
            return String(decoding: shown, as: UTF8.self).replacingOccurrences(of: "\r\n", with: "\n")
        }
    }

    /// Starts a program whose output goes here.
    func start(
        _ program: String,
        _ arguments: [String],
        environment: [String: String] = [:]
    ) throws -> ChildProcess {
        try ChildProcess(
            "/bin/sh",
            ["-c", #"exec "$0" "$@" >"$TERMINAL" 2>&1"#, program] + arguments,
            environment: Programs.quiet.merging(["TERMINAL": path, "TERM": "xterm", "NO_COLOR": ""]) { $1 }
                .merging(environment) { $1 }
        )
    }
}

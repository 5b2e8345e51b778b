internal import BridgeTestSupport
internal import Foundation
internal import RoomsRuntime

/// A pipe that is full already: the first line that a program writes to it waits until somebody reads.
final class FullPipe: Sendable {
    private let folder: TemporaryDirectory
    private let descriptor: Int32
    private let read = Lock<[UInt8]>([])

    init() throws {
        folder = try TemporaryDirectory()
        mkfifo(folder.file("pipe"), 0o600)
        descriptor = open(folder.file("pipe"), O_RDWR | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        while write(descriptor, "filler\n", 7) > 0 {}
        while write(descriptor, "\n", 1) > 0 {}
    }

    deinit { close(descriptor) }

    /// Starts a program whose output goes here.
    func start(_ program: String, _ arguments: [String]) throws -> ChildProcess {
        try ChildProcess(
            "/bin/sh",
            ["-c", #"exec "$0" "$@" >"$PIPE""#, program] + arguments,
            environment: Programs.quiet.merging(["PIPE": folder.file("pipe")]) { $1 }
        )
    }

    /// Reads what there is; all that was read so far.
    func drain() -> String {
        read.withLock { read in
            var buffer = [UInt8](repeating: 0, count: 65_536)
            while case let count = Glibc.read(descriptor, &buffer, buffer.count), count > 0 { read += buffer[..<count] }
            return String(decoding: read, as: UTF8.self)
        }
    }
}

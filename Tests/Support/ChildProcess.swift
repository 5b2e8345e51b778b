internal import CRoomsLinux
import Foundation
internal import RoomsRuntime

/// A program run by a test: a session of its own, its output in a file, reaped the moment it ends.
///
/// What it leaves behind in its session is killed with it. Foundation's Process does none of this reliably.
package final class ChildProcess: Sendable {
    package enum Exit: Equatable, Sendable {
        case status(Int32)
        case signal(Int32)
    }

    package struct Failure: Error, CustomStringConvertible {
        package let description: String

        package init(_ description: String) {
            self.description = description
        }
    }

    private struct State: Sendable {
        var exit: Exit?
        var isReaped = false
    }

    package let pid: Int32
    package let name: String
    /// Standard output and standard error, in the order written.
    package let outputPath: String
    private let ownDirectory: TemporaryDirectory?
    private let state: Lock<State>

    /// Starts `program`, a path or a name to look up in PATH.
    ///
    /// `environment` is added to this process's own, or replaces it. Output goes to `output`, or to a file of its own.
    package init(
        _ program: String,
        _ arguments: [String] = [],
        environment: [String: String] = [:],
        inheritsEnvironment: Bool = true,
        directory: String? = nil,
        output: String? = nil
    ) throws {
        ownDirectory = output == nil ? try TemporaryDirectory() : nil
        let path = output ?? ownDirectory?.file("output") ?? "/dev/null"
        let file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw Failure("cannot write \(path): \(String(cString: strerror(errno)))") }
        defer { close(file) }
        var variables = inheritsEnvironment ? ProcessInfo.processInfo.environment : [:]
        variables.merge(environment) { $1 }
        var child: pid_t = 0
        let result = Self.withCStrings([program] + arguments) { argv in
            Self.withCStrings(variables.map { "\($0.key)=\($0.value)" }) { envp in
                shim_spawn(&child, program, argv, envp, directory, file)
            }
        }
        guard result == 0 else {
            throw Failure("cannot start \(program): \(String(cString: strerror(result)))")
        }
        pid = child
        name = (program as NSString).lastPathComponent
        outputPath = path
        let state = Lock(State())
        self.state = state
        // One unreaped child anywhere makes the exit tests of the whole process hang: reap from a thread that waits.
        Thread.detachNewThread { [pid] in Self.reap(pid, state) }
    }

    deinit { send(SIGKILL) }

    // MARK: signals

    /// Sends a signal to the child alone.
    package func signal(_ number: Int32) {
        state.withLock { if !$0.isReaped { _ = Glibc.kill(pid, number) } }
    }

    /// Kills the child and all of its session, and waits until it is reaped.
    package func kill(within limit: Duration = .seconds(10)) async throws {
        send(SIGKILL)
        _ = try await wait(within: limit)
    }

    /// Asks the child to end and waits for it.
    @discardableResult
    package func stop(within limit: Duration = .seconds(10)) async throws -> Exit {
        signal(SIGTERM)
        return try await wait(within: limit)
    }

    /// Nil while it runs.
    package var exit: Exit? { state.withLock { $0.exit } }

    package func wait(within limit: Duration = .seconds(10)) async throws -> Exit {
        try await eventually(within: limit, "the end of \(name)") { exit }
    }

    // MARK: output

    package var output: String {
        // FileManager leaks 4 KiB for each look at an empty file.
        let file = open(outputPath, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return "" }
        defer { close(file) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while case let count = read(file, &buffer, buffer.count), count > 0 { bytes += buffer[..<count] }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The first whole line of output that contains `text`; fails early when the child ends without one.
    package func line(containing text: String, within limit: Duration = .seconds(10)) async throws -> String {
        try await eventually(within: limit, "a line with \"\(text)\" from \(name)") {
            let hasEnded = exit != nil
            let output = self.output
            let whole =
                output.hasSuffix("\n") ? output[...] : output[..<(output.lastIndex(of: "\n") ?? output.startIndex)]
            if let line = whole.split(separator: "\n").first(where: { $0.contains(text) }) { return String(line) }
            if hasEnded { throw Failure("\(name) ended without a line with \"\(text)\":\n\(output)") }
            return nil
        }
    }

    // MARK: private

    private func send(_ number: Int32) {
        state.withLock { if !$0.isReaped { _ = Glibc.kill(-pid, number) } }
    }

    private static func reap(_ child: pid_t, _ state: Lock<State>) {
        var info = siginfo_t()
        while waitid(P_PID, id_t(child), &info, WEXITED | WNOWAIT) != 0, errno == EINTR {}
        state.withLock { state in
            // The child is still a zombie, so its number still names its session.
            _ = Glibc.kill(-child, SIGKILL)
            var status: Int32 = 0
            while waitpid(child, &status, 0) < 0, errno == EINTR {}
            state.isReaped = true
            state.exit =
                shim_exited(status) != 0 ? .status(shim_exit_status(status)) : .signal(shim_term_signal(status))
        }
    }

    private static func withCStrings<Result>(
        _ strings: [String],
        _ body: ([UnsafeMutablePointer<CChar>?]) -> Result
    ) -> Result {
        let copies = strings.map { strdup($0) }
        defer { for copy in copies { free(copy) } }
        return body(copies + [nil])
    }
}

import Foundation
internal import RoomsRuntime

/// Redis on a held port.
package final class RedisProcess: Sendable {
    private let program: String
    private let held: HeldPort
    private let folder: TemporaryDirectory
    private let keepsData: Bool
    private let child = Lock<ChildProcess?>(nil)

    /// Nil when the program is not installed and nobody insists on it.
    ///
    /// `keepsData`: what was written is there again after `kill` and `start`.
    package init?(keepsData: Bool = false) throws {
        guard let program = try RequiredProgram.redis.find() else { return nil }
        self.program = program
        self.keepsData = keepsData
        held = try HeldPort()
        folder = try TemporaryDirectory()
    }

    package var port: UInt16 { held.number }
    package var url: String { "redis://127.0.0.1:\(port)" }

    package func start() async throws {
        let arguments = [
            "--port", "\(port)", "--bind", "127.0.0.1", "--daemonize", "no", "--dir", folder.path, "--save", "",
            "--appendonly", keepsData ? "yes" : "no", "--appendfsync", "no",
        ]
        let started = try ChildProcess(program, arguments, output: folder.file("log"))
        child.withLock { $0 = started }
        try await eventually("an answer of Redis") { (try? await command("PING")) == "+PONG" }
    }

    package func stop() async throws { try await running?.stop() }

    package func kill() async throws { try await running?.kill() }

    /// Stops the process where it is: its sockets are there and say nothing.
    package func freeze() { running?.signal(SIGSTOP) }

    package func thaw() { running?.signal(SIGCONT) }

    private var running: ChildProcess? { child.withLock { $0 } }

    /// Forgets everything, as a Redis that was started anew would have.
    package func flush() async throws { try await command("FLUSHALL") }

    /// The first line of the answer, such as `+OK` or `:1`; throws when it is an error.
    @discardableResult
    package func command(_ words: String...) async throws -> String {
        let port = port
        let request = "*\(words.count)\r\n" + words.map { "$\($0.utf8.count)\r\n\($0)\r\n" }.joined()
        let line: String = await withCheckedContinuation { continuation in
            // The calls block: not on a thread that runs other tests.
            Thread.detachNewThread { continuation.resume(returning: Self.exchange(request, port)) }
        }
        guard let first = line.first, first != "-" else { throw Refused(description: "Redis answered \"\(line)\"") }
        return line
    }

    private static func exchange(_ request: String, _ port: UInt16) -> String {
        guard let connection = RawConnection(to: port) else { return "" }
        defer { connection.close() }
        guard connection.write(request) else { return "" }
        var line: [UInt8] = []
        while line.last != UInt8(ascii: "\n") {
            let next = connection.read(1)
            if next.isEmpty { break }
            line += next
        }
        return String(decoding: line, as: UTF8.self).trimmingCharacters(in: .newlines)
    }

    private struct Refused: Error, CustomStringConvertible {
        let description: String
    }
}

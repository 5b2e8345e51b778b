internal import Foundation
internal import RoomsRuntime

/// A real Centrifugo, on a port that it keeps from one life to the next.
package final class CentrifugoServer: Sendable {
    private let program: String
    private let held: HeldPort
    private let folder: TemporaryDirectory
    private let child = Lock<ChildProcess?>(nil)
    /// Answers its API with this key.
    private let key: String

    /// Nil when the program is not installed and nobody insists on it.
    ///
    /// `configuration` has PORT where the port has to stand, and `key` as the key of its API.
    package init?(configuration: String, key: String) throws {
        guard let program = try RequiredProgram.centrifugo.find() else { return nil }
        self.program = program
        self.key = key
        held = try HeldPort()
        folder = try TemporaryDirectory()
        try folder.write(configuration.replacingOccurrences(of: "PORT", with: "\(held.number)"), to: "centrifugo.json")
    }

    package var port: UInt16 { held.number }
    package var api: ServerAPI { ServerAPI(port: port, key: key) }

    package func start() async throws {
        let child = try ChildProcess(program, ["-c", folder.file("centrifugo.json")], output: folder.file("log"))
        self.child.withLock { $0 = child }
        try await eventually("an answer of the server") {
            if let exit = child.exit { throw ChildProcess.Failure("it ended with \(exit):\n\(child.output)") }
            do {
                try await api.call("info", "{}")
                return true
            } catch {
                return false
            }
        }
    }

    /// kill -9; `start` brings it back.
    package func kill() async throws { try await child.withLock { $0 }?.kill() }

    package func stop() async throws { _ = try await child.withLock { $0 }?.stop() }
}

internal import BridgeTestSupport
internal import Foundation
internal import RoomsRuntime

/// Publishes through PyPI's `cent`, as a Python app does.
enum CentPublisher {
    /// The server's answers, with the bytes that were sent, in the order of `requests`.
    static func publish(
        _ requests: [String],
        to server: any RealtimeServer
    ) async throws -> [(offset: UInt64, epoch: String, sent: [UInt8])] {
        let folder = try TemporaryDirectory()
        let input = try folder.write(requests.joined(separator: "\n") + "\n", to: "requests")
        let script = Programs.script("publish.py")
        let child = try ChildProcess(
            "/bin/sh",
            [
                "-c", "exec \"$0\" -u \"$1\" \"$2\" \"$3\" <\"$4\"", try Programs.python(), script, server.apiURL,
                RealtimeServers.apiKey, input,
            ]
        )
        let exit = try await child.wait(within: .seconds(30))
        guard exit == .status(0) else { throw ChildProcess.Failure("cent: \(exit)\n\(child.output)") }
        return child.output.split(separator: "\n").compactMap { line in
            let answer = JSONSlice(String(line))
            guard let offset = answer["offset"]?.unsigned, let epoch = answer["epoch"]?.string,
                let sent = answer["sent"]?.string.flatMap({ Base64.decode($0.bytes) })
            else { return nil }
            return (offset, epoch.string, sent)
        }
    }
}

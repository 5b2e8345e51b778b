internal import BridgeTestSupport
internal import Foundation
internal import RoomsRuntime

/// Python's `http.server` with `standardwebhooks` and `cloudevents`, in a process of its own.
final class PythonReceiver: Sendable {
    private let folder: TemporaryDirectory
    private let child: ChildProcess
    let port: UInt16

    struct Entry: Sendable {
        var headers: [String: String]
        var body: [UInt8]
        var isVerified: Bool
        /// The same of `v1a`, by the public key.
        var isVerifiedByKey: Bool
        /// What `cloudevents` made of it, as `cloudevents` names it.
        var events: [CloudEvent]
        /// Why it could make nothing of it.
        var error: String?
    }

    struct CloudEvent: Sendable {
        var attributes: [String: String]
        /// Data that is not JSON.
        var bytes: [UInt8]?
    }

    /// With a public key (`whpk_…`) it checks `v1a`, too.
    init(publicKey: String? = nil) async throws {
        folder = try TemporaryDirectory()
        child = try ChildProcess(
            Programs.python(),
            ["-u", Programs.script("receiver.py"), BridgeProcess.signingSecret, folder.file("requests")]
                + (publicKey.map { [$0] } ?? [])
        )
        let child = child
        port = try await eventually("the port of the Python receiver") {
            if let exit = child.exit { throw ChildProcess.Failure("it ended, \(exit):\n\(child.output)") }
            return child.output.hasSuffix("\n") ? UInt16(child.output.dropLast()) : nil
        }
    }

    var address: SocketAddress { .loopback(port: port) }

    var entries: [Entry] {
        let text = FileManager.default.contents(atPath: folder.file("requests")) ?? Data()
        return text.split(separator: UInt8(ascii: "\n")).compactMap { Self.entry(Data($0)) }
    }

    private static func entry(_ line: Data) -> Entry? {
        guard let object = try? JSONSerialization.jsonObject(with: line) as? [String: Any],
            let body = (object["body"] as? String).flatMap({ Data(base64Encoded: $0) })
        else { return nil }
        return Entry(
            headers: object["headers"] as? [String: String] ?? [:],
            body: [UInt8](body),
            isVerified: object["verified"] as? Bool ?? false,
            isVerifiedByKey: object["verified_by_key"] as? Bool ?? false,
            events: (object["events"] as? [[String: Any]] ?? []).map { event in
                CloudEvent(
                    attributes: event["attributes"] as? [String: String] ?? [:],
                    bytes: (event["bytes"] as? String).flatMap { Data(base64Encoded: $0) }.map { [UInt8]($0) }
                )
            },
            error: object["error"] as? String
        )
    }
}

internal import BridgeTestSupport
internal import Foundation
internal import RoomsRuntime
internal import Testing

extension EndToEnd {
    /// Secrets and certificates of endpoints that change while the service runs.
    @Suite(.timeLimit(.minutes(1))) struct CredentialTests {
        @Test func `a signing secret is replaced without a restart, and a bad one is not taken`() async throws {
            let scene = try await CredentialScene(
                files: ["key": Self.first],
                options: #""signing": [ { "file": "KEY" } ]"#
            )
            try await scene.expectNext("signed with the first") { $0.isSigned(with: Self.first) }
            // Put in its place by a rename, as editors and tools do.
            try scene.write(Self.second, to: "new")
            #expect(rename(scene.folder.file("new"), scene.folder.file("key")) == 0)
            _ = try await scene.bridge.line(containing: "in use from now on")
            try await scene.expectNext("signed with the second") { $0.isSigned(with: Self.second) }
            try scene.write("whsec_short", to: "key")
            let line = try await scene.bridge.line(containing: "the last good ones stay in use")
            #expect(line.contains("is not base64"), "\(line)")
            try await scene.expectNext("still signed with the second") { $0.isSigned(with: Self.second) }
            // Written in place.
            try scene.write(Self.first, to: "key")
            try await scene.bridge.eventually("the second change") { scene.lines("in use from now on") == 2 }
            try await scene.expectNext("signed with the first again") { $0.isSigned(with: Self.first) }
            #expect(scene.lines("the last good ones stay in use") == 1)
            for secret in [Self.first, Self.second, "short"] {
                #expect(!scene.bridge.log.contains(secret.dropFirst(secret == "short" ? 0 : 6)))
            }
            try await scene.end()
        }

        @Test func `a bearer token and other fields come from secrets, and change with them`() async throws {
            let scene = try await CredentialScene(
                files: ["token": "abc.def\n", "key": "k 1"],
                options:
                    #""bearer": { "file": "TOKEN" }, "headers": { "X-Api-Key": { "file": "KEY" }, "x-env": { "env": "RB_SIGNING" } }"#
            )
            try await scene.expectNext("the first token") {
                $0["authorization"] == "Bearer abc.def" && $0["x-api-key"] == "k 1"
                    && $0["x-env"] == BridgeProcess.signingSecret && $0["webhook-signature"] == nil
            }
            try scene.write("ghi", to: "token")
            _ = try await scene.bridge.line(containing: "in use from now on")
            try await scene.expectNext("the second token") { $0["authorization"] == "Bearer ghi" }
            try scene.write("two words", to: "token")
            _ = try await scene.bridge.line(containing: "must be the token alone")
            try await scene.expectNext("still the second token") { $0["authorization"] == "Bearer ghi" }
            #expect(!scene.bridge.log.contains("two words") && !scene.bridge.log.contains("ghi"))
            try await scene.end()
        }

        @Test func `nginx gets the client certificate it asks for, and the next one when it changes`() async throws {
            let (authority, other) = (try await TestAuthority(), try await TestAuthority())
            let (front, first, second) = (
                try await authority.issue("front"), try await authority.issue("first"),
                try await authority.issue("second")
            )
            let receiver = try RecordingReceiver()
            guard case .loopback(let port) = receiver.address else { return }
            let held = try HeldPort()
            let lines = """
                listen 127.0.0.1:\(held.number) ssl; ssl_certificate \(front.certificateFile);
                    ssl_certificate_key \(front.keyFile); ssl_client_certificate \(authority.file); ssl_verify_client on;
                    location / { proxy_pass http://127.0.0.1:\(port); proxy_set_header X-Client $ssl_client_s_dn; }
                """
            guard let nginx = try NginxProcess(folder: try TemporaryDirectory(), server: lines) else { return }
            try await nginx.waitUntilListening(on: .loopback(port: held.number))
            let scene = try await CredentialScene(
                receiver: receiver,
                url: "https://localhost:\(held.number)/hook",
                files: [
                    "ca": try Self.text(authority.file), "certificate": try Self.text(first.certificateFile),
                    "key": try Self.text(first.keyFile),
                ],
                options: #""ca": "CA", "client_certificate": "CERTIFICATE", "client_key": { "file": "KEY" }"#
            )
            try await scene.expectNext("shown as the first") { $0["x-client"] == "CN=first" }
            try scene.write(try Self.text(second.certificateFile), to: "certificate")
            // The new certificate does not go with the old key: what is good stays in use until both are there.
            _ = try await scene.bridge.line(containing: "does not belong to the first certificate")
            try await scene.expectNext("still shown as the first") { $0["x-client"] == "CN=first" }
            try scene.write(try Self.text(second.keyFile), to: "key")
            _ = try await scene.bridge.line(containing: "in use from now on")
            try await scene.expectNext("shown as the second") { $0["x-client"] == "CN=second" }
            try scene.write(try Self.text(other.file), to: "ca")
            try await scene.bridge.eventually("the other authority") { scene.lines("in use from now on") == 2 }
            scene.publish()
            _ = try await scene.bridge.line(containing: "check the certificate")
            try scene.write(try Self.text(authority.file), to: "ca")
            try await scene.bridge.eventually("the event that waited") { receiver.acceptedCount == 4 }
            try await scene.end()
            try await nginx.stop()
        }

        private static let first = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
        private static let second = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"

        private static func text(_ file: String) throws -> String { try String(contentsOfFile: file, encoding: .utf8) }
    }
}

/// A bridge whose endpoint has secrets in files.
private final class CredentialScene {
    let folder: TemporaryDirectory
    let bridge: BridgeProcess
    private let server: ScriptedServer
    private let receiver: RecordingReceiver
    private var published = 0

    /// The name of a file in capitals stands for its path in `options`.
    init(
        receiver: RecordingReceiver? = nil,
        url: String? = nil,
        files: [String: String],
        options: String
    ) async throws {
        folder = try TemporaryDirectory()
        server = try ScriptedServer(.honest)
        self.receiver = try receiver ?? RecordingReceiver()
        var options = options
        for name in files.keys {
            options = options.replacingOccurrences(of: "\"\(name.uppercased())\"", with: "\"\(folder.file(name))\"")
        }
        var setup = BridgeSetup(url: server.url)
        setup.add(endpoint: "test", for: self.receiver.address, rooms: ["shop"])
        setup.endpoints["test"] = #"{ "url": "\#(url ?? self.receiver.url)", \#(options) }"#
        bridge = try BridgeProcess(setup)
        for (name, text) in files { try write(text, to: name) }
        try await bridge.start()
        try await bridge.eventually("the room joined") { server.hasJoined("shop") }
    }

    func write(_ text: String, to name: String) throws {
        let isNew = !FileManager.default.fileExists(atPath: folder.file(name))
        if isNew {
            let mode: [FileAttributeKey: Any] = [.posixPermissions: 0o600]
            guard FileManager.default.createFile(atPath: folder.file(name), contents: Data(text.utf8), attributes: mode)
            else { throw ChildProcess.Failure("cannot write \(name)") }
        } else {
            let handle = try #require(FileHandle(forWritingAtPath: folder.file(name)))
            try handle.truncate(atOffset: 0)
            try handle.write(contentsOf: Data(text.utf8))
            try handle.close()
        }
    }

    func publish() {
        published += 1
        server.publish(Array("\(published)".utf8), to: "shop")
    }

    /// Publishes one event, and looks at its request.
    func expectNext(_ what: String, _ condition: (RecordingReceiver.Request) -> Bool) async throws {
        publish()
        try await bridge.eventually("the event, \(what)") { receiver.acceptedCount == published }
        let request = try #require(receiver.requests.last)
        #expect(condition(request), "\(what): \(request.message.headers)")
    }

    /// How many lines of the journal say so.
    func lines(_ text: String) -> Int { bridge.log.split(separator: "\n").count { $0.contains(text) } }

    func end() async throws {
        #expect(try await bridge.terminate() == .status(0), "\(bridge.log)")
    }
}

extension RecordingReceiver.Request {
    fileprivate func isSigned(with secret: String) -> Bool {
        guard let id = self["webhook-id"], let time = self["webhook-timestamp"],
            let key = Base64.decode(secret.utf8.dropFirst(6))
        else { return false }
        let code = MessageAuthenticator(key: Secret(key)).authenticate(Array("\(id).\(time).".utf8) + message.body)
        return self["webhook-signature"] == "v1,\(String(decoding: Base64.encode(code), as: UTF8.self))"
    }
}

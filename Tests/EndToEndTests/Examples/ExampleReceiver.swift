internal import BridgeTestSupport
internal import Foundation
internal import RoomsRuntime

/// A receiver of deploy/examples/receiver, on a port and with a folder that outlive each of its lives.
final class ExampleReceiver {
    static let secrets = [BridgeProcess.signingSecret, "whsec_c2Vjb25kIHNlY3JldCBvZiB0aGUgdGVzdHM="]

    let language: ExampleLanguage
    let state: TemporaryDirectory
    private let program: String
    private let held: HeldPort
    private var child: ChildProcess?

    /// Nil when the interpreter is not installed and nobody insists on it.
    init?(_ language: ExampleLanguage) throws {
        guard let program = try language.find() else { return nil }
        self.language = language
        self.program = program
        state = try TemporaryDirectory()
        held = try HeldPort()
    }

    var address: SocketAddress { .loopback(port: held.number) }
    var output: String { child?.output ?? "" }

    /// `shell`: commands that go before it, such as a limit.
    func start(secrets: String = secrets.joined(separator: " "), shell: String = "") async throws {
        let child = try launch(port: held.number, secrets: secrets, shell: shell)
        _ = try await child.line(containing: language.listening)
    }

    /// Starts it, without waiting for anything.
    @discardableResult
    func launch(port: UInt16, secrets: String?, shell: String = "") throws -> ChildProcess {
        var environment = ["PORT": "\(port)", "STATE": state.path, "PHP_CLI_SERVER_WORKERS": "4"]
        environment["SIGNING_SECRET"] = secrets
        let command = [program] + language.arguments(for: language.path(of: "receiver"), port: port)
        let child = try ChildProcess("sh", ["-c", shell + "exec \"$@\"", "sh"] + command, environment: environment)
        self.child = child
        return child
    }

    /// Takes away the limit on the length of files that its shell set.
    func liftLimits() async throws {
        let words = ["--pid", "\(child?.pid ?? 0)", "--fsize=unlimited"]
        guard try await ChildProcess("prlimit", words).wait() == .status(0) else {
            throw ChildProcess.Failure("prlimit failed")
        }
    }

    /// kill -9.
    func kill() async throws { try await child?.kill() }

    func stop() async throws { try await child?.stop() }

    /// The status that a delivery is answered with; nil when the connection broke.
    func post(_ delivery: SignedDelivery) async throws -> Int? {
        try await Self.post([delivery], to: address)[0]
    }

    /// The statuses that deliveries are answered with, one after the other.
    static func post(_ deliveries: [SignedDelivery], to address: SocketAddress) async throws -> [Int?] {
        var statuses: [Int?] = []
        for delivery in deliveries {
            let request = TestHTTP.request("/hook", delivery.body, headers: delivery.headers)
            statuses.append(try await exchange(request, with: address)?.status)
        }
        return statuses
    }

    /// What it kept of a room.
    func messages(_ room: String) async throws -> [JSONSlice] {
        let answer = try await get("/chats/\(room)")
        guard let answer, answer.status == 200 else {
            throw ChildProcess.Failure("GET was answered \(answer?.startLine ?? "not at all"):\n\(output)")
        }
        return JSONSlice(answer.body).elements
    }

    func get(_ path: String) async throws -> HTTPMessage? {
        try await exchange(Array("GET \(path) HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n".utf8))
    }

    func exchange(_ request: [UInt8]) async throws -> HTTPMessage? {
        try await Self.exchange(request, with: address)
    }

    static func exchange(_ request: [UInt8], with address: SocketAddress) async throws -> HTTPMessage? {
        let answer = try await TestHTTP.exchange(address, request) { HTTPMessage.read($0)?.1 }
        return answer.flatMap { HTTPMessage.read($0)?.0 }
    }
}

/// A delivery as a bridge would send it, made by a test.
struct SignedDelivery: Sendable {
    var id: String
    var body: [UInt8]
    var contentType = "application/json"
    /// Seconds between its timestamp and now.
    var age = 0
    var secrets = [ExampleReceiver.secrets[0]]

    init(_ id: String, room: String = "chat:34:42", number: Int = 0) {
        self.id = id
        body = Array(
            """
            {"id":"\(id)","type":"room.event","timestamp":"2026-11-30T02:00:00.123Z","data":{"room":"\(room)",\
            "event":"message","data":{"number":\(number)},"meta":{"seq":1,"prev_seq":0}}}
            """.utf8
        )
    }

    /// Several events, one a line.
    static func batch(_ bodies: [[UInt8]]) -> Self {
        var delivery = Self("rb_b_1")
        delivery.body = bodies.flatMap { $0 + [0x0a] }
        delivery.contentType = "application/x-ndjson"
        return delivery
    }

    var timestamp: Int { Int(Date().timeIntervalSince1970) - age }

    var signatures: [String] {
        secrets.map { Self.signature("\(id).\(timestamp).", body, secret: $0) }
    }

    var headers: [String] {
        headers(signature: signatures.joined(separator: " "))
    }

    func headers(signature: String) -> [String] {
        [
            "webhook-id: \(id)", "webhook-timestamp: \(timestamp)", "webhook-signature: \(signature)",
            "content-type: \(contentType)", "connection: close",
        ]
    }

    private static func signature(_ head: String, _ body: [UInt8], secret: String) -> String {
        let key = Base64.decode(secret.dropFirst("whsec_".count).utf8) ?? []
        let code = MessageAuthenticator(key: Secret(key)).authenticate(Array(head.utf8) + body)
        return "v1," + String(decoding: Base64.encode(code), as: UTF8.self)
    }
}

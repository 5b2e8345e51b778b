internal import BridgeTestSupport
internal import Foundation
internal import RoomsRuntime

/// A server that the bridge joins rooms on: the hub or the real thing.
protocol RealtimeServer: AnyObject, CustomStringConvertible {
    var port: UInt16 { get }
    /// Whether streams outlive the process.
    var keepsStreams: Bool { get }
    func start() async throws
    /// kill -9; `start` brings it back on the same port.
    func kill() async throws
    /// SIGTERM and the end of it.
    func stop() async throws
    var output: String { get }
}

extension RealtimeServer {
    var webSocketURL: String { "ws://127.0.0.1:\(port)/connection/websocket" }
    var apiURL: String { "http://127.0.0.1:\(port)/api" }
}

enum RealtimeServers {
    static let apiKey = "api-key-for-tests"
    static let tokenSecret = "token-secret-for-tests"
}

extension RealtimeServer {
    /// Publishes through the server's API: `request` is the body.
    func publish(_ request: String) async throws {
        let headers = ["x-api-key: \(RealtimeServers.apiKey)"]
        let answer = try await TestHTTP.post(.loopback(port: port), "/api/publish", request, headers: headers)
        guard let answer, answer.status == 200, JSONSlice(answer.body)["result"] != nil else {
            throw ChildProcess.Failure("\(description) answered \(answer?.startLine ?? "nothing")")
        }
    }
}

/// Our own development server.
final class HubProcess: RealtimeServer {
    private let held: HeldPort
    private let folder: TemporaryDirectory
    private var child: ChildProcess?
    let description = "roomhub"
    let keepsStreams = false

    /// `configuration` is another than the usual one, with PORT where the port has to stand.
    init(configuration: String? = nil) throws {
        held = try HeldPort()
        folder = try TemporaryDirectory()
        let text = configuration ?? Self.usual
        try folder.write(text.replacingOccurrences(of: "PORT", with: "\(held.number)"), to: "hub.json")
    }

    private static let usual = """
        {
          "listen": ["127.0.0.1:PORT"],
          "api_key": { "env": "HUB_API_KEY" },
          "token_secret": { "env": "HUB_TOKEN_SECRET" },
          "faults": "127.0.0.1:0",
          "rooms": [
            { "pattern": "order:{id*}", "history": 50000, "keep": "30m", "members_may": ["history"] },
            { "pattern": "small:{id*}", "history": 10, "keep": "30m", "members_may": ["history"] },
            { "pattern": "nohistory:{id*}", "history": 50000, "keep": "30m", "members_may": [] },
            { "pattern": "lounge:{id*}", "history": 1000, "keep": "30m", "public": true, "presence": true },
            { "pattern": "shop", "history": 50000, "keep": "30m", "public": true, "members_may": ["history"] },
            { "pattern": "chat:{a}:{b}", "history": 1000, "keep": "30m", "members_may": ["history"] }
          ]
        }
        """

    var port: UInt16 { held.number }
    var output: String { child?.output ?? "" }

    func start() async throws {
        child = try ChildProcess(
            Programs.hub,
            ["--config", folder.file("hub.json")],
            environment: Programs.quiet.merging([
                "HUB_API_KEY": RealtimeServers.apiKey, "HUB_TOKEN_SECRET": RealtimeServers.tokenSecret,
            ]) { $1 },
            output: folder.file("log")
        )
        try await TestHTTP.waitForAnswer(port: port, child)
    }

    func kill() async throws { try await child?.kill() }

    func stop() async throws { try await child?.stop() }

    /// Asks for a fault of `docs/ROOMHUB.md`.
    func fault(_ name: String, _ body: String) async throws {
        let line = try await child?.line(containing: "takes faults on") ?? ""
        let port = line.split(separator: ":").last.flatMap { UInt16($0) } ?? 0
        let answer = try await TestHTTP.post(.loopback(port: port), "/faults/\(name)", body)
        guard answer?.status == 200 else {
            throw ChildProcess.Failure("the fault \(name) was answered with \(answer?.startLine ?? "nothing")")
        }
    }
}

/// The real server, with its streams in memory or in Redis.
final class CentrifugoProcess: RealtimeServer {
    private let program: String
    private let held: HeldPort
    private let folder: TemporaryDirectory
    private let redis: RedisProcess?
    private var child: ChildProcess?

    /// Nil when the program is not installed and nobody insists on it.
    ///
    /// `configuration` is another than the usual one, with PORT where the port has to stand.
    init?(redis: RedisProcess? = nil, configuration: String? = nil) throws {
        guard let program = try RequiredProgram.centrifugo.find() else { return nil }
        self.program = program
        self.redis = redis
        held = try HeldPort()
        folder = try TemporaryDirectory()
        let text = configuration ?? usual
        try folder.write(text.replacingOccurrences(of: "PORT", with: "\(held.number)"), to: "centrifugo.json")
    }

    var port: UInt16 { held.number }
    var keepsStreams: Bool { redis != nil }
    var description: String { redis == nil ? "Centrifugo" : "Centrifugo with Redis" }
    var output: String { child?.output ?? "" }

    func start() async throws {
        child = try ChildProcess(program, ["-c", folder.file("centrifugo.json")], output: folder.file("log"))
        try await TestHTTP.waitForAnswer(port: port, child)
    }

    func kill() async throws { try await child?.kill() }

    func stop() async throws { try await child?.stop() }

    private var usual: String {
        let engine = redis.map { redis in
            """
            ,
              "engine": {
                "type": "redis",
                "redis": { "address": "\(redis.url)", "connect_timeout": "1s", "io_timeout": "1s" }
              }
            """
        }
        let durable = """
            "history_ttl": "300s", "force_recovery": true, "allow_subscribe_for_client": true
            """
        let rights = "\(durable), \"allow_history_for_subscriber\": true"
        return """
            {
              "http_server": { "address": "127.0.0.1", "port": "PORT" },
              "http_api": { "key": "\(RealtimeServers.apiKey)" },
              "log": { "level": "info" },
              "shutdown": { "timeout": "2s" },
              "client": {
                "token": { "hmac_secret_key": "\(RealtimeServers.tokenSecret)" },
                "presence_update_interval": "1s",
                "channel_position_check_delay": "1s"
              },
              "channel": {
                "namespaces": [
                  { "name": "order", "history_size": 50000, \(rights) },
                  { "name": "small", "history_size": 10, \(rights) },
                  { "name": "nohistory", "history_size": 50000, \(durable) },
                  { "name": "lounge", "history_size": 1000, \(rights), "presence": true, "join_leave": true,
                    "allow_presence_for_subscriber": true }
                ]
              }\(engine ?? "")
            }
            """
    }
}

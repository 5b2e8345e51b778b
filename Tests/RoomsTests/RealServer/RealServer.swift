import BridgeTestSupport
import RoomsRuntime
import Testing

@testable import Rooms

/// Where a real server keeps its streams.
enum Engine: String, CaseIterable, CustomTestStringConvertible, Sendable {
    case memory
    case redis

    var testDescription: String { rawValue }
}

/// A real Centrifugo with the namespaces that the recordings were made with and some more.
final class RealServer: Sendable {
    private let server: CentrifugoServer
    /// Nil: the streams are in its memory.
    let redis: RedisProcess?

    /// Nil when the program is not installed and nobody insists on it.
    ///
    /// `redisPort`: where it is to look for `redis`, if not at its own port; `positionCheck`: how often it looks whether
    /// clients are behind; `client`: another member of the configuration's object of that name.
    init?(
        redis: RedisProcess? = nil,
        redisPort: UInt16? = nil,
        positionCheck: String = "1s",
        client: String? = nil
    ) throws {
        let check = #""channel_position_check_delay": "\#(positionCheck)""#
        let text = Self.configuration(
            redisPort: redis.map { redisPort ?? $0.port },
            client: [check, client].compactMap(\.self).joined(separator: ", ")
        )
        guard let server = try CentrifugoServer(configuration: text, key: "api-key-for-tests") else { return nil }
        self.server = server
        self.redis = redis
    }

    /// One that runs, with its Redis if it needs one.
    static func started(_ engine: Engine = .memory, client: String? = nil) async throws -> RealServer? {
        var redis: RedisProcess?
        if engine == .redis {
            redis = try RedisProcess()
            guard redis != nil else { return nil }
        }
        guard let server = try RealServer(redis: redis, client: client) else { return nil }
        try await redis?.start()
        try await server.start()
        return server
    }

    var port: UInt16 { server.port }
    var api: ServerAPI { server.api }

    func start() async throws { try await server.start() }

    func kill() async throws { try await server.kill() }

    func stop() async throws { try await server.stop() }

    /// Every stream is gone, and the server runs.
    func forget() async throws {
        if let redis { return try await redis.flush() }
        try await kill()
        try await start()
    }

    /// Tokens for the user `bridge` that last so many seconds.
    static func tokens(lasting seconds: Int64) -> TokenSource {
        TokenSource(
            connection: { token(#""sub":"bridge""#, seconds) },
            subscription: { name in
                guard name.hasPrefix("$") else { return nil }
                return token(#""sub":"bridge","channel":"\#(name.string)""#, seconds)
            }
        )
    }

    static func token(_ claims: String, _ seconds: Int64) -> Secret {
        let end = SystemClock.wallMilliseconds / 1_000 + seconds
        let parts = [#"{"alg":"HS256","typ":"JWT"}"#, "{\(claims),\"exp\":\(end)}"].map {
            Base64.encodeURL(Array($0.utf8))
        }
        let signed = parts[0] + [UInt8(ascii: ".")] + parts[1]
        let signature = MessageAuthenticator(key: Secret("token-secret-for-tests")).authenticate(signed)
        return Secret(signed + [UInt8(ascii: ".")] + Base64.encodeURL(signature))
    }

    private static func configuration(redisPort: UInt16?, client: String) -> String {
        let open = #""allow_subscribe_for_client": true, "allow_subscribe_for_anonymous": true"#
        let history = #""allow_history_for_subscriber": true, "allow_history_for_anonymous": true"#
        let kept = #""history_size": 1000, "history_ttl": "300s", "force_recovery": true"#
        let few = #""history_size": 10, "history_ttl": "300s", "force_recovery": true"#
        let engine = redisPort.map { port in
            """
            ,
              "engine": {
                "type": "redis",
                "redis": { "address": "redis://127.0.0.1:\(port)", "connect_timeout": "300ms", "io_timeout": "300ms" }
              }
            """
        }
        return """
            {
              "http_server": { "address": "127.0.0.1", "port": "PORT" },
              "http_api": { "key": "api-key-for-tests" },
              "client": {
                "token": { "hmac_secret_key": "token-secret-for-tests" },
                "expired_close_delay": "1s", "expired_sub_close_delay": "1s",
                "allow_anonymous_connect_without_token": true,
                "presence_update_interval": "200ms", \(client)
              },
              "channel": { "namespaces": [
                { "name": "order", \(kept), \(open), \(history) },
                { "name": "nohistory", \(kept), \(open) },
                { "name": "few", \(few), \(open), \(history) },
                { "name": "fewnohistory", \(few), \(open) },
                { "name": "short", "history_size": 100, "history_ttl": "1s", "force_recovery": true, \(open), \(history) },
                { "name": "deep", "history_size": 100000, "history_ttl": "300s", "force_recovery": true, \(open), \(history) },
                { "name": "position", "history_size": 10, "history_ttl": "300s", "force_positioning": true, \(open) },
                { "name": "live", \(open) },
                { "name": "closed", \(kept) },
                { "name": "cache", \(kept), "force_recovery_mode": "cache", \(open) },
                { "name": "autocache", \(kept), "force_recovery_mode": "cache", "auto_cache_recover": true, \(open) }
              ] }\(engine ?? "")
            }
            """
    }
}

/// One server of each kind that all tests of a suite share, each in a room of its own.
struct SharedServers: SuiteTrait, TestScoping {
    @TaskLocal static var current: [Engine: RealServer] = [:]

    func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        var servers: [Engine: RealServer] = [:]
        for engine in Engine.allCases { servers[engine] = try await RealServer.started(engine) }
        try await Self.$current.withValue(servers, operation: function)
    }
}

package import HubCore
internal import RoomsRuntime
internal import RoomsWire

/// A realtime server with the rooms of these tests: the hub in this process, or a real Centrifugo, which cannot be told apart.
///
/// | room | keeps | and |
/// |---|---|---|
/// | `order:…` | 200 | anybody may join |
/// | `few:…` | 3 | anybody may join |
/// | `chat:…` | 200 | anybody may join and publish, and knows who is in |
/// | `hall:…` | nothing | anybody may join and publish, and knows who is in |
/// | `live:…` | nothing | anybody may join |
/// | `closed:…` | 10 | anybody may join, nobody may read what it keeps |
/// | `own:…` | 20 | joined with a token |
/// | `talk:…:…` | 20 | joined with a token, knows who is in |
/// | `shop` | 20 | joined with a token, which the auth route gives to everybody |
///
/// The auth route knows `alice` and `bob`, who may join all but the talks of others.
package final class RoomServer: Sendable {
    package enum Kind: String, CaseIterable, Sendable, CustomStringConvertible {
        case hub
        case centrifugo

        package var description: String { rawValue }
    }

    package let kind: Kind
    /// Of a real server it is the auth route alone.
    private let hub: TestHub
    private let real: CentrifugoServer?

    /// Nil when the program is not installed and nobody insists on it.
    ///
    /// `tokenLife` is that of the auth route's tokens; `redis` the address of what a real server keeps its streams in.
    package init?(
        _ kind: Kind,
        tokenLife: Duration = .seconds(3_600),
        redis: String? = nil,
        _ change: (inout HubConfiguration) -> Void = { _ in }
    ) async throws {
        self.kind = kind
        switch kind {
        case .hub: real = nil
        case .centrifugo:
            guard let server = try CentrifugoServer(configuration: Self.real(redis), key: "roomhub-api-key") else {
                return nil
            }
            real = server
        }
        hub = try TestHub { configuration in
            configuration.rooms = .configured(Self.rules)
            configuration.session.expiryGrace = .seconds(1)
            configuration.auth = DemoAuthSettings(users: ["alice", "bob"].map(Self.user))
            configuration.auth?.tokenLife = tokenLife
            change(&configuration)
        }
        try await real?.start()
    }

    package var port: UInt16 { real?.port ?? hub.port }
    package var url: String { "ws://127.0.0.1:\(port)/connection/websocket" }
    package var authURL: String { "http://127.0.0.1:\(hub.port)/auth" }
    /// Where the hub listens; of a real server its one port.
    package var ports: [UInt16] { real.map { [$0.port] } ?? hub.ports }

    // MARK: what its owner does

    package var api: ServerAPI { real?.api ?? hub.api }

    /// `data` is a JSON text.
    package func publish(_ room: String, _ data: String) async throws {
        try await api.call("publish", #"{"channel":"\#(room)","data":\#(data)}"#)
    }

    /// Ends the user's connections with that code.
    package func disconnect(_ user: String, code: Int = 3_001) async throws {
        try await api.call("disconnect", #"{"user":"\#(user)","disconnect":{"code":\#(code),"reason":"test"}}"#)
    }

    /// Takes the user out of the room.
    package func unsubscribe(_ user: String, _ room: String) async throws {
        try await api.call("unsubscribe", #"{"user":"\#(user)","channel":"\#(room)"}"#)
    }

    package func stop() async throws {
        if let real { try await real.stop() } else { hub.stop() }
    }

    /// Killed, and started again; without Redis all streams are new afterwards.
    package func restart() async throws {
        guard let real else { return try hub.restart() }
        try await real.kill()
        try await real.start()
    }

    // MARK: tokens

    /// A token for the user's connection, or for a `room`, that ends `life` seconds from now.
    package static func token(_ user: String, room: String? = nil, life: Int64 = 3_600) -> String {
        let (end, overflow) = (SystemClock.wallMilliseconds / 1_000).addingReportingOverflow(life)
        let token = TokenKey(HubConfiguration.usualTokenSecret).sign { writer in
            writer.key(literal: "sub")
            writer.string(user)
            writer.key(literal: "exp")
            writer.integer(overflow ? .max : end)
            guard let room else { return }
            writer.key(literal: "channel")
            writer.string(room)
        }
        return String(decoding: token.bytes, as: UTF8.self)
    }

    private static func user(_ name: String) -> DemoAuthSettings.User {
        let talks = ["talk:\(name):{x}", "talk:{x}:\(name)"].map { RoomPattern(stringLiteral: $0) }
        return DemoAuthSettings.User(name: ByteString(name), rooms: ["own:{id}"] + talks)
    }

    // MARK: configurations

    private static let rules = [
        RoomRule(pattern: "order:{id*}", history: 200, isPublic: true),
        RoomRule(pattern: "few:{id*}", history: 3, isPublic: true),
        RoomRule(
            pattern: "chat:{id*}",
            history: 200,
            isPublic: true,
            presence: true,
            membersMay: [.history, .presence, .publish]
        ),
        RoomRule(pattern: "hall:{id*}", isPublic: true, presence: true, membersMay: [.presence, .publish]),
        RoomRule(pattern: "live:{id*}", isPublic: true),
        RoomRule(pattern: "closed:{id*}", history: 10, isPublic: true, membersMay: []),
        RoomRule(pattern: "own:{id*}", history: 20),
        RoomRule(pattern: "talk:{a}:{b}", history: 20, presence: true),
        RoomRule(pattern: "shop", history: 20, isPublic: true),
    ]

    private static func real(_ redis: String?) -> String {
        func kept(_ count: Int) -> String {
            #""history_size": \#(count), "history_ttl": "300s", "force_recovery": true"#
        }
        let open = #""allow_subscribe_for_client": true, "allow_subscribe_for_anonymous": true"#
        let history = #""allow_history_for_subscriber": true, "allow_history_for_anonymous": true"#
        let members = """
            "presence": true, "join_leave": true, "force_push_join_leave": true,
            "allow_presence_for_subscriber": true, "allow_presence_for_anonymous": true
            """
        let publishing = #""allow_publish_for_subscriber": true, "allow_publish_for_anonymous": true"#
        let engine = redis.map { #""engine": { "type": "redis", "redis": { "address": "\#($0)" } },"# } ?? ""
        return """
            {
              "http_server": { "address": "127.0.0.1", "port": "PORT" },
              "http_api": { "key": "roomhub-api-key" },
              "shutdown": { "timeout": "2s" }, \(engine)
              "client": {
                "token": { "hmac_secret_key": "roomhub-token-secret" },
                "expired_close_delay": "1s", "expired_sub_close_delay": "1s",
                "allow_anonymous_connect_without_token": true,
                "presence_update_interval": "1s", "channel_position_check_delay": "1s"
              },
              "channel": {
                "without_namespace": { \(kept(20)), \(history) },
                "namespaces": [
                  { "name": "order", \(kept(200)), \(open), \(history) },
                  { "name": "few", \(kept(3)), \(open), \(history) },
                  { "name": "chat", \(kept(200)), \(open), \(history), \(members), \(publishing) },
                  { "name": "hall", \(open), \(members), \(publishing) },
                  { "name": "live", \(open) },
                  { "name": "closed", \(kept(10)), \(open) },
                  { "name": "own", \(kept(20)), \(history) },
                  { "name": "talk", \(kept(20)), \(history), \(members) }
                ]
              }
            }
            """
    }
}

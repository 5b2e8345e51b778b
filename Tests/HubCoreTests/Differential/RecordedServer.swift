import RoomsRuntime

@testable import HubCore

/// The configurations that the recordings were made with, for the real server and for the hub.
///
/// But for one thing: who publishes must have joined, which is all that a rule of the hub can say.
enum RecordedServer {
    static func configuration(_ setup: Scenario.Setup, port: UInt16) -> String {
        """
        {
          "http_server": { "address": "127.0.0.1", "port": "\(port)" },
          "http_api": { "key": "api-key-for-tests" },
          "client": {
            "token": { "hmac_secret_key": "token-secret-for-tests" },
            "allow_anonymous_connect_without_token": true,
            "allowed_origins": ["http://allowed.example"]\(setup == .fast ? fast : "")
          },
          "channel": {
            "without_namespace": { \(open) },
            "namespaces": [
              { "name": "order", \(kept(1_000)), \(open), \(crowd), \(history),
                "join_leave": true, "force_push_join_leave": true, "force_recovery": true,
                "allow_publish_for_subscriber": true, "allow_publish_for_anonymous": true },
              { "name": "small", \(kept(10)), \(open), \(history), "force_recovery": true },
              { "name": "nohistory", \(kept(10)), \(open), "force_recovery": true },
              { "name": "position", \(kept(10)), \(open), "force_positioning": true },
              { "name": "ask", \(kept(10)), \(open), \(crowd), "join_leave": true,
                "allow_recovery": true, "allow_positioning": true },
              { "name": "live", \(open) },
              { "name": "cache", \(kept(10)), \(open), "force_recovery": true, "force_recovery_mode": "cache" },
              { "name": "short", \(kept(100, "2s")), \(open), \(history), "force_recovery": true },
              { "name": "closed" },
              { "name": "limited", "allow_user_limited_channels": true }
            ]
          }
        }
        """
    }

    private static let open = #""allow_subscribe_for_client": true, "allow_subscribe_for_anonymous": true"#
    private static let history = #""allow_history_for_subscriber": true, "allow_history_for_anonymous": true"#
    private static let crowd =
        #""presence": true, "allow_presence_for_subscriber": true, "allow_presence_for_anonymous": true"#

    private static func kept(_ count: Int, _ time: String = "300s") -> String {
        #""history_size": \#(count), "history_ttl": "\#(time)""#
    }

    private static let fast = """
        ,
            "ping_interval": "2s", "pong_timeout": "1s", "stale_close_delay": "2s",
            "expired_close_delay": "1s", "expired_sub_close_delay": "1s",
            "presence_update_interval": "1s", "channel_position_check_delay": "1s",
            "connect_include_server_time": true, "channel_limit": 5, "queue_max_size": 262144, "user_connection_limit": 2
        """

    /// The rules that stand for the namespaces above; a `$` before the namespace's name changes nothing in it.
    static var rooms: [RoomRule] {
        func rule(_ pattern: RoomPattern, _ history: Int = 0, _ change: (inout RoomRule) -> Void = { _ in }) -> RoomRule
        {
            var rule = RoomRule(
                pattern: pattern,
                history: history,
                keep: .seconds(300),
                isPublic: true,
                recovery: .never,
                position: .never,
                membersMay: []
            )
            change(&rule)
            return rule
        }
        return [
            rule("order:{x*}", 1_000, order), rule("$order:{x*}", 1_000, order),
            rule("small:{x*}", 10) { ($0.recovery, $0.position, $0.membersMay) = (.always, .always, .history) },
            rule("nohistory:{x*}", 10) { ($0.recovery, $0.position) = (.always, .always) },
            rule("position:{x*}", 10) { $0.position = .always },
            rule("ask:{x*}", 10) {
                ($0.recovery, $0.position, $0.joinLeave) = (.ask, .ask, .ask)
                ($0.presence, $0.membersMay) = (true, .presence)
            },
            rule("live:{x*}"), rule("$live:{x*}"),
            rule("cache:{x*}", 10) { ($0.recovery, $0.position) = (.always, .always) },
            rule("short:{x*}", 100) {
                ($0.recovery, $0.position, $0.membersMay) = (.always, .always, .history)
                $0.keep = .seconds(2)
            },
            rule("closed:{x*}") { $0.isPublic = false }, rule("{x}"),
        ]
    }

    private static func order(_ rule: inout RoomRule) {
        (rule.recovery, rule.position, rule.joinLeave) = (.always, .always, .always)
        (rule.presence, rule.membersMay) = (true, [.history, .publish, .presence])
    }

    static func configure(_ configuration: inout HubConfiguration, _ setup: Scenario.Setup) {
        configuration.origins = ["http://allowed.example"]
        guard setup == .fast else { return }
        configuration.session.pingInterval = .seconds(2)
        configuration.session.pongTimeout = .seconds(1)
        configuration.session.staleDelay = .seconds(2)
        configuration.session.expiryGrace = .seconds(1)
        configuration.session.roomLimit = 5
        configuration.session.queueLimit = 262_144
        configuration.session.userConnectionLimit = 2
        configuration.session.tellsTime = true
    }
}

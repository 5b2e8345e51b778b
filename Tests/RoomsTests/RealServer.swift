import BridgeTestSupport
import Foundation
import RoomsRuntime

@testable import Rooms

/// A real Centrifugo with the namespaces that the recordings were made with, its streams in memory.
final class RealServer {
    private let program: String
    private let held: HeldPort
    private let folder: TemporaryDirectory
    private var child: ChildProcess?

    /// Nil when the program is not installed and nobody insists on it.
    init?() throws {
        guard let program = try RequiredProgram.centrifugo.find() else { return nil }
        self.program = program
        held = try HeldPort()
        folder = try TemporaryDirectory()
        try folder.write(configuration, to: "centrifugo.json")
    }

    var port: UInt16 { held.number }
    var api: ServerAPI { ServerAPI(port: port, key: "api-key-for-tests") }

    func start() async throws {
        child = try ChildProcess(program, ["-c", folder.file("centrifugo.json")], output: folder.file("log"))
        try await eventually("an answer of the server") {
            do {
                try await api.call("info", "{}")
                return true
            } catch {
                return false
            }
        }
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

    func kill() async throws { try await child?.kill() }

    private var configuration: String {
        let open = #""allow_subscribe_for_client": true, "allow_subscribe_for_anonymous": true"#
        let history = #""allow_history_for_subscriber": true, "allow_history_for_anonymous": true"#
        let kept = #""history_size": 1000, "history_ttl": "300s", "force_recovery": true"#
        return """
            {
              "http_server": { "address": "127.0.0.1", "port": "\(port)" },
              "http_api": { "key": "api-key-for-tests" },
              "client": {
                "token": { "hmac_secret_key": "token-secret-for-tests" },
                "expired_close_delay": "1s", "expired_sub_close_delay": "1s",
                "allow_anonymous_connect_without_token": true,
                "presence_update_interval": "1s", "channel_position_check_delay": "1s"
              },
              "channel": { "namespaces": [
                { "name": "order", \(kept), \(open), \(history) },
                { "name": "nohistory", \(kept), \(open) },
                { "name": "position", "history_size": 10, "history_ttl": "300s", "force_positioning": true, \(open) },
                { "name": "live", \(open) },
                { "name": "closed", \(kept) },
                { "name": "cache", \(kept), "force_recovery_mode": "cache", \(open) }
              ] }
            }
            """
    }
}

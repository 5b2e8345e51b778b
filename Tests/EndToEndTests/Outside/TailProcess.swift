internal import BridgeTestSupport
internal import Foundation
internal import RoomsRuntime
internal import RoomsWire

/// The program `roomtail` in a process of its own.
final class TailProcess {
    let child: ChildProcess

    init(_ arguments: [String], environment: [String: String] = [:], output: String? = nil) throws {
        child = try ChildProcess(
            Programs.tail,
            arguments,
            environment: Programs.quiet.merging(environment) { $1 },
            output: output
        )
    }

    /// One line of its output, where that is JSON.
    struct Line: CustomStringConvertible {
        let description: String

        private func text(_ key: String) -> String? { JSONSlice(description)[key]?.string?.string }

        var room: String { text("room") ?? "" }
        var event: String? { text("event") }
        /// The name of an event of the room itself.
        var own: String? { text("own") }
        var id: String { text("id") ?? "" }
        var isReplayed: Bool { JSONSlice(description)["replayed"].map { $0.raw == Array("true".utf8) } ?? false }
        var data: JSONSlice? { JSONSlice(description)["data"] }
        /// What `Publications` counts.
        var number: Int? { data?.unsigned.map { Int($0) } }
    }

    var lines: [Line] { Self.lines(child.output) }

    static func lines(_ output: String) -> [Line] {
        output.split(separator: "\n", omittingEmptySubsequences: false).dropLast().filter { $0.hasPrefix("{") }
            .map { Line(description: String($0)) }
    }

    /// The events of `room`, in the order in which they were printed.
    func events(of room: String) -> [Line] { lines.filter { $0.room == room && $0.event != nil } }

    func own(_ event: String, of room: String) -> [Line] { lines.filter { $0.room == room && $0.own == event } }

    /// Until that many lines are there that `choose` takes.
    func wait(
        for count: Int,
        _ what: String,
        isolation: isolated (any Actor)? = #isolation,
        _ choose: (TailProcess) -> [Line]
    ) async throws {
        do {
            try await eventually(within: .seconds(20), what) {
                if let exit = child.exit { throw ChildProcess.Failure("it ended with \(exit)") }
                return choose(self).count >= count
            }
        } catch {
            throw ChildProcess.Failure("\(error); roomtail said:\n\(child.output.suffix(4_000))")
        }
    }

    func joined(_ rooms: [String]) async throws {
        for room in rooms { try await wait(for: 1, "\(room) joined") { $0.own("joined", of: room) } }
    }
}

/// Rooms `order:…`, which keep 1,000 events, and `small:…`, which keep 10, on a server that soon notices who is gone.
enum TailServers: String, CaseIterable {
    case hub
    case centrifugo

    /// Nil when the server is not installed.
    ///
    /// `ping` and `pong` are in milliseconds.
    func start(ping: Int = 1_000, pong: Int = 400) async throws -> (any RealtimeServer)? {
        let server: (any RealtimeServer)?
        switch self {
        case .hub:
            server = try HubProcess(
                configuration: """
                    {
                      "listen": ["127.0.0.1:PORT"],
                      "api_key": { "env": "HUB_API_KEY" },
                      "token_secret": { "env": "HUB_TOKEN_SECRET" },
                      "ping_interval": "\(ping)ms", "pong_timeout": "\(pong)ms",
                      "rooms": [
                        { "pattern": "order:{id}", "history": 1000, "public": true },
                        { "pattern": "small:{id}", "history": 10, "public": true }
                      ]
                    }
                    """
            )
        case .centrifugo:
            let rights = """
                "history_ttl": "300s", "force_recovery": true, "allow_subscribe_for_client": true,
                "allow_history_for_subscriber": true
                """
            server = try CentrifugoProcess(
                configuration: """
                    {
                      "http_server": { "address": "127.0.0.1", "port": "PORT" },
                      "http_api": { "key": "\(RealtimeServers.apiKey)" },
                      "shutdown": { "timeout": "2s" },
                      "client": {
                        "token": { "hmac_secret_key": "\(RealtimeServers.tokenSecret)" },
                        "ping_interval": "\(ping)ms", "pong_timeout": "\(pong)ms"
                      },
                      "channel": {
                        "namespaces": [
                          { "name": "order", "history_size": 1000, \(rights) },
                          { "name": "small", "history_size": 10, \(rights) }
                        ]
                      }
                    }
                    """
            )
        }
        try await server?.start()
        return server
    }

    /// The text of a connection token.
    static func token(_ user: String, secret: String = RealtimeServers.tokenSecret) -> String {
        let token = TokenKey(Secret(secret)).sign { writer in
            writer.key(literal: "sub")
            writer.string(user)
        }
        return String(decoding: token.bytes, as: UTF8.self)
    }
}

extension RealtimeServer {
    private func api(_ method: String, _ body: String) async throws -> String {
        let key = "x-api-key: \(RealtimeServers.apiKey)"
        let answer = try await TestHTTP.post(.loopback(port: port), "/api/\(method)", body, headers: [key])
        return answer.map { String(decoding: $0.body, as: UTF8.self) } ?? "no answer"
    }

    /// Publishes each of `data`, which are JSON, in one request.
    func publish(_ data: [String], to room: String) async throws {
        let commands = data.map { #"{"publish":{"channel":"\#(room)","data":\#($0)}}"# }
        let answer = try await api("batch", #"{"commands":[\#(commands.joined(separator: ","))]}"#)
        guard answer.contains("replies"), !answer.contains("error") else {
            throw ChildProcess.Failure("publishing: \(answer.prefix(300))")
        }
    }

    func publish(_ numbers: ClosedRange<Int>, to room: String) async throws {
        try await publish(numbers.map { "\($0)" }, to: room)
    }

    /// Whether somebody is joined to a room.
    func hasSubscribers() async throws -> Bool {
        try await api("channels", "{}").contains("num_clients")
    }
}

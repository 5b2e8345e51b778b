import RoomsRuntime
import RoomsWire

/// What is done to a server, step by step; the same for every server.
///
/// Texts may hold what only a run knows: `$epoch(1)` is the first epoch that the server told, `$client(a)` the id that it
/// gave to the connection `a`, `$token(…)` and `$badtoken(…)` are `Template.token`s, `"@60"` a time 60 seconds from now.
struct Scenario: Sendable {
    /// The server's configuration, as the recordings name it.
    enum Setup: String, Sendable {
        case main
        /// Timers of one and two seconds.
        case fast
    }

    enum Step: Sendable {
        case open(Connection)
        /// Text in a text frame, a binary one if told.
        case text(on: String, String, isBinary: Bool = false)
        case commands(on: String, [Command])
        /// Commands written in JSON, one a line, sent in the format of the connection.
        case say(on: String, String)
        case bytes(on: String, [UInt8], isText: Bool = false)
        case call(Call)
        /// Publishes those numbers, one by one, to a room.
        case publish(ClosedRange<Int>, room: String)
        /// Waits for so many messages.
        case hear(on: String, Int)
        /// Waits until the connection has heard so many pushes of a kind since it was opened.
        case await(on: String, Heard.Kind, total: Int)
        /// Waits until every open connection has heard all that was on its way.
        case settle
        /// Waits for the end of the connection.
        case end(of: String)
        case close(String)
        case pause(Duration)
        /// Stops the server, or kills it.
        case stop(isKilled: Bool)
        case start
    }

    struct Connection: Sendable {
        var name: String
        var path = "/connection/websocket"
        var protocols: [String] = ["centrifuge-json"]
        var headers: [String] = []
        /// Answers pings by itself and hides them.
        var answersPings = true
    }

    struct Call: Sendable {
        var line: String
        var body: [UInt8]?
        var headers = ["X-API-Key: api-key-for-tests"]
    }

    var name: String
    var setup = Setup.main
    var steps: [Step] = []
}

extension Scenario.Step: CustomStringConvertible {
    var description: String {
        switch self {
        case .open(let connection): "open \(connection.name)"
        case .text(let name, let text, _): "\(name) sends \(text.prefix(400))"
        case .commands(let name, let commands): "\(name) sends \(commands)"
        case .say(let name, let text): "\(name) says \(text.prefix(400))"
        case .bytes(let name, let bytes, _): "\(name) sends bytes \(Hex.text(bytes.prefix(200)))"
        case .call(let call): "\(call.line) \(String(decoding: (call.body ?? []).prefix(400), as: UTF8.self))"
        case .publish(let numbers, let room): "publish \(numbers) to \(room)"
        case .hear(let name, let count): "\(name) hears \(count)"
        case .await(let name, let kind, let total): "\(name) waits for \(kind) number \(total)"
        case .settle: "settle"
        case .end(let name): "the end of \(name)"
        case .close(let name): "close \(name)"
        case .pause(let duration): "pause of \(duration)"
        case .stop(let isKilled): isKilled ? "kill the server" : "stop the server"
        case .start: "start the server"
        }
    }
}

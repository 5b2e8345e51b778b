internal import BridgeTestSupport
internal import Foundation
internal import RoomsRuntime

/// A server of deploy/examples/server, on a port of its own.
final class ExampleServer {
    /// The configuration of a hub that has no rooms until it is told of some.
    static let bareHub = """
        {
          "listen": ["127.0.0.1:PORT"],
          "api_key": { "env": "HUB_API_KEY" },
          "token_secret": { "env": "HUB_TOKEN_SECRET" },
          "rooms": []
        }
        """

    /// The configuration of a real server with the rooms of the examples, as their README shows it; with PORT where the
    /// port has to stand.
    static func readmeConfiguration() throws -> String {
        let page = try String(contentsOfFile: Programs.root + "/deploy/examples/server/README.md", encoding: .utf8)
        guard let start = page.range(of: "```json\n")?.upperBound,
            let end = page.range(of: "```", range: start..<page.endIndex)?.lowerBound
        else { throw ChildProcess.Failure("the README shows no configuration") }
        return #"{ "http_server": { "address": "127.0.0.1", "port": "PORT" },"# + page[start..<end].dropFirst()
    }

    let language: ExampleLanguage
    private let program: String
    private let folder: TemporaryDirectory
    private let file: String
    private let hubPort: UInt16
    private var child: ChildProcess?
    /// Where it listens, once it has started.
    private(set) var port: UInt16 = 0

    /// Nil when the interpreter is not installed and nobody insists on it.
    ///
    /// `more`: lines that a copy of it has behind its first rooms.
    init?(_ language: ExampleLanguage, hub port: UInt16, more: String = "") throws {
        guard let program = try language.find() else { return nil }
        self.language = language
        self.program = program
        hubPort = port
        folder = try TemporaryDirectory()
        let original = language.path(of: "server")
        guard !more.isEmpty else {
            file = original
            return
        }
        let marker = (language == .python ? "#" : "//") + " EXAMPLE: the app's rooms.\n"
        let text = try String(contentsOfFile: original, encoding: .utf8).replacing(marker, with: marker + more + "\n")
        file = try folder.write(text, to: (original as NSString).lastPathComponent)
    }

    var output: String { child?.output ?? "" }

    func start(secret: String = RealtimeServers.tokenSecret, apiKey: String = RealtimeServers.apiKey) async throws {
        let child = try launch(secret: secret, apiKey: apiKey)
        let line = try await child.line(containing: language.listening)
        port = language.port(in: line) ?? 0
    }

    @discardableResult
    func launch(
        secret: String = RealtimeServers.tokenSecret,
        apiKey: String = RealtimeServers.apiKey,
        arguments: [String]? = nil
    ) throws -> ChildProcess {
        let child = try ChildProcess(
            program,
            arguments ?? language.arguments(for: file, port: 0),
            environment: [
                "PORT": "0", "HUB_URL": "http://127.0.0.1:\(hubPort)", "HUB_API_KEY": apiKey,
                "HUB_TOKEN_SECRET": secret, "TMPDIR": folder.path,
            ]
        )
        self.child = child
        return child
    }

    /// What PHP runs from a deployment: nothing but the declaration.
    func declareByHand() async throws -> String {
        let child = try launch(arguments: [file])
        _ = try await child.wait()
        return child.output
    }

    func line(containing text: String) async throws -> String {
        guard let child else { return "" }
        return try await child.line(containing: text)
    }

    func stop() async throws { try await child?.stop() }

    // MARK: requests

    /// Asks the auth route; the body of the answer.
    func ask(_ rooms: [String], as user: String?, connection: Bool = false) async throws -> JSONSlice {
        let names = rooms.map { "\"\($0)\"" }.joined(separator: ",")
        let body = #"{"rooms":[\#(names)]\#(connection ? #","connection":true"# : "")}"#
        let answer = try await request("POST", "/realtime/auth", body, as: user)
        guard answer.status == 200 else {
            throw ChildProcess.Failure(
                "\(answer.startLine): \(String(decoding: answer.body, as: UTF8.self))\n\(output)"
            )
        }
        return JSONSlice(answer.body)
    }

    func config(as user: String?) async throws -> JSONSlice {
        JSONSlice(try await request("GET", "/realtime/config", as: user).body)
    }

    func request(
        _ method: String,
        _ path: String,
        _ body: String = "",
        as user: String? = nil,
        authorization: String? = nil,
        announced length: Int? = nil
    ) async throws -> HTTPMessage {
        var lines = ["\(method) \(path) HTTP/1.1", "host: localhost", "connection: close"]
        let length = length ?? body.utf8.count
        if length > 0 { lines += ["content-type: application/json", "content-length: \(length)"] }
        if let value = authorization ?? user.map({ "Bearer \($0)" }) { lines.append("authorization: \(value)") }
        let request = Array((lines.joined(separator: "\r\n") + "\r\n\r\n" + body).utf8)
        let answer = try await TestHTTP.exchange(.loopback(port: port), request) { HTTPMessage.read($0)?.1 }
        guard let message = answer.flatMap({ HTTPMessage.read($0)?.0 }) else {
            throw ChildProcess.Failure("no answer from the \(language) server:\n\(output)")
        }
        return message
    }
}

extension JSONSlice {
    /// What the auth route says of a room: `token`, or the error.
    func verdict(_ room: String) -> String? {
        // Some write what is not ASCII as it is, some escape it.
        guard let answer = self["rooms"]?[room] ?? self["rooms"]?[room.replacing("é", with: "\\u00e9")] else {
            return nil
        }
        return answer["token"] != nil ? "token" : answer["error"]?.string?.string
    }

    func token(_ room: String) -> String { self["rooms"]?[room]?["token"]?.string?.string ?? "" }
}

/// One conversation with a realtime server over WebSocket, in JSON, written apart from the product's client.
enum WebSocketConversation {
    /// Connects, subscribes, and gives the replies in the order of the commands; a close comes as `{"close":CODE}`.
    ///
    /// An empty token is none.
    static func join(
        port: UInt16,
        connection token: String,
        _ rooms: [(name: String, token: String)]
    ) async throws -> [JSONSlice] {
        func member(_ token: String) -> String { token.isEmpty ? "" : #""token":"\#(token)""# }
        var commands = [#"{"id":1,"connect":{\#(member(token))}}"#]
        for (index, room) in rooms.enumerated() {
            let rest = room.token.isEmpty ? "" : "," + member(room.token)
            commands.append(#"{"id":\#(index + 2),"subscribe":{"channel":"\#(room.name)"\#(rest)}}"#)
        }
        let head = """
            GET /connection/websocket HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nUpgrade: websocket\r\nConnection: Upgrade\r
            Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n
            """
        let count = commands.count
        let answer = try await TestHTTP.exchange(
            .loopback(port: port),
            Array(head.utf8),
            afterHead: frame(commands.joined(separator: "\n"))
        ) { bytes in
            let replies = replies(in: bytes)
            return replies.count >= count || replies.contains { $0["close"] != nil } ? bytes.count : nil
        }
        guard let answer else { throw ChildProcess.Failure("the server hung up") }
        return replies(in: answer)
    }

    /// A text frame, masked with zeros.
    private static func frame(_ text: String) -> [UInt8] {
        let bytes = Array(text.utf8)
        let (high, low) = (UInt8(bytes.count >> 8), UInt8(bytes.count & 0xff))
        return [0x81] + (bytes.count < 126 ? [0x80 | low] : [0x80 | 126, high, low]) + [0, 0, 0, 0] + bytes
    }

    /// What came so far: the replies to commands, by their ids, and a close at the end.
    private static func replies(in bytes: [UInt8]) -> [JSONSlice] {
        guard let head = bytes.firstRange(of: Array("\r\n\r\n".utf8)) else { return [] }
        var rest = bytes[head.upperBound...]
        var lines: [JSONSlice] = []
        while rest.count >= 2 {
            let start = rest.startIndex
            var length = Int(rest[start + 1])
            var body = start + 2
            if length == 126 {
                guard rest.count >= 4 else { break }
                length = Int(rest[start + 2]) << 8 | Int(rest[start + 3])
                body = start + 4
            }
            guard rest.count >= body - start + length else { break }
            let payload = rest[body..<(body + length)]
            if rest[start] & 0xf == 8 {
                let code = payload.prefix(2).reduce(0) { $0 << 8 | Int($1) }
                lines.append(JSONSlice(#"{"close":\#(code)}"#))
            } else {
                lines += payload.split(separator: UInt8(ascii: "\n")).map { JSONSlice(Array($0)) }
            }
            rest = rest[(body + length)...]
        }
        return lines.filter { $0["id"] != nil || $0["close"] != nil }
    }
}

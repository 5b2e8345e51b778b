import BridgeTestSupport
import Foundation
import RoomsRuntime
import RoomsTransport
import Testing

@testable import Rooms

/// Answers to the upgrade that no server may give.
@Suite(.timeLimit(.minutes(2))) struct HostileHandshakeTests {
    struct Answer: Sendable, CustomTestStringConvertible {
        var testDescription: String
        /// Fields behind those of a good answer; KEY is the accept value.
        var fields: [String]
        var replaces: String?
        var rest = ""

        init(_ name: String, _ fields: String..., instead replaced: String? = nil, rest: String = "") {
            testDescription = name
            self.fields = fields
            replaces = replaced
            self.rest = rest
        }

        func text(_ accept: String) -> String {
            let good = Attacker.good(accept) + "Sec-WebSocket-Protocol: centrifuge-protobuf\r\n"
            let kept = good.components(separatedBy: "\r\n").filter { line in
                !line.isEmpty && replaces.map { !line.hasPrefix($0) } ?? true
            }
            let lines = kept + fields.map { $0.replacingOccurrences(of: "KEY", with: accept) }
            return lines.map { $0 + "\r\n" }.joined() + "\r\n" + rest
        }
    }

    static let answers = [
        Answer(
            "a wrong accept key",
            "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=",
            instead: "Sec-WebSocket-Accept"
        ),
        Answer("no accept key", instead: "Sec-WebSocket-Accept"),
        Answer("a second, wrong accept key", "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo="),
        Answer("a body", "Content-Length: 5", rest: "hello"),
        Answer("a body in chunks", "Transfer-Encoding: chunked", rest: "5\r\nhello\r\n0\r\n\r\n"),
        Answer("a body that looks like a frame", "Content-Length: 3", rest: "\u{2}\u{1}\u{0}"),
        Answer("no upgrade", instead: "Upgrade"),
        Answer("another upgrade", "Upgrade: h2c", instead: "Upgrade"),
        Answer("no connection", instead: "Connection"),
        Answer("compression", "Sec-WebSocket-Extensions: permessage-deflate"),
        Answer("an extension", "Sec-WebSocket-Extensions: x-secret"),
        Answer(
            "another subprotocol",
            "Sec-WebSocket-Protocol: centrifuge-json",
            instead: "Sec-WebSocket-Protocol"
        ),
        Answer("no subprotocol", instead: "Sec-WebSocket-Protocol"),
        Answer("a second subprotocol", "Sec-WebSocket-Protocol: centrifuge-json"),
        Answer("65 fields", fields: (0..<61).map { "X-\($0): 1" }),
        Answer("more than 16 KiB", "X: \(String(repeating: "x", count: 16 << 10))"),
        Answer("a NUL", "X: \u{0}"),
    ]

    @Test("An answer that does not fit fails closed, and the server is left alone for long", arguments: answers)
    func badAnswer(_ answer: Answer) async throws {
        let said = Lock(false)
        let server = try Attacker.server(answer: answer.text) { attacker in
            let isSaid = attacker.command() != nil
            said.withLock { $0 = $0 || isSaid }
        }
        let client = try WatchedConnection(port: server.port)
        #expect(try await client.end() == "terminal 0")
        #expect(server.connections == 1)
        #expect(!said.withLock { $0 })
    }

    @Test("The good answer that those were made of is taken")
    func goodAnswer() async throws {
        let server = try Attacker.server(answer: Answer("good", "Content-Length: 0").text) { attacker in
            attacker.welcome()
            attacker.listen()
        }
        let client = try WatchedConnection(port: server.port)
        try await eventually("the join") { client.seen.joins == 1 }
    }

    @Test(
        "An answer that drips, never begins or never ends runs into one limit for all of the opening",
        arguments: ["nothing", "head", "fields", "interim"]
    )
    func slow(_ kind: String) async throws {
        let server = try RawServer { connection in
            _ = connection.readHead()
            let text =
                switch kind {
                case "nothing": ""
                case "head": "HTTP/1.1 101 Switching Protocols"
                case "fields": "HTTP/1.1 101 X\r\n" + String(repeating: "a: b\r\n", count: 50)
                default: "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n"
                }
            for byte in Array(text.utf8) where connection.write([byte]) { poll(nil, 0, 10) }
            while !connection.read().isEmpty {}
        }
        let client = try WatchedConnection(port: server.port) { $0.webSocket.openTimeout = .milliseconds(150) }
        let start = SystemClock.now
        #expect(try await client.end() == "waiting 0")
        #expect(SystemClock.now - start < .seconds(5))
        try await eventually("attempts") { server.connections > 2 }
        #expect(WebSocketOptions().openTimeout == .seconds(10))
    }

    @Test("A redirect is never followed, wherever it leads", arguments: [301, 302, 303, 307, 308])
    func redirect(status: Int) async throws {
        let other = try Attacker.server { $0.welcome() }
        let server = try RawServer { connection in
            _ = connection.readHead()
            let place = "ws://127.0.0.1:\(other.port)/"
            connection.write("HTTP/1.1 \(status) X\r\nLocation: \(place)\r\nContent-Length: 0\r\n\r\n")
        }
        let client = try WatchedConnection(port: server.port)
        #expect(try await client.end() == "waiting \(status)")
        try await eventually("attempts") { server.connections > 3 }
        #expect(other.connections == 0)
    }

    @Test("A body without end in place of the upgrade is not read")
    func endlessRefusal() async throws {
        let server = try RawServer { connection in
            _ = connection.readHead()
            connection.write("HTTP/1.1 403 No\r\nContent-Length: 999999999999\r\n\r\n")
            let chunk = [UInt8](repeating: 0x78, count: 1 << 16)
            while connection.write(chunk) {}
        }
        let memory = MemoryWatch()
        let client = try WatchedConnection(port: server.port)
        try await eventually("attempts") { server.connections > 20 }
        #expect(client.seen.statuses.contains("waiting 403"))
        #expect(memory.growth < 32, "\(memory.growth) MiB")
    }
}

extension HostileHandshakeTests.Answer {
    fileprivate init(_ name: String, fields: [String]) {
        self.init(name)
        self.fields = fields
    }
}

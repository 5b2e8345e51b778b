import BridgeTestSupport
import Foundation
import RoomsRuntime
import RoomsWire
import Testing

@testable import Rooms

/// Auth routes that answer what no route may, asked by an app's client.
@Suite(.timeLimit(.minutes(2))) struct HostileRouteTests {
    /// Keeps the tokens of the subscribes it gets.
    private final class TokenServer: Sendable {
        let server: RawServer
        private let heard: Lock<[ByteString]>

        init() throws {
            let heard = Lock<[ByteString]>([])
            self.heard = heard
            server = try Attacker.server { attacker in
                attacker.serve { request in
                    if case .subscribe(let request) = request { heard.withLock { $0.append(request.token) } }
                    return Attacker.honest(request)
                }
            }
        }

        var tokens: [ByteString] { heard.withLock { $0 } }
    }

    private let realtime: TokenServer

    init() throws {
        realtime = try TokenServer()
    }

    private func client(_ port: UInt16) throws -> Realtime {
        var options = RealtimeOptions()
        options.auth = "http://127.0.0.1:\(port)/auth"
        return try Realtime(url: "ws://127.0.0.1:\(realtime.server.port)/", options: options)
    }

    static let key = String(repeating: "A", count: 43)

    @Test(
        "What is no good answer is the room's error; the room waits, and nothing is joined with it",
        arguments: [
            "", "null", "[]", "{", #"{"rooms":[]}"#, #"{"rooms":{"r":"t"}}"#, #"{"rooms":{"r":{"token":{}}}}"#,
            #"{"rooms":{"r":{"token":1e999}}}"#, #"{"rooms":{"r":{}}}"#, #"{"rooms":{"R":{"token":"t"}}}"#,
            #"{"rooms":{"r":{"token":"t"}}} "# + String(repeating: " ", count: 5 << 20),
            #"{"rooms":{"r":{"token":"\#(String(repeating: "t", count: 17 << 10))"}}}"#,
            #"{"rooms":{"r":{"token":"t","keys":{"k":"\#(key)A"}}}}"#,
            #"{"rooms":{"r":{"token":"t","keys":{"k":""}}}}"#,
            #"{"rooms":{"r":{"token":"t","keys":"k"}}}"#,
            #"{"rooms":{"r":{"token":"\ud800"}},"x":"# + String(repeating: "[", count: 2_000_000),
            String(repeating: #"{"rooms":"#, count: 100_000), #"{"rooms":{"r":{"token":"t",}}}"#,
            #"{"rooms":{"r":{"error":"\#(String(repeating: "e", count: 65))"}}}"#,
        ]
    )
    func badAnswer(_ body: String) async throws {
        let route = try ScriptedRoute { connection, _ in connection.answer(body) }
        let rt = try client(route.port)
        let room = rt.join("r")
        let heard = Lock<[String]>([])
        room.on("error") { error, _ in
            heard.withLock { $0.append("\(error["code"]?.string ?? "") \(error["message"]?.string ?? "")") }
        }
        try await eventually("the error") { heard.withLock { !$0.isEmpty } }
        #expect(heard.withLock { $0.allSatisfy { $0.hasPrefix("unavailable ") && $0.utf8.count <= 300 } })
        #expect(room.state == .joining && realtime.tokens.isEmpty)
        // Behind a failure there is a pause.
        #expect(route.requests.count <= 2)
        await rt.close()
    }

    @Test(
        "Heads without end, bodies without end and drips are given up; nothing of them is kept",
        arguments: ["fields", "one field", "body", "chunks", "interim", "length"]
    )
    func endless(_ kind: String) async throws {
        let route = try ScriptedRoute { connection, _ in
            let chunk = String(repeating: "x", count: 60_000)
            switch kind {
            case "fields":
                connection.write("HTTP/1.1 200 OK\r\n")
                while connection.write("a: \(chunk)\r\n") {}
            case "one field":
                connection.write("HTTP/1.1 200 OK\r\na: ")
                while connection.write(chunk) {}
            case "body":
                connection.write("HTTP/1.1 200 OK\r\n\r\n")
                while connection.write(chunk) {}
            case "chunks":
                connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                while connection.write("ea60\r\n\(chunk)\r\n") {}
            case "interim":
                while connection.write("HTTP/1.1 100 Continue\r\na: \(chunk)\r\n\r\n") {}
            default:
                connection.write("HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775807\r\n\r\n{")
                while connection.write(chunk) {}
            }
        }
        let memory = MemoryWatch()
        let live = try LiveRoute(port: route.port)
        for _ in 0..<5 { #expect(try await live.ask(["r"]).rooms["r"]?.code == .unavailable) }
        #expect(memory.growth < 48, "\(memory.growth) MiB")
    }

    @Test("An answer that drips runs into the time for all of it", arguments: ["head", "body"])
    func drip(_ kind: String) async throws {
        let route = try ScriptedRoute { connection, _ in
            connection.write("HTTP/1.1 200 OK\r\n" + (kind == "body" ? "\r\n" : ""))
            while connection.write(kind == "body" ? " " : "a: b\r\n") { poll(nil, 0, 5) }
        }
        let live = try LiveRoute(port: route.port) { $0.policy.timeout = .milliseconds(200) }
        let start = SystemClock.now
        #expect(try await live.ask(["r"]).rooms["r"]?.code == .unavailable)
        #expect(SystemClock.now - start < .seconds(5))
        #expect(AuthPolicy().timeout == .seconds(10))
    }

    @Test("A redirect is not followed", arguments: [301, 302, 303, 307, 308])
    func redirect(status: Int) async throws {
        let other = try ScriptedRoute { connection, _ in connection.answer(#"{"rooms":{"r":{"token":"t"}}}"#) }
        let route = try ScriptedRoute { connection, _ in
            let place = "http://127.0.0.1:\(other.port)/auth"
            connection.write("HTTP/1.1 \(status) X\r\nLocation: \(place)\r\nContent-Length: 0\r\n\r\n")
        }
        let rt = try client(route.port)
        let heard = Lock("")
        rt.join("r").on("error") { error, _ in heard.withLock { $0 = error["message"]?.string ?? "" } }
        try await eventually("the error") { heard.withLock { $0.contains("\(status)") } }
        #expect(other.requests.isEmpty)
        await rt.close()
    }

    @Test("A hundred thousand rooms in the answer, and a million, give the one that was asked for, or an error")
    func manyRooms() async throws {
        let bodies = [100_000, 1_000_000].map { count -> [UInt8] in
            var body = #"{"rooms":{"r":{"token":"t"}"#
            for number in 0..<count { body += #","\#(number)":{"token":"t"}"# }
            return Array((body + "}}").utf8)
        }
        let memory = MemoryWatch()
        for (body, code) in zip(bodies, [nil, RoomError.Code.unavailable]) {
            // Not copied: the route's own memory is not to be measured.
            let route = try ScriptedRoute { connection, _ in
                connection.write("HTTP/1.1 200 X\r\nContent-Length: \(body.count)\r\n\r\n")
                connection.write(body)
            }
            let live = try LiveRoute(port: route.port)
            #expect(try await live.ask(["r"]).rooms["r"]?.code == code)
        }
        #expect(memory.growth < 64, "\(memory.growth) MiB")
    }

    @Test("A token with line feeds, NULs and quotes reaches the server as it is, and nothing else")
    func oddToken() async throws {
        let route = try ScriptedRoute { connection, _ in
            connection.answer(#"{"rooms":{"r":{"token":"a\r\nx: y\u0000\"\u202e"}},"connection":"c\n\nd"}"#)
        }
        let rt = try client(route.port)
        try await rt.join("r").ready()
        #expect(realtime.tokens == ["a\r\nx: y\0\"\u{202e}"])
        await rt.close()
    }

    @Test(
        "A pause that a route asks for is kept within bounds",
        arguments: ["99999999999999999999", "-1", "1e9", "soon"]
    )
    func retryAfter(_ text: String) async throws {
        let route = try ScriptedRoute { connection, number in
            guard number > 0 else {
                connection.write("HTTP/1.1 503 X\r\nRetry-After: \(text)\r\nContent-Length: 0\r\n\r\n")
                return
            }
            connection.answer(#"{"rooms":{"r":{"token":"t"}}}"#)
        }
        let live = try LiveRoute(port: route.port) { $0.policy.longestPause = .milliseconds(20) }
        #expect(try await live.ask(["r"]).rooms["r"]?.code == .unavailable)
        #expect(try await live.ask(["r"]).rooms["r"] == .success(Grant(token: Secret("t"))))
    }
}

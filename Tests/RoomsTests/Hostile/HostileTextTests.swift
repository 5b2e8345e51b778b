import BridgeTestSupport
import RoomsRuntime
import RoomsTransport
import RoomsWire
import Testing

@testable import Rooms

/// Texts of a server that are too long, or would forge lines: cut to 256 bytes and escaped wherever they are shown.
@Suite(.timeLimit(.minutes(2))) struct HostileTextTests {
    /// A megabyte that begins a new line, moves the cursor, and turns the direction of text.
    private static let text = ByteString("\nerror: forged\u{1b}[2J\u{202e}" + String(repeating: "ä", count: 500_000))

    enum Place: String, CaseIterable, Sendable {
        case connectError, subscribeError, unsubscribe, disconnect, version
    }

    private static func server(_ place: Place) throws -> RawServer {
        try Attacker.server { attacker in
            attacker.serve { request in
                switch (request, place) {
                case (.connect, .connectError): return .error(ErrorReply(code: 103, message: text))
                case (.connect, .version):
                    var result = ConnectResult.plain
                    result.version = text
                    return .connect(result)
                case (.subscribe, .subscribeError): return .error(ErrorReply(code: 103, message: text))
                case (.subscribe, .unsubscribe):
                    attacker.say(Reply(id: 2, .subscribe(.empty(at: 0))))
                    attacker.say(Reply(id: 0, .push(Push(channel: "r", .unsubscribe(code: 2000, reason: text)))))
                    return nil
                case (.subscribe, .disconnect):
                    let push = PushBody.disconnect(code: 3503, reason: text, reconnect: false)
                    attacker.say(Reply(id: 0, .push(Push(channel: "", push))))
                    return nil
                default: return Attacker.honest(request)
                }
            }
        }
    }

    private func check(_ text: String, _ place: Place) {
        #expect(text.utf8.count <= 300, "\(place): \(text.utf8.count) bytes")
        #expect(text.contains("\\nerror: forged\\x1b[2J\\u{202e}ä"), "\(place): \(text.prefix(80))")
        #expect(!text.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x202e || $0.value == 0xfffd })
    }

    @Test("A log field of foreign text is short and stays on its line", arguments: Place.allCases)
    func log(_ place: Place) async throws {
        let server = try Self.server(place)
        let client = try WatchedConnection(port: server.port)
        let key = place == .version ? LogKey.version : .reason
        let value = try await eventually("the line") { client.log.values(key).first { $0.contains("forged") } }
        check(value, place)
        for line in client.log.lines {
            #expect(line.fields.allSatisfy { $0.value.utf8.count <= 300 })
        }
        // What is handed on is as short.
        #expect(client.seen.failures.allSatisfy { $0.reason.count <= 256 })
        #expect(client.seen.reasons.allSatisfy { $0.count <= 256 })
    }

    @Test(
        "So is the message of a room's error",
        arguments: [Place.connectError, .subscribeError, .unsubscribe, .disconnect]
    )
    func error(_ place: Place) async throws {
        let server = try Self.server(place)
        let rt = try Realtime(url: "ws://127.0.0.1:\(server.port)/")
        let room = rt.join("r")
        let heard = Lock("")
        for name in ["error", "kicked"] {
            room.on(name) { data, _ in heard.withLock { $0 = data["message"]?.string ?? "" } }
        }
        let error = try await eventually("the error") {
            room.state == .failed ? room.inbox.status.withLock { $0.error } : nil
        }
        check(error.message, place)
        try await eventually("the event") { heard.withLock { !$0.isEmpty } }
        #expect(heard.withLock { $0 } == error.message)
        await rt.close()
    }

    @Test("So is what a status, a content type or the name of a key adds to an error")
    func otherErrors() async throws {
        let long = String(repeating: "k", count: 3_000)
        let sealed = Base64.encodeURL(Array(#"{"alg":"dir","enc":"A256GCM","kid":"\#(long)"}"#.utf8))
        let parts = [
            sealed, [], Base64.encodeURL([UInt8](repeating: 0, count: 12)), [],
            Base64.encodeURL([UInt8](repeating: 0, count: 16)),
        ]
        let jwe = String(decoding: Array(parts.joined(separator: [UInt8(ascii: ".")])), as: UTF8.self)
        let server = try Attacker.server { attacker in
            attacker.welcome()
            attacker.say(.event(1, data: #"{"event":"said","sealed":"\#(jwe)"}"#))
            attacker.serve(Attacker.honest)
        }
        let rt = try Realtime(url: "ws://127.0.0.1:\(server.port)/")
        let room = rt.join("r")
        let heard = Lock("")
        room.on("error") { data, _ in heard.withLock { $0 = data["message"]?.string ?? "" } }
        try await eventually("the error") { heard.withLock { !$0.isEmpty } }
        #expect(heard.withLock { $0.contains("kkkk") && $0.utf8.count <= 300 })
        await rt.close()
    }
}

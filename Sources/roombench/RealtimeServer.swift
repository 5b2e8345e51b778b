internal import Glibc

/// The server that publishes: the real Centrifugo where it is at hand, else our own hub.
final class RealtimeServer {
    static let key = "api-key-for-benchmarks"

    /// The real server, where it is at hand.
    static var centrifugo: String? { getenv("CENTRIFUGO").map { String(cString: $0) } }

    let name: String
    let port: UInt16
    private let program: Program
    private let client: PlainClient

    /// `history` is what each room keeps, in events; `isHub`: our own, whatever is at hand; `hasAuth`: rooms of our own want
    /// a token, which its auth route gives.
    init(folder: String, binaries: String, history: Int, isHub: Bool = false, hasAuth: Bool = false) {
        let held = HeldPort()
        port = held.number
        if !isHub, let centrifugo = Self.centrifugo {
            name = "Centrifugo"
            writeFile(
                "\(folder)/centrifugo.json",
                """
                {"http_server": {"address": "127.0.0.1", "port": "\(port)"}, "http_api": {"key": "\(Self.key)"},
                 "log": {"level": "error"}, "client": {"allow_anonymous_connect_without_token": true, "queue_max_size": 67108864},
                 "channel": {"namespaces": [{"name": "order", "history_size": \(history), "history_ttl": "1800s",
                   "force_recovery": true, "allow_subscribe_for_client": true, "allow_subscribe_for_anonymous": true,
                   "allow_history_for_subscriber": true, "allow_history_for_anonymous": true}]}}
                """
            )
            program = Program(
                "centrifugo",
                [centrifugo, "-c", "\(folder)/centrifugo.json"],
                log: "\(folder)/server.log"
            )
        } else {
            name = "roomhub"
            writeFile("\(folder)/api-key", Self.key)
            let access = hasAuth ? "" : #""public": true, "#
            let auth = hasAuth ? #", "auth": {"users": {"app": {"rooms": ["order:{id}"]}}}"# : ""
            writeFile(
                "\(folder)/hub.json",
                """
                {"api_key": {"file": "\(folder)/api-key"},
                 "rooms": [{"pattern": "order:{id}", \(access)"history": \(history), "keep": "30m"}]\(auth)}
                """
            )
            program = Program(
                "roomhub",
                ["\(binaries)/roomhub", "--config", "\(folder)/hub.json", "--listen", "127.0.0.1:\(port)"],
                log: "\(folder)/server.log"
            )
        }
        held.waitUntilTaken()
        client = PlainClient(port: port)
    }

    var url: String { "ws://127.0.0.1:\(port)/connection/websocket" }
    var authURL: String { "http://127.0.0.1:\(port)/auth" }
    var cpuMicroseconds: Double { program.cpuMicroseconds }
    var memory: (anonymous: Int, peak: Int) { program.memory }

    /// Publishes `events` events of about 300 bytes round robin to `rooms` rooms, 100 a request.
    func publish(_ events: Int, rooms: Int) {
        let filler = String(repeating: "x", count: 240)
        var number = 0
        while number < events {
            let commands = (number..<min(events, number + 100)).map { number in
                """
                {"publish":{"channel":"order:\(number % rooms)","data":{"event":"updated","data":{"n":\(number),"text":"\(filler)"}}}}
                """
            }
            publish(batch: Array(("{\"commands\":[" + commands.joined(separator: ",") + "]}").utf8))
            number += commands.count
        }
    }

    /// One request to publish many.
    func publish(batch body: [UInt8]) {
        let answer = client.post("/api/batch", key: Self.key, body: body)
        guard !answer.contains("\"error\"") else { fail("the server refuses to publish: \(answer.prefix(300))") }
    }

    func end() { program.end() }
}

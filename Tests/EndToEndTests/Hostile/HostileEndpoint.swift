internal import BridgeTestSupport
internal import RoomsRuntime

/// An endpoint that means no good, until it is told to behave.
final class HostileEndpoint: Sendable {
    /// What a bridge is to make of it.
    enum Outcome: Sendable {
        /// Each event counts as delivered.
        case delivered
        /// It gets its first event again and again, or nothing more for long.
        case held
    }

    struct Trick: Sendable {
        var name: String
        var outcome: Outcome
        /// Called with each request that was read.
        var answer: @Sendable (RawConnection) -> Void
    }

    struct Request: Sendable {
        var head: String
        var offset: String
        var wasHostile: Bool
    }

    let trick: Trick
    private let server: RawServer
    private let isHostile = Lock(true)
    private let seen: Lock<[Request]>

    init(_ trick: Trick) throws {
        self.trick = trick
        let (isHostile, seen) = (isHostile, Lock<[Request]>([]))
        self.seen = seen
        server = try RawServer { connection in
            while let (head, _) = connection.readRequest() {
                let wasHostile = isHostile.withLock { $0 }
                let line = head.split(separator: "\r\n").first { $0.hasPrefix("roombridge-offset: ") }
                let offset = String(line?.split(separator: " ").last ?? "")
                seen.withLock { $0.append(Request(head: head, offset: offset, wasHostile: wasHostile)) }
                guard wasHostile else {
                    connection.answer()
                    continue
                }
                trick.answer(connection)
            }
        }
    }

    var address: SocketAddress { .loopback(port: server.port) }
    var requests: [Request] { seen.withLock { $0 } }

    func behave() { isHostile.withLock { $0 = false } }
}

extension HostileEndpoint.Trick {
    private static let ok = "HTTP/1.1 200 OK\r\n"
    private static let chunked = ok + "transfer-encoding: chunked\r\n\r\n"

    /// These bytes, and no more.
    private static func says(_ name: String, _ text: String, _ outcome: HostileEndpoint.Outcome) -> Self {
        Self(name: name, outcome: outcome) { $0.write(text) }
    }

    /// These bytes, and then the others without end.
    private static func goesOn(
        _ name: String,
        _ begin: String,
        _ text: String,
        _ outcome: HostileEndpoint.Outcome
    ) -> Self {
        let piece = Array(String(repeating: text, count: max(1, 65_536 / text.utf8.count)).utf8)
        return Self(name: name, outcome: outcome) { connection in
            connection.write(begin)
            while connection.write(piece) {}
        }
    }

    /// `bomb` is small, and large when it is unpacked; nobody may come to `trap`.
    static func all(bomb: [UInt8], trap: UInt16) -> [Self] {
        delivered(bomb) + endless + rubbish + redirects(trap) + refusals
    }

    private static func delivered(_ bomb: [UInt8]) -> [Self] {
        let field = "content-encoding: gzip\r\ncontent-length: \(bomb.count)\r\n\r\n"
        return [
            goesOn("endless-body", ok + "\r\n", "x", .delivered),
            goesOn("endless-chunks", chunked, "1\r\nx\r\n", .delivered),
            goesOn("endless-length", ok + "content-length: 9999999999999\r\n\r\n", "x", .delivered),
            goesOn("endless-chunk-size", chunked, "0", .delivered),
            goesOn("endless-chunk-extension", chunked + "1;", "x", .delivered),
            goesOn(
                "endless-chunk-extensions",
                chunked,
                "1;\(String(repeating: "x", count: 8_000))\r\nx\r\n",
                .delivered
            ),
            goesOn("endless-trailer", chunked + "0\r\n", "x: y\r\n", .delivered),
            goesOn("endless-answers", "", ok + "content-length: 0\r\n\r\n", .delivered),
            Self(name: "bomb", outcome: .delivered) { $0.write(Array((ok + field).utf8) + bomb) },
            Self(name: "reset-behind-head", outcome: .delivered) { connection in
                connection.write(ok + "content-length: 5\r\n\r\n")
                connection.reset()
            },
            says("body-of-204", "HTTP/1.1 204 X\r\n\r\nHTTP/1.1 410 Gone\r\n\r\n", .delivered),
            says(
                "two-answers",
                ok + "content-length: 0\r\n\r\nHTTP/1.1 410 Gone\r\ncontent-length: 0\r\n\r\n",
                .delivered
            ),
        ]
    }

    private static let endless = [
        goesOn("endless-status-line", ok.dropLast(2) + "", "x", .held),
        goesOn("endless-field", ok + "x: ", "y", .held),
        goesOn("endless-field-name", ok, "y", .held),
        goesOn("endless-fields", ok, "x: y\r\n", .held),
        goesOn("endless-folds", ok + "x: y\r\n", " z\r\n", .held),
        goesOn("endless-interim-answers", "", "HTTP/1.1 100 Continue\r\n\r\n", .held),
        goesOn("endless-interim-fields", "HTTP/1.1 103 X\r\n", "link: </a>\r\n", .held),
        goesOn("endless-rubbish", "", "rubbish ", .held),
        goesOn("endless-nul", "", "\0", .held),
        Self(name: "silence", outcome: .held) { _ in },
        says("half-a-head", ok + "content-le", .held),
    ]

    private static let rubbish = [
        says("page", "<html><body>200 OK</body></html>", .held),
        says("nul", "HTTP/1.1 200 O\0K\r\ncontent-length: 0\r\n\r\n", .held),
        says("switch", "HTTP/1.1 101 X\r\nupgrade: h2c\r\n\r\n", .held),
        says("http2", "\0\0\u{12}\u{4}\0\0\0\0\0", .held),
        Self(name: "hangs-up", outcome: .held) { $0.close() },
        Self(name: "resets", outcome: .held) { $0.reset() },
        Self(name: "hangs-up-in-head", outcome: .held) { connection in
            connection.write(ok)
            connection.close()
        },
    ]

    private static func redirects(_ trap: UInt16) -> [Self] {
        let fields = "content-length: 0\r\n\r\n"
        return [300, 301, 302, 303, 307, 308].flatMap { status in
            [("here", "http://127.0.0.1:\(trap)/"), ("metadata", "http://169.254.169.254/latest/meta-data/")].map {
                says("redirect-\(status)-\($0)", "HTTP/1.1 \(status) X\r\nlocation: \($1)\r\n\(fields)", .held)
            }
        } + [
            says("refresh", "HTTP/1.1 200 OK\r\nrefresh: 0; url=http://127.0.0.1:\(trap)/\r\n\(fields)", .delivered),
            says("location", "HTTP/1.1 201 OK\r\nlocation: http://127.0.0.1:\(trap)/\r\n\(fields)", .delivered),
            says("use-proxy", "HTTP/1.1 305 X\r\nlocation: http://127.0.0.1:\(trap)/\r\n\(fields)", .held),
        ]
    }

    private static let refusals = [
        says("never", "HTTP/1.1 503 X\r\nretry-after: 99999999999999\r\ncontent-length: 0\r\n\r\n", .held),
        says("pause", "HTTP/1.1 200 X\r\nwebhook-delivery: pause=999999999\r\ncontent-length: 0\r\n\r\n", .held),
        says("basic", "HTTP/1.1 401 X\r\nwww-authenticate: Basic realm=\"x\"\r\ncontent-length: 0\r\n\r\n", .held),
        says("cookie", "HTTP/1.1 500 X\r\nset-cookie: a=b\r\ncontent-length: 0\r\n\r\n", .held),
        says("status-999", "HTTP/1.1 999 X\r\ncontent-length: 0\r\n\r\n", .held),
        says("status-000", "HTTP/1.1 000 X\r\ncontent-length: 0\r\n\r\n", .held),
    ]
}

import BridgeTestSupport
import RoomsRuntime

/// An endpoint of a test whose closure has each connection to itself, byte by byte, on a thread of its own.
final class RawReceiver: Sendable {
    struct Request: Sendable {
        /// Counts connections from 1.
        var connection: Int
        var line: String
        var fields: [String: String]
        var body: [UInt8]
        var arrived: Instant

        var room: String { fields["roombridge-room"] ?? "" }
        var seq: Int { Int(fields["roombridge-seq"] ?? "") ?? -1 }
        var attempt: Int { Int(fields["roombridge-attempt"] ?? "") ?? -1 }
        /// It is a request of ours from its first byte to its last.
        var isWhole: Bool {
            line == "POST /hook HTTP/1.1" && body.count == Int(fields["content-length"] ?? "")
                && body.last == UInt8(ascii: "}")
        }
    }

    /// One connection, as the closure sees it.
    struct Peer: Sendable {
        let number: Int
        let connection: RawConnection
        fileprivate let receiver: RawReceiver

        /// The next request, whole or up to its end; nil when nothing came before the end.
        func read() -> Request? {
            guard let (head, body) = connection.readRequest() else { return nil }
            let request = RawReceiver.request(head, body, of: number)
            receiver.seen.withLock { $0.append(request) }
            return request
        }

        /// Only the head of the next request.
        func readHead() -> Request? {
            let head = connection.readHead()
            guard !head.isEmpty else { return nil }
            let request = RawReceiver.request(head, [], of: number)
            receiver.seen.withLock { $0.append(request) }
            return request
        }

        /// Whatever comes until the end.
        func readRest() -> Int {
            var count = 0
            while case let bytes = connection.read(), !bytes.isEmpty { count += bytes.count }
            return count
        }
    }

    private let server: Lock<RawServer?> = Lock(nil)
    private let count = Lock(0)
    private let seen = Lock<[Request]>([])
    let port: UInt16

    /// Listens on a free port of 127.0.0.1, or on the Unix socket `path`.
    init(unixPath path: String? = nil, window: Int32? = nil, _ serve: @escaping @Sendable (Peer) -> Void) throws {
        let (gate, count) = (Lock<RawReceiver?>(nil), count)
        let server = try RawServer(unixPath: path, window: window) { connection in
            guard let receiver = gate.withLock({ $0 }) else { return }
            let number = count.withLock { count in
                count += 1
                return count
            }
            serve(Peer(number: number, connection: connection, receiver: receiver))
        }
        port = server.port
        self.server.withLock { $0 = server }
        gate.withLock { $0 = self }
    }

    /// What came, in order.
    var requests: [Request] { seen.withLock { $0 } }
    /// Each request's seq, attempt and connection.
    var story: [[Int]] { requests.map { [$0.seq, $0.attempt, $0.connection] } }
    var connections: Int { count.withLock { $0 } }

    func stop() { server.withLock { $0?.stop() } }

    private static func request(_ head: String, _ body: [UInt8], of connection: Int) -> Request {
        let lines = head.split(separator: "\r\n", omittingEmptySubsequences: true)
        var fields: [String: String] = [:]
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2 else { continue }
            fields[String(parts[0])] = String(parts[1].drop { $0 == " " })
        }
        return Request(
            connection: connection,
            line: lines.first.map(String.init) ?? "",
            fields: fields,
            body: body,
            arrived: SystemClock.now
        )
    }
}

/// An answer without a body.
func plainAnswer(_ status: Int, _ fields: String = "") -> String {
    "HTTP/1.1 \(status) X\r\n\(fields)content-length: 0\r\n\r\n"
}

/// Lets a time pass that is too short to sleep.
func spin(_ time: Duration) {
    let end = SystemClock.now + time
    while SystemClock.now < end {}
}

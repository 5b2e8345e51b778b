import BridgeTestSupport
import RoomsRuntime
import RoomsTransport
import RoomsWebSocket

/// A WebSocket stream and what happened to it.
final class SocketProbe: Sendable {
    struct Seen: Sendable {
        var isOpen = false
        var messages: [[UInt8]] = []
        var ends: [WebSocketEnd] = []
        var bytes: Int { messages.reduce(0) { $0 + $1.count } }
    }

    private let transport: TransportLoop
    private let socket: LoopBound<WebSocketStream>
    private let state: Lock<Seen>

    /// `atMessage` runs on the loop with the stream and the number of messages so far.
    init(
        _ client: TestTransport,
        _ url: String,
        _ options: WebSocketOptions = WebSocketOptions(subprotocol: "test"),
        atMessage: @escaping @Sendable (WebSocketStream, Int) -> Void = { _, _ in }
    ) async throws {
        let transport = client.transport
        let state = Lock(Seen())
        self.transport = transport
        self.state = state
        let url = try ServerURL(ByteString(url))
        socket = try await client.loop.run {
            // The handlers reach the stream that they belong to through this box.
            let box = Box()
            let socket = WebSocketStream(
                loop: transport,
                url: url,
                options: options,
                handlers: WebSocketStream.Handlers(
                    onOpen: { state.withLock { $0.isOpen = true } },
                    onMessage: { bytes in
                        let count = state.withLock { seen in
                            seen.messages.append([UInt8](bytes))
                            return seen.messages.count
                        }
                        if let socket = box.socket { atMessage(socket, count) }
                    },
                    onEnd: { end in state.withLock { $0.ends.append(end) } }
                )
            )
            box.socket = socket
            return LoopBound(socket, on: transport.loop)
        }
    }

    private final class Box {
        weak var socket: WebSocketStream?
    }

    var seen: Seen { state.withLock { $0 } }

    func opened() async throws {
        try await eventually("an open WebSocket") {
            if let end = seen.ends.first { throw NotInTime(description: "the WebSocket ended: \(end)") }
            return seen.isOpen
        }
    }

    func ended(within limit: Duration = .seconds(10)) async throws -> WebSocketEnd {
        try await eventually(within: limit, "the end of the WebSocket") { seen.ends.first }
    }

    /// The code of a failed end.
    func failure() async throws -> TransportError? {
        if case .failed(let error) = try await ended() { return error }
        return nil
    }

    func perform<Value: Sendable>(_ body: @escaping @Sendable (WebSocketStream) -> Value) async throws -> Value {
        let socket = socket
        return try await transport.loop.run { body(socket.value) }
    }

    func send(_ bytes: [UInt8]) async throws {
        try await perform { $0.send(bytes) }
    }
}

/// The server's side of a WebSocket over a blocking connection.
struct ServerSocket {
    let connection: RawConnection
    private let session = WebSocketSession(role: .server, limits: WebSocketLimits(maxMessage: 64 * 1024 * 1024))

    init(_ connection: RawConnection) {
        self.connection = connection
    }

    /// Answers the upgrade; `fields` stands in place of the good answer's fields, with KEY for the accept value.
    @discardableResult
    static func upgrade(_ connection: RawConnection, fields: String? = nil, behind: [UInt8] = []) -> String {
        let head = connection.readHead()
        let key = head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("sec-websocket-key:") }
        let value = key.map { String($0.dropFirst("sec-websocket-key:".count).drop { $0 == " " }) } ?? ""
        let accept = WebSocketHandshake.acceptValue(for: ByteString(value)).string
        let standard = """
            Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: KEY\r\nSec-WebSocket-Protocol: test\r\n
            """
        let text = "HTTP/1.1 101 Switching Protocols\r\n" + (fields ?? standard) + "\r\n"
        var answer = ""
        for part in text.split(separator: "KEY", omittingEmptySubsequences: false) {
            answer += (answer.isEmpty ? "" : accept) + part
        }
        connection.write(Array(answer.utf8) + behind)
        return head
    }

    func send(_ message: [UInt8]) {
        session.sendBinary(message)
        flush()
    }

    func sendText(_ text: String) {
        session.sendText(Array(text.utf8))
        flush()
    }

    func close(_ code: UInt16, _ reason: String) {
        session.sendClose(code: code, reason: ByteString(reason))
        flush()
    }

    /// The next event's kind: messages as bytes, a close as its code.
    func receive() -> Seen? {
        var seen: Seen?
        while seen == nil {
            let bytes = connection.read()
            if bytes.isEmpty { return nil }
            bytes.withUnsafeBytes { bytes in
                session.receive(bytes) { event in
                    switch event {
                    case .binary(let message): seen = .binary([UInt8](message))
                    case .text(let message): seen = .text([UInt8](message))
                    case .close(let code, let reason): seen = .close(code, reason.string)
                    case .violation(let code, _): seen = .violation(code)
                    }
                }
            }
            flush()
        }
        return seen
    }

    private func flush() {
        var bytes: [UInt8] = []
        session.takeOutput(into: &bytes)
        connection.write(bytes)
    }
}

import Foundation
import RoomsRuntime
import RoomsWebSocket
import RoomsWire

/// A client's connection whose socket is read only when the player reads all of them.
final class Peer {
    /// A message as it came.
    enum Message {
        case json([UInt8])
        case protobuf(Reply)
        case broken(String)

        var isPing: Bool {
            switch self {
            case .json(let bytes): bytes == Array("{}".utf8)
            case .protobuf(let reply): reply == .ping
            case .broken: false
            }
        }
    }

    let connection: Scenario.Connection
    /// `101` and the chosen subprotocol, or the refusal's status and body.
    private(set) var answer = ""
    private(set) var isProtobuf = false
    private(set) var messages: [Message] = []
    private(set) var end: String?
    private(set) var largestFrame = 0
    private let socket: SocketClient
    private let stream = WebSocketSession(role: .client, limits: .generous)

    var isOpen: Bool { end == nil && answer.hasPrefix("101") }
    var descriptor: CInt { socket.descriptor }

    init(_ connection: Scenario.Connection, port: UInt16) throws {
        self.connection = connection
        socket = try SocketClient(port: port)
        let key = WebSocketHandshake.makeKey()
        var head = """
            GET \(connection.path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nUpgrade: websocket\r\nConnection: Upgrade\r
            Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: \(key.string)\r\n
            """
        if !connection.protocols.isEmpty {
            head += "Sec-WebSocket-Protocol: \(connection.protocols.joined(separator: ", "))\r\n"
        }
        for header in connection.headers { head += header + "\r\n" }
        try socket.send(Array((head + "\r\n").utf8))
        try readAnswer(key)
    }

    private func readAnswer(_ key: ByteString) throws {
        var bytes: [UInt8] = []
        var end: Int?
        while end == nil {
            let more = try socket.read()
            guard !more.isEmpty else { throw TestFailure("closed during the upgrade") }
            bytes += more
            end = bytes.firstRange(of: Array("\r\n\r\n".utf8))?.upperBound
        }
        let head = String(decoding: bytes[..<(end ?? 0)], as: UTF8.self)
        guard head.hasPrefix("HTTP/1.1 101 ") else {
            // A refusal tells its length.
            let length = head.firstMatch(of: #/(?i)content-length: (\d+)/#).flatMap { Int($0.1) } ?? 0
            while bytes.count < (end ?? 0) + length {
                let more = try socket.read()
                guard !more.isEmpty else { break }
                bytes += more
            }
            answer = "\(head.dropFirst(9).prefix(3)) \(String(decoding: bytes[(end ?? 0)...], as: UTF8.self))"
            self.end = ""
            return
        }
        guard head.contains(WebSocketHandshake.acceptValue(for: key).string) else { throw TestFailure(head) }
        let chosen = head.firstMatch(of: #/(?i)sec-websocket-protocol: (\S+)/#).map { String($0.1) }
        isProtobuf = chosen == "centrifuge-protobuf" || connection.path.contains("=protobuf")
        answer = "101 \(chosen ?? "no subprotocol")"
        take(Array(bytes[(end ?? 0)...]))
    }

    func takeMessage() -> Message? { messages.isEmpty ? nil : messages.removeFirst() }

    // MARK: reading

    /// Reads what is there, without waiting.
    func read() {
        guard isOpen else { return }
        var buffer = [UInt8](repeating: 0, count: 256 << 10)
        let count = recv(descriptor, &buffer, buffer.count, CInt(MSG_DONTWAIT))
        if count > 0 {
            take(Array(buffer[..<count]))
            flush()
        } else if count == 0 || (errno != EAGAIN && errno != EINTR) {
            end = end ?? "1006 "
        }
    }

    private func take(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { bytes in
            stream.receive(bytes) { event in
                switch event {
                case .text(let frame): isProtobuf ? messages.append(.broken("a text frame")) : takeJSON(Array(frame))
                case .binary(let frame): isProtobuf ? takeProtobuf(frame) : messages.append(.broken("a binary frame"))
                case .close(let code, let reason): end = "\(code) \(reason.string)"
                // A strict client ends the connection itself.
                case .violation: end = "1006 "
                }
            }
        }
    }

    private func takeJSON(_ frame: [UInt8]) {
        let pieces = frame.split(separator: 0x0a, omittingEmptySubsequences: false)
        largestFrame = max(largestFrame, pieces.count)
        for piece in pieces { take(.json(Array(piece))) }
    }

    private func takeProtobuf(_ frame: UnsafeRawBufferPointer) {
        var encoded: [UInt8] = []
        var count = 0
        do {
            try ProtobufCodec.decodeReplies(frame) { reply in
                count += 1
                ProtobufCodec.encode(reply, into: &encoded)
                take(.protobuf(reply))
            }
        } catch {
            messages.append(.broken("\(error) in \(Hex.text(frame))"))
        }
        largestFrame = max(largestFrame, count)
        if encoded != Array(frame) { messages.append(.broken("another encoding: \(Hex.text(frame))")) }
    }

    private func take(_ message: Message) {
        guard connection.answersPings, message.isPing else { return messages.append(message) }
        send(isProtobuf ? [0] : Array("{}".utf8), isText: !isProtobuf)
    }

    // MARK: writing

    func send(_ frame: [UInt8], isText: Bool) {
        isText ? stream.sendText(frame) : stream.sendBinary(frame)
        flush()
    }

    func sendClose() {
        stream.sendClose(code: 1_000)
        flush()
    }

    private func flush() {
        var bytes: [UInt8] = []
        stream.takeOutput(into: &bytes)
        // A server that has gone shows when it is read.
        if !bytes.isEmpty { try? socket.send(bytes) }
    }
}

extension WebSocketLimits {
    fileprivate static var generous: WebSocketLimits {
        var limits = WebSocketLimits()
        limits.maxMessage = 64 << 20
        return limits
    }
}

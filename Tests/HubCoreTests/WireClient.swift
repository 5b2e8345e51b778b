import Foundation
import LocalHTTP
import RoomsRuntime
import RoomsWebSocket
import RoomsWire

@testable import HubCore

/// A hub on a free port of its own, stopped with the object.
final class RunningHub: Sendable {
    let server: HubServer
    let port: UInt16
    private let queue = LogQueue(sink: StandardErrorSink(style: .plain))

    init(rooms: [RoomRule] = RoomRule.recorded, _ change: (inout HubConfiguration) -> Void = { _ in }) throws {
        var configuration = HubConfiguration(
            listen: ["127.0.0.1:0"],
            apiKey: Secret("api-key-for-tests"),
            tokenSecret: Conversation.secret,
            rooms: rooms
        )
        change(&configuration)
        server = HubServer(configuration, logger: Logger(queue: queue, level: .warning))
        port = try server.start()[0]
    }

    deinit {
        server.stop()
        queue.close()
    }

    /// A call of the server API on a connection of its own.
    func api(_ method: String, _ body: String, headers: [String] = ["X-API-Key: api-key-for-tests"]) throws -> Answer {
        try request("POST /api/\(method)", headers: headers, body: Array(body.utf8))
    }

    func request(_ line: String, headers: [String] = [], body: [UInt8]? = nil) throws -> Answer {
        let client = try SocketClient(port: port)
        var head = "\(line) HTTP/1.1\r\nHost: hub\r\nConnection: close\r\n"
        for header in headers { head += header + "\r\n" }
        if let body { head += "Content-Length: \(body.count)\r\n" }
        try client.send(Array((head + "\r\n").utf8) + (body ?? []))
        return try Answer(client.readToEnd())
    }
}

/// What an HTTP server answered, its body to the end of the connection.
struct Answer {
    let status: Int
    let head: String
    let body: String

    init(_ bytes: [UInt8]) throws {
        guard let end = bytes.firstRange(of: Array("\r\n\r\n".utf8)) else {
            throw TestFailure("no HTTP answer: \(String(decoding: bytes, as: UTF8.self))")
        }
        head = String(decoding: bytes[..<end.lowerBound], as: UTF8.self)
        body = String(decoding: bytes[end.upperBound...], as: UTF8.self)
        status = Int(head.split(separator: " ")[1]) ?? 0
    }
}

/// A blocking socket whose every wait ends after some seconds.
final class SocketClient {
    let descriptor: CInt

    init(port: UInt16, receiveBuffer: CInt? = nil) throws {
        descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        if var size = receiveBuffer {
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<CInt>.size))
        }
        var limit = timeval(tv_sec: 10, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw TestFailure("connect: \(String(cString: strerror(errno)))") }
    }

    deinit { close(descriptor) }

    func send(_ bytes: [UInt8]) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Foundation.send(descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw TestFailure("send: \(String(cString: strerror(errno)))") }
            rest.removeFirst(count)
        }
    }

    /// Some bytes; none at the end.
    func read() throws -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: 256 << 10)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        guard count >= 0 else { throw TestFailure("recv: \(String(cString: strerror(errno)))") }
        return Array(buffer[..<count])
    }

    func readToEnd() throws -> [UInt8] {
        var bytes: [UInt8] = []
        while true {
            let more = try read()
            if more.isEmpty { return bytes }
            bytes += more
        }
    }
}

/// A client of the hub over a real socket.
final class WireClient {
    private let socket: SocketClient
    private let stream = WebSocketSession(role: .client)
    private let format: WireFormat
    private var replies: [Reply] = []
    private(set) var close: (code: UInt16, reason: ByteString)?
    private(set) var largestFrame = 0
    /// The subprotocol that the hub chose; nil: none.
    let chosen: String?

    /// Connects and upgrades; `firstFrame` is sent in one piece with the request for the upgrade.
    ///
    /// Without `offering` it offers the subprotocol of its format behind one that nobody knows, and wants it chosen.
    init(
        port: UInt16,
        format: WireFormat = .protobuf,
        path: String = "/connection/websocket",
        offering: [String]? = nil,
        receiveBuffer: CInt? = nil,
        firstFrame: [UInt8] = []
    ) throws {
        self.format = format
        socket = try SocketClient(port: port, receiveBuffer: receiveBuffer)
        let key = WebSocketHandshake.makeKey()
        let offer = (offering ?? ["other", format.subprotocol.string]).joined(separator: ", ")
        let head = """
            GET \(path) HTTP/1.1\r\nHost: hub\r\nUpgrade: websocket\r\nConnection: keep-alive, Upgrade\r
            Sec-WebSocket-Version: 13\r\n\(offer.isEmpty ? "" : "Sec-WebSocket-Protocol: \(offer)\r\n")\
            Sec-WebSocket-Key: \(key.string)\r\n\r\n
            """
        var bytes = Array(head.utf8)
        if !firstFrame.isEmpty {
            if format == .json { stream.sendText(firstFrame) } else { stream.sendBinary(firstFrame) }
            stream.takeOutput(into: &bytes)
        }
        try socket.send(bytes)
        var answer: [UInt8] = []
        var end: Int?
        while end == nil {
            let more = try socket.read()
            guard !more.isEmpty else { throw TestFailure("closed during the upgrade") }
            answer += more
            end = answer.firstRange(of: Array("\r\n\r\n".utf8))?.upperBound
        }
        guard let end else { throw TestFailure("no head") }
        let text = String(decoding: answer[..<end], as: UTF8.self)
        guard text.hasPrefix("HTTP/1.1 101 "),
            text.contains("Sec-WebSocket-Accept: \(WebSocketHandshake.acceptValue(for: key).string)\r\n")
        else { throw TestFailure(text) }
        chosen = text.firstMatch(of: /Sec-WebSocket-Protocol: (.*)\r\n/).map { String($0.1) }
        guard offering != nil || chosen == format.subprotocol.string else { throw TestFailure(text) }
        take(Array(answer[end...]))
    }

    func send(_ commands: Command...) throws {
        try send(frame: format.frame(commands))
    }

    func send(frame: [UInt8], isText: Bool? = nil) throws {
        if isText ?? (format == .json) { stream.sendText(frame) } else { stream.sendBinary(frame) }
        try flush()
    }

    /// The next message, waiting for it.
    func next() throws -> Reply {
        while replies.isEmpty {
            if let close { throw TestFailure("closed: \(close)") }
            let bytes = try socket.read()
            guard !bytes.isEmpty else { throw TestFailure("the connection ended without a close frame") }
            take(bytes)
            try flush()
        }
        return replies.removeFirst()
    }

    func next(_ count: Int) throws -> [Reply] {
        try (0..<count).map { _ in try next() }
    }

    /// Reads on until the server has closed; what came before, and how it closed.
    func readToClose() throws -> (replies: [Reply], code: UInt16, reason: ByteString) {
        while close == nil {
            let bytes = try socket.read()
            guard !bytes.isEmpty else { break }
            take(bytes)
        }
        guard let close else { throw TestFailure("the connection ended without a close frame") }
        try? flush()
        defer { replies = [] }
        return (replies, close.code, close.reason)
    }

    /// Waits for the end of the TCP connection.
    func readToEnd() throws {
        _ = try socket.readToEnd()
    }

    func sendClose(code: UInt16) throws {
        stream.sendClose(code: code)
        try flush()
    }

    private func flush() throws {
        var bytes: [UInt8] = []
        stream.takeOutput(into: &bytes)
        if !bytes.isEmpty { try socket.send(bytes) }
    }

    private func take(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { bytes in
            stream.receive(bytes) { event in
                switch event {
                case .binary(let frame), .text(let frame): take(frame: frame)
                case .close(let code, let reason): close = (code, reason)
                case .violation(let code, let reason): close = (code, ByteString(reason))
                }
            }
        }
    }

    private func take(frame: UnsafeRawBufferPointer) {
        let before = replies.count
        replies += (try? format.replies(in: Array(frame))) ?? []
        largestFrame = max(largestFrame, replies.count - before)
    }
}

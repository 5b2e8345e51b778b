import Foundation
import RoomsRuntime

/// An HTTP server of a test, on raw sockets: the script says for each request which bytes are the answer.
final class ScriptedReceiver: Sendable {
    struct Request: Sendable {
        /// Counts connections from 1.
        var connection: Int
        /// Counts the connection's requests from 1.
        var number: Int
        var line: String
        var fields: [String: String]
        var body: String

        var room: String { fields["roombridge-room"] ?? "" }
        var seq: Int { Int(fields["roombridge-seq"] ?? "") ?? -1 }
        var previousSeq: Int { Int(fields["roombridge-prev-seq"] ?? "") ?? -1 }
        var attempt: Int { Int(fields["roombridge-attempt"] ?? "") ?? -1 }
    }

    enum Answer: Sendable {
        case send(String)
        case sendThenClose(String)
        case sendThenReset(String)
        /// These bytes, and then more of the second text without end.
        case sendForEver(String, String)
        /// Nothing, until `release`.
        case hold

        static let ok = Answer.send("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
        static let close = Answer.sendThenClose("")

        static func status(_ status: Int) -> Answer {
            .send("HTTP/1.1 \(status) X\r\ncontent-length: 0\r\n\r\n")
        }
    }

    private struct State: Sendable {
        var requests: [Request] = []
        var connections = 0
        var open = 0
    }

    private final class Connection {
        let descriptor: Int32
        let number: Int
        var input: [UInt8] = []
        var requests = 0
        var isHeld = false

        init(_ descriptor: Int32, _ number: Int) {
            self.descriptor = descriptor
            self.number = number
        }
    }

    private final class Server {
        var listener: Int32 = -1
        var connections: [Int32: Connection] = [:]
    }

    let port: UInt16
    private let loop = EventLoop(name: "receiver")
    private let state = Lock(State())
    private let server: LoopBound<Server>
    private let script: @Sendable (Request) -> Answer

    /// Listens at `unixPath`, or on a free port of 127.0.0.1.
    init(unixPath: String? = nil, _ script: @escaping @Sendable (Request) -> Answer) throws {
        self.script = script
        let (descriptor, port) = try unixPath.map { (try Self.listen(at: $0), UInt16(0)) } ?? Self.listen()
        self.port = port
        let server = Server()
        server.listener = descriptor
        self.server = LoopBound(server, on: loop)
        loop.start()
        loop.post { [self] in loop.watch(descriptor, for: .readable) { [unowned self] _ in accept() } }
    }

    /// Ends the server and all of its connections; nobody listens there any more.
    func stop() {
        loop.post { [self] in
            for connection in server.value.connections.values { drop(connection, isReset: false) }
            loop.unwatch(server.value.listener)
            close(server.value.listener)
        }
        loop.stop()
        loop.join()
    }

    var requests: [Request] { state.withLock { $0.requests } }
    /// How many connections were ever made.
    var connections: Int { state.withLock { $0.connections } }
    var openConnections: Int { state.withLock { $0.open } }

    /// Answers all requests that are held now.
    func release(_ answer: Answer = .ok) {
        loop.post { [self] in
            for connection in server.value.connections.values where connection.isHeld {
                connection.isHeld = false
                perform(answer, on: connection)
            }
        }
    }

    // MARK: on the loop

    private func accept() {
        while true {
            let descriptor = Glibc.accept(server.value.listener, nil, nil)
            guard descriptor >= 0 else { return }
            _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
            let number = state.withLock { state in
                state.connections += 1
                state.open += 1
                return state.connections
            }
            let connection = Connection(descriptor, number)
            server.value.connections[descriptor] = connection
            loop.watch(descriptor, for: .readable) { [unowned self] _ in read(connection) }
        }
    }

    private func read(_ connection: Connection) {
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        while true {
            let count = recv(connection.descriptor, &buffer, buffer.count, 0)
            if count > 0 {
                connection.input += buffer[..<count]
            } else if count < 0, errno == EAGAIN {
                break
            } else {
                return drop(connection, isReset: false)
            }
        }
        while let request = takeRequest(connection) {
            state.withLock { $0.requests.append(request) }
            perform(script(request), on: connection)
        }
    }

    private func takeRequest(_ connection: Connection) -> Request? {
        guard let end = connection.input.firstRange(of: Array("\r\n\r\n".utf8)) else { return nil }
        let head = String(decoding: connection.input[..<end.lowerBound], as: UTF8.self)
        let lines = head.components(separatedBy: "\r\n")
        var fields: [String: String] = [:]
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            fields[String(parts[0])] = parts[1].trimmingCharacters(in: .whitespaces)
        }
        let length = Int(fields["content-length"] ?? "") ?? 0
        guard connection.input.count >= end.upperBound + length else { return nil }
        let body = String(decoding: connection.input[end.upperBound..<end.upperBound + length], as: UTF8.self)
        connection.input.removeFirst(end.upperBound + length)
        connection.requests += 1
        return Request(
            connection: connection.number,
            number: connection.requests,
            line: lines[0],
            fields: fields,
            body: body
        )
    }

    private func perform(_ answer: Answer, on connection: Connection) {
        switch answer {
        case .send(let text):
            send(text, on: connection)
        case .sendThenClose(let text):
            send(text, on: connection)
            drop(connection, isReset: false)
        case .sendThenReset(let text):
            send(text, on: connection)
            drop(connection, isReset: true)
        case .sendForEver(let text, let more):
            send(text, on: connection)
            let piece = String(repeating: more, count: 16 * 1024 / max(1, more.utf8.count))
            loop.watch(connection.descriptor, for: [.readable, .writable]) { [unowned self] readiness in
                if readiness.contains(.readable) || readiness.contains(.failed) {
                    drop(connection, isReset: false)
                } else {
                    send(piece, on: connection)
                }
            }
        case .hold:
            connection.isHeld = true
        }
    }

    private func send(_ text: String, on connection: Connection) {
        let bytes = Array(text.utf8)
        _ = Glibc.send(connection.descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }

    private func drop(_ connection: Connection, isReset: Bool) {
        guard server.value.connections.removeValue(forKey: connection.descriptor) != nil else { return }
        if isReset {
            var linger = Glibc.linger(l_onoff: 1, l_linger: 0)
            setsockopt(connection.descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<linger>.size))
        }
        loop.unwatch(connection.descriptor)
        close(connection.descriptor)
        state.withLock { $0.open -= 1 }
    }

    // MARK: listening

    private static func listen() throws -> (Int32, UInt16) {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) | Glibc.listen(descriptor, 128) | getsockname(descriptor, $0, &length)
            }
        }
        guard result == 0 else { throw POSIXError(.EIO) }
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        return (descriptor, UInt16(bigEndian: address.sin_port))
    }

    private static func listen(at path: String) throws -> Int32 {
        unlink(path)
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) | Glibc.listen(descriptor, 128)
            }
        }
        guard result == 0 else { throw POSIXError(.EIO) }
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        return descriptor
    }
}

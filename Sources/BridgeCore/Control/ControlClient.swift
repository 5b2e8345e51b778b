internal import Glibc
internal import RoomsRuntime
internal import RoomsTransport
internal import RoomsWire

/// Why a command could not reach the service, or what the service said against it.
package struct ControlError: Error, Equatable, Sendable {
    package let message: String
    package let exitCode: ExitCode
}

/// The other side of the control API: one request on one connection, and waits for its answer.
package struct ControlClient: Sendable {
    private let path: String
    /// An answer that takes longer will not come.
    private static let patience = 60

    package init(path: String) {
        self.path = path
    }

    /// The root of the answer's JSON.
    func call(
        _ method: String,
        _ target: String,
        _ body: [UInt8] = []
    ) throws(ControlError) -> JSONNode {
        let answer = try exchange(
            Array(
                """
                \(method) \(target) HTTP/1.0\r
                Host: localhost\r
                Content-Type: application/json\r
                Content-Length: \(body.count)\r
                \r

                """.utf8
            ) + body
        )
        // Our own server: a head, an empty line, and everything behind it.
        let separator = Array("\r\n\r\n".utf8)
        let end = answer.indices.first { answer[$0...].starts(with: separator) }
        guard let end, let document = try? JSONDocument.parse(Array(answer[(end + 4)...])) else {
            throw ControlError(message: "\(path): the service gave no answer", exitCode: .inputOutput)
        }
        if let error = document.root["error"]?.string {
            throw ControlError(message: error.description, exitCode: .usage)
        }
        return document.root
    }

    private func exchange(_ request: [UInt8]) throws(ControlError) -> [UInt8] {
        let descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw failure(errno) }
        defer { close(descriptor) }
        // A timeval: a build with the static standard library does not know that type.
        var limit = (seconds: Self.patience, microseconds: 0)
        let size = socklen_t(MemoryLayout.size(ofValue: limit))
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, size)
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, size)
        guard path.utf8.count <= StreamTarget.maxUnixPath else {
            throw ControlError(message: "\(path): is too long for a socket", exitCode: .usage)
        }
        guard connect(descriptor) else { throw failure(errno) }
        var sent = 0
        while sent < request.count {
            let count = request[sent...].withUnsafeBytes {
                send(descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw failure(errno) }
            sent += count
        }
        var answer: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            if count == 0 { return answer }
            guard count > 0 else { throw failure(errno) }
            answer += buffer[..<count]
        }
    }

    private func connect(_ descriptor: CInt) -> Bool {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
    }

    private func failure(_ code: CInt) -> ControlError {
        switch code {
        case ENOENT, ECONNREFUSED, ENOTDIR:
            ControlError(
                message: "the service is not running: nothing listens at \(path); "
                    + "it may use another state directory (--state-dir) or socket (--control)",
                exitCode: .unavailable
            )
        case EACCES, EPERM:
            ControlError(
                message: "\(path): this user may not use it, must be root, the service's user, or in its group",
                exitCode: .unavailable
            )
        case EAGAIN:
            ControlError(message: "\(path): the service does not answer", exitCode: .unavailable)
        default:
            ControlError(message: "\(path): \(String(cString: strerror(code)))", exitCode: .inputOutput)
        }
    }
}

internal import CRoomsLinux
internal import Glibc
internal import RoomsRuntime

/// The datagram socket of a service manager, as the test plays it.
final class NotifySocket: Sendable {
    private let descriptor: CInt
    private let lines = Lock<[String]>([])

    struct Unavailable: Error {}

    init(_ path: String) throws {
        let address = SocketAddress.unix(path: path)
        descriptor = address.makeSocket(CInt(SOCK_DGRAM.rawValue))
        guard address.bind(descriptor) else { throw Unavailable() }
        chmod(path, 0o666)
    }

    deinit { close(descriptor) }

    func clear() {
        drain()
        lines.withLock { $0 = [] }
    }

    func received(_ line: String) -> Bool {
        drain()
        return lines.withLock { $0.contains { $0 == line } }
    }

    /// Everything that was said, in order.
    var history: [String] {
        drain()
        return lines.withLock { $0 }
    }

    private func drain() {
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            guard count > 0 else { return }
            let text = String(decoding: buffer[..<count], as: UTF8.self)
            lines.withLock { $0 += text.split(separator: "\n").map(String.init) }
        }
    }
}

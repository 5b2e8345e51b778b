internal import BridgeDelivery
internal import Glibc
internal import RoomsRuntime

/// Reads lines from a Unix socket, counts and acknowledges them; on a thread of its own, for the life of the process.
final class StreamSink: Sendable {
    private let lines = Lock(0)
    private let loop = EventLoop(name: "stream-sink")

    init(path: String, _ acknowledgement: StreamAcknowledgement) {
        unlink(path)
        let listener = Self.listen(path)
        loop.start()
        let (loop, lines) = (loop, lines)
        loop.post {
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 * 1024, alignment: 16)
            loop.watch(listener, for: .readable) { _ in
                let connection = accept(listener, nil, nil)
                guard connection >= 0 else { return }
                var count = 0
                loop.watch(connection, for: .readable) { _ in
                    let size = recv(connection, buffer.baseAddress, buffer.count, 0)
                    guard size > 0 else {
                        loop.unwatch(connection)
                        close(connection)
                        return
                    }
                    let new = buffer[..<size].reduce(0) { $0 + ($1 == UInt8(ascii: "\n") ? 1 : 0) }
                    let isFirst = count == 0
                    count += new
                    // The hello is no event.
                    lines.withLock { $0 += new - (isFirst && acknowledgement == .protocol ? 1 : 0) }
                    guard new > 0, let answer = Self.answer(acknowledgement, isFirst, new, count) else { return }
                    let bytes = Array(answer.utf8)
                    _ = send(connection, bytes, bytes.count, CInt(MSG_NOSIGNAL))
                }
            }
        }
    }

    var count: Int { lines.withLock { $0 } }

    /// Waits until so many lines came; false when nothing moves for 20 s.
    func waitFor(_ target: Int) -> Bool {
        var last = -1
        var quiet = Stopwatch()
        while count < target {
            pause(milliseconds: 5)
            if count != last { quiet = Stopwatch() }
            last = count
            if quiet.seconds > 20 { return false }
        }
        return true
    }

    private static func answer(
        _ acknowledgement: StreamAcknowledgement,
        _ isFirst: Bool,
        _ new: Int,
        _ count: Int
    ) -> String? {
        switch acknowledgement {
        case .read: nil
        case .line: String(repeating: "ok\n", count: new)
        case .protocol: isFirst ? "{\"op\":\"hello\",\"v\":1}\n" : "{\"op\":\"ack\",\"n\":\(count - 1)}\n"
        }
    }

    private static func listen(_ path: String) -> CInt {
        let listener = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0, Glibc.listen(listener, 16) == 0 else { fail("cannot listen on \(path)") }
        return listener
    }
}

import BridgeTestSupport
import Foundation
import RoomsRuntime

/// A relay to a port of this machine that lets only so many bytes a second through to the client.
final class SlowLink: Sendable {
    private let server: RawServer

    var port: UInt16 { server.port }
    /// How many connections were made over it.
    var connections: Int { server.connections }

    init(to port: UInt16, bytesPerSecond: Int) throws {
        server = try RawServer { client in
            guard let upstream = Self.connect(port) else { return }
            client.shrinkBuffers()
            Thread.detachNewThread {
                while true {
                    let bytes = client.read()
                    if bytes.isEmpty || !upstream.write(bytes) { break }
                }
                upstream.shutdown()
            }
            Self.relay(from: upstream, to: client, bytesPerSecond)
            upstream.close()
        }
    }

    /// A tenth of a second's share at a time.
    private static func relay(from upstream: RawConnection, to client: RawConnection, _ bytesPerSecond: Int) {
        let clock = NSCondition()
        var due = Date()
        while true {
            let bytes = upstream.read(max(1, bytesPerSecond / 10))
            if bytes.isEmpty || !client.write(bytes) { return }
            due = max(due, Date()) + Double(bytes.count) / Double(bytesPerSecond)
            clock.withLock { while Date() < due { _ = clock.wait(until: due) } }
        }
    }

    private static func connect(_ port: UInt16) -> RawConnection? {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        // A small window, so that what the link does not carry waits at the server.
        var size: Int32 = 8_192
        setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else {
            Glibc.close(descriptor)
            return nil
        }
        return RawConnection(descriptor)
    }
}

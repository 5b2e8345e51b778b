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
            // A small window, so that what the link does not carry waits at the server.
            guard let upstream = RawConnection(to: port, window: 8_192) else { return }
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
}

import BridgeTestSupport
import Foundation
import RoomsRuntime

/// A Unix socket whose queue of connections is full until somebody accepts.
final class FullSocket: Sendable {
    private let listener: Int32
    private let filler: Int32

    init(path: String) throws {
        listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        filler = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
        let length = socklen_t(MemoryLayout<sockaddr_un>.size)
        let (listener, filler) = (listener, filler)
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(listener, address, length) | listen(listener, 0) | connect(filler, address, length)
            }
        }
        guard result == 0 else { throw POSIXError(.EADDRINUSE) }
    }

    /// Takes what waits and what comes, each connection on a thread of its own.
    func serve(_ serve: @escaping @Sendable (RawConnection) -> Void) {
        close(filler)
        Thread.detachNewThread { [listener] in
            while case let accepted = accept(listener, nil, nil), accepted >= 0 {
                Thread.detachNewThread {
                    let connection = RawConnection(accepted)
                    serve(connection)
                    connection.close()
                }
            }
            close(listener)
        }
    }

    func stop() { shutdown(listener, Int32(SHUT_RDWR)) }
}

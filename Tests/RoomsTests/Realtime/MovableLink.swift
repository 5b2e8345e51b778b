import BridgeTestSupport
import Foundation
import RoomsRuntime

/// A relay to a port of this machine that can be cut, and led to another port.
final class MovableLink: Sendable {
    private struct State: Sendable {
        var target: UInt16
        var isCut = false
        var isHeld = false
        var held = 0
        var connections: [RawConnection] = []
    }

    private let state: Lock<State>
    private let server: RawServer

    init(to port: UInt16) throws {
        let state = Lock(State(target: port))
        self.state = state
        server = try RawServer { client in
            guard let target = state.withLock({ $0.isCut ? nil : $0.target }),
                let upstream = RawConnection(to: target)
            else { return }
            let isOpen = state.withLock { state in
                guard !state.isCut else { return false }
                state.connections += [client, upstream]
                return true
            }
            let isDone = Gate()
            if isOpen {
                Thread.detachNewThread {
                    Self.relay(from: client, to: upstream) { _ in true }
                    isDone.open()
                }
                Self.relay(from: upstream, to: client) { count in
                    state.withLock { state in
                        if state.isHeld { state.held += count }
                        return !state.isHeld
                    }
                }
                isDone.wait()
            }
            upstream.close()
        }
    }

    deinit { cut() }

    /// Where clients connect.
    var port: UInt16 { server.port }
    /// How many connections were made over it.
    var connections: Int { server.connections }

    /// Ends every connection and takes none until `mend`.
    func cut() {
        let dropped = state.withLock { state in
            defer { state = State(target: state.target, isCut: true) }
            return state.connections
        }
        for connection in dropped { connection.shutdown() }
    }

    /// Takes connections again, from now on to another port if one is given.
    func mend(to port: UInt16? = nil) {
        state.withLock { state in
            state.isCut = false
            if let port { state.target = port }
        }
    }

    /// From now on, and until the next `cut`, clients hear nothing of what the server says.
    func hold() {
        state.withLock { $0.isHeld = true }
    }

    /// How many bytes they have not heard.
    var held: Int { state.withLock { $0.held } }

    private static func relay(from source: RawConnection, to sink: RawConnection, passes: (Int) -> Bool) {
        while true {
            let bytes = source.read()
            if bytes.isEmpty { break }
            if passes(bytes.count), !sink.write(bytes) { break }
        }
        source.shutdown()
        sink.shutdown()
    }
}

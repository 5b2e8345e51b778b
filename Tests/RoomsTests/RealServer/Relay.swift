import BridgeTestSupport
import Foundation
import RoomsRuntime

/// A link to a port of this machine that a test may cut, mend, and lead elsewhere.
final class Relay: Sendable {
    private struct Pair {
        let client: RawConnection
        let upstream: RawConnection
    }

    private struct State {
        var target: UInt16
        var isCut = false
        var pairs: [Int: Pair] = [:]
        var last = 0
    }

    private let state: Lock<State>
    private let server: RawServer

    var port: UInt16 { server.port }

    init(to port: UInt16) throws {
        let state = Lock(State(target: port))
        self.state = state
        server = try RawServer { client in
            guard let target = state.withLock({ $0.isCut ? nil : $0.target }),
                let upstream = RawConnection.connect(port: target)
            else { return }
            defer { upstream.close() }
            guard let number = Self.add(Pair(client: client, upstream: upstream), to: state) else { return }
            let isDone = Gate()
            Thread.detachNewThread {
                Self.pass(from: upstream, to: client)
                isDone.open()
            }
            Self.pass(from: client, to: upstream)
            isDone.wait()
            state.withLock { $0.pairs[number] = nil }
        }
    }

    deinit { cut() }

    private static func add(_ pair: Pair, to state: Lock<State>) -> Int? {
        state.withLock { state in
            guard !state.isCut else { return nil }
            state.last += 1
            state.pairs[state.last] = pair
            return state.last
        }
    }

    private static func pass(from source: RawConnection, to sink: RawConnection) {
        while true {
            let bytes = source.read()
            if bytes.isEmpty || !sink.write(bytes) { break }
        }
        source.shutdown()
        sink.shutdown()
    }

    /// Ends every connection and lets none through until `mend`.
    func cut() {
        state.withLock { state in
            state.isCut = true
            for pair in state.pairs.values {
                pair.client.shutdown()
                pair.upstream.shutdown()
            }
        }
    }

    /// Lets connections through, to another port from now on if one is given.
    func mend(to port: UInt16? = nil) {
        state.withLock { state in
            state.isCut = false
            if let port { state.target = port }
        }
    }
}

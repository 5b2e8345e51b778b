package import RoomsRuntime

/// An event loop that makes connections: over TCP, with TLS, through a proxy, or to a Unix socket.
///
/// Everything but `init` belongs to the loop's thread. The owner starts and stops `loop`.
package final class TransportLoop: Sendable {
    package let loop: EventLoop
    // Safety: made before the loop runs, and used only through `connect`, which traps off the loop.
    private nonisolated(unsafe) let multi: CurlMulti

    /// `name` is the thread's (at most 15 bytes).
    package convenience init(name: String) {
        self.init(loop: EventLoop(name: name))
    }

    package init(loop: EventLoop) {
        self.loop = loop
        multi = CurlMulti(loop: loop)
    }

    /// Begins a connection; `done` is called once on the loop, never before this returns, and not after a cancel.
    ///
    /// Whoever gets the stream must close it.
    @discardableResult
    package func connect(
        _ target: StreamTarget,
        timeout: Duration,
        _ done: @escaping (Result<Stream, TransportError>) -> Void
    ) -> PendingConnect {
        loop.preconditionOnLoop()
        do throws(TransportError) {
            try target.check()
        } catch {
            let timer = loop.schedule(after: .zero) { done(.failure(error)) }
            return PendingConnect(.failing(timer, loop))
        }
        return PendingConnect(.running(ConnectAttempt(multi, target, timeout: timeout, done)))
    }
}

/// A connection that is being made; lets go of it when told to.
package final class PendingConnect {
    enum Work {
        case running(ConnectAttempt)
        case failing(TimerID, EventLoop)
    }

    private let work: Work

    init(_ work: Work) {
        self.work = work
    }

    /// Nothing happens when it is done already.
    package func cancel() {
        switch work {
        case .running(let attempt): attempt.cancel()
        case .failing(let timer, let loop): loop.cancel(timer)
        }
    }
}

package import RoomsRuntime

/// An event loop that makes connections: over TCP, with TLS, through a proxy, or to a Unix socket.
///
/// Everything but `init` belongs to the loop's thread. The owner starts and stops `loop`.
package final class TransportLoop: Sendable {
    package let loop: EventLoop
    // Safety: made before the loop runs, and used only through `connect`, which traps off the loop.
    private nonisolated(unsafe) let multi: CurlMulti
    // Safety: made and used only in `transfer`, which traps off the loop.
    private nonisolated(unsafe) var transfers: CurlMulti?
    // Safety: written and read only by streams in a turn of the loop, which hand on what they read before they return.
    nonisolated(unsafe) let receiveBuffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 * 1024, alignment: 16)

    /// `name` is the thread's (at most 15 bytes).
    package convenience init(name: String) {
        self.init(loop: EventLoop(name: name))
    }

    package init(loop: EventLoop) {
        self.loop = loop
        multi = CurlMulti(loop: loop, keptConnections: 1_000_000)
    }

    deinit {
        receiveBuffer.deallocate()
    }

    /// Begins a connection; `done` is called once on the loop, never before this returns, and not after a cancel.
    ///
    /// Whoever gets the stream must close it.
    @discardableResult
    package func connect(
        _ target: StreamTarget,
        timeout: Duration,
        _ done: @escaping (Result<Stream, TransportError>) -> Void
    ) -> PendingWork {
        loop.preconditionOnLoop()
        do throws(TransportError) {
            try target.check()
            return PendingWork(.running(ConnectAttempt(multi, target, timeout: timeout, done)))
        } catch {
            return fail { done(.failure(error)) }
        }
    }

    /// Begins a request; `done` is called once on the loop, never before this returns, and not after a cancel.
    ///
    /// The connection stays open for a while, and the next request to the same server uses it again.
    @discardableResult
    package func transfer(
        _ request: TransferRequest,
        _ done: @escaping (Result<TransferAnswer, TransportError>) -> Void
    ) -> PendingWork {
        loop.preconditionOnLoop()
        let transfers = transfers ?? CurlMulti(loop: loop, keptConnections: 8)
        self.transfers = transfers
        do throws(TransportError) {
            return PendingWork(.running(try Transfer(transfers, request, done)))
        } catch {
            return fail { done(.failure(error)) }
        }
    }

    /// What cannot be tried is told later, as everything is.
    private func fail(_ done: @escaping () -> Void) -> PendingWork {
        PendingWork(.failing(loop.schedule(after: .zero, done), loop))
    }
}

/// A connection that is being made, or a request that is on its way; lets go of it when told to.
package final class PendingWork {
    enum Work {
        case running(any CurlWork)
        case failing(TimerID, EventLoop)
    }

    private let work: Work

    init(_ work: Work) {
        self.work = work
    }

    /// Nothing happens when it is done already.
    package func cancel() {
        switch work {
        case .running(let work): work.cancel()
        case .failing(let timer, let loop): loop.cancel(timer)
        }
    }
}

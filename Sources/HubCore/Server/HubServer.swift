package import LocalHTTP
package import RoomsRuntime

/// A small realtime server for development, tests and demos: rooms, a WebSocket for clients, an HTTP API for servers.
///
/// One thread, its event loop, owns everything. May be used from any thread.
package final class HubServer: Sendable {
    private let configuration: HubConfiguration
    private let logger: Logger
    private let loop = EventLoop(name: "hub-loop")
    private let hub: LoopBound<Hub>
    private let isStopped = Lock(false)
    private let boundFaults = Lock<ListenAddress?>(nil)

    package init(_ configuration: HubConfiguration, logger: Logger) {
        self.configuration = configuration
        self.logger = logger
        hub = LoopBound(Hub(configuration, loop: loop, logger: logger), on: loop)
    }

    /// Where faults are asked for, once it has started; nil: nowhere.
    package var faultAddress: ListenAddress? { boundFaults.withLock { $0 } }

    /// Listens on every address of the configuration; their ports, in its order.
    package func start() throws -> [UInt16] {
        var listeners: [Listener] = []
        var faults: Listener?
        do {
            faults = try configuration.faults.map { address throws(ListenError) in try Listener(address) }
            for address in configuration.listen { listeners.append(try Listener(address)) }
        } catch {
            for listener in listeners { listener.close() }
            faults?.close()
            throw error
        }
        boundFaults.withLock { [faults] in $0 = faults.map { $0.address.at(port: $0.port) } }
        let ready = (listeners, faults)
        let hub = hub
        loop.post { hub.value.start(ready.0, faults: ready.1) }
        loop.start()
        return listeners.map(\.port)
    }

    /// Closes all connections with 3001 and returns when the thread has ended.
    ///
    /// Does nothing the second time.
    package func stop() {
        let isFirst = isStopped.withLock { isStopped in
            defer { isStopped = true }
            return !isStopped
        }
        guard isFirst else { return }
        let (hub, loop) = (hub, loop)
        loop.post { hub.value.stop { loop.stop() } }
        loop.join()
    }
}

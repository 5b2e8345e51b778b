package import RoomsRuntime
package import RoomsTransport
internal import RoomsWire

/// Where a connection leads and how it behaves.
package struct ConnectionOptions: Sendable {
    package var url: ServerURL
    package var policy: ConnectionPolicy
    /// TLS, proxy, headers, limits; the subprotocol is set by the connection.
    package var webSocket: WebSocketOptions
    /// Asked before each connection, where certificates may change.
    package var currentTLS: (@Sendable () -> TLSSettings)?
    /// For histories that clients may not read.
    package var history: HistoryAPI?

    package init(
        url: ServerURL,
        policy: ConnectionPolicy = ConnectionPolicy(),
        webSocket: WebSocketOptions = WebSocketOptions(),
        currentTLS: (@Sendable () -> TLSSettings)? = nil,
        history: HistoryAPI? = nil
    ) {
        self.url = url
        self.policy = policy
        self.webSocket = webSocket
        self.currentTLS = currentTLS
        self.history = history
    }
}

/// One connection to a server: keeps its rooms joined and hands their events to the sink, for ever, until stopped.
///
/// Its methods may be called on any thread; the sink is called on the loop of `transport`. The caller keeps it alive.
package final class RoomsConnection: Sendable {
    private let driver: LoopBound<ConnectionDriver>

    package init(
        transport: TransportLoop,
        options: ConnectionOptions,
        rooms: [RoomSpecification],
        sink: any EventSink,
        logger: Logger
    ) {
        driver = LoopBound(
            ConnectionDriver(transport: transport, options: options, rooms: rooms, logger: logger) { sink.take($0) },
            on: transport.loop
        )
    }

    package func start() {
        driver.loop.post { [driver] in driver.value.start() }
    }

    /// The sink can take more again; without effect while intake is open.
    package func resumeIntake() {
        driver.loop.post { [driver] in driver.value.resumeIntake() }
    }

    /// Leaves a room for now, or joins it again behind what was heard of it; `room` as in `SinkItem`.
    package func rest(_ room: Int, _ isResting: Bool) {
        driver.loop.post { [driver] in driver.value.rest(room, isResting) }
    }

    /// Closes cleanly; `done` is called on the loop once the server has answered, after a second at the latest.
    package func stop(_ done: @escaping @Sendable () -> Void) {
        driver.loop.post { [driver] in driver.value.stop(done) }
    }

    /// Hands what was counted so far to `done`, on the loop.
    package func readTally(_ done: @escaping @Sendable (Tally) -> Void) {
        driver.loop.post { [driver] in done(driver.value.tally) }
    }
}

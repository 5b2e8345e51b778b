package import BridgeModel
package import RoomsRuntime
package import RoomsTransport

/// Brings committed records to the endpoints: at least once, in order in each room, trying for ever.
///
/// All of it happens on the transport's loop. What is submitted and what the store answers come through one inbox, so
/// their order is the store's: that is how a lane knows whether it has seen everything below a fresh record.
package final class Dispatcher: Sendable {
    private let transport: TransportLoop
    private let inbox: Inbox<DispatcherCore.Message>
    private let core: LoopBound<DispatcherCore>

    /// `holds` are parallel to `endpoints`.
    ///
    /// The loop may run already or be started later.
    package init(
        transport: TransportLoop,
        storeID: ByteString,
        endpoints: [EndpointSettings],
        holds: [StoredHold?] = [],
        lanes: [LaneState],
        ports: DeliveryPorts,
        logger: Logger
    ) {
        let loop = transport.loop
        let inbox = Inbox<DispatcherCore.Message>(limit: Self.inboxLimit) { loop.wake() }
        self.transport = transport
        self.inbox = inbox
        let core = DispatcherCore(
            transport: transport,
            storeID: storeID,
            endpoints: endpoints,
            inbox: inbox,
            ports: ports,
            logger: logger
        )
        for lane in lanes { core.restore(lane) }
        for (endpoint, hold) in zip(endpoints, holds) {
            if let hold { core.restore(hold, of: endpoint.id) }
        }
        self.core = LoopBound(core, on: loop)
    }

    /// Records wait here only while the loop is busy.
    ///
    /// Above this they are announced without their bodies, which the store gives back later.
    private static let inboxLimit = 16 * 1024 * 1024

    package func start() {
        transport.loop.post { [core] in core.value.start() }
    }

    /// Takes records in the order of their commit, from any thread.
    package func submit(_ deliveries: [PendingDelivery]) {
        guard !deliveries.isEmpty else { return }
        let bytes = deliveries.reduce(0) { $0 + $1.bytes }
        if inbox.offer(.fresh(deliveries), bytes: bytes) { return }
        let notes = deliveries.map { DispatcherCore.Note(row: $0.row, lane: $0.lane, room: $0.room) }
        inbox.put(.noted(notes))
    }

    /// Takes gaps of lanes that lost everything up to their rows, in order with what is submitted; from any thread.
    package func lose(_ gaps: [PendingDelivery]) {
        if !gaps.isEmpty { inbox.put(.lost(gaps)) }
    }

    /// Takes dead letters that are to be sent again; from any thread.
    package func retry(_ letters: [PendingDelivery]) {
        if !letters.isEmpty { inbox.put(.retried(letters)) }
    }

    /// What begins from now on is sent with these; from any thread.
    package func renew(_ credentials: EndpointCredentials, of endpoint: EndpointID) {
        transport.loop.post { [core] in core.value.renew(credentials, of: endpoint) }
    }

    /// The dead letters of the endpoint have a place again; from any thread.
    package func placeCame(_ endpoint: EndpointID) {
        inbox.put(.freed(endpoint))
    }

    /// How the endpoints are doing; `done` runs on the loop, unless it stops before.
    package func status(_ done: @escaping @Sendable ([EndpointStatus]) -> Void) {
        transport.loop.post { [core] in done(core.value.status) }
    }

    /// Begins no new attempts, waits for those on their way, then calls `done` on the loop; at the latest after `limit`.
    package func drain(within limit: Duration, _ done: @escaping @Sendable () -> Void) {
        transport.loop.post { [core] in core.value.drain(within: limit, done) }
    }
}

internal import BridgeModel
internal import RoomsRuntime
internal import RoomsTransport

/// The part of the dispatcher that lives on the loop: endpoints, and the settlements of the present turn.
final class DispatcherCore {
    enum Message: Sendable {
        case fresh([PendingDelivery])
        case noted([Note])
        case lost([PendingDelivery])
        case retried([PendingDelivery])
        case freed(EndpointID)
        case refilled(RefillResult)
    }

    /// A record that was committed, without its body.
    struct Note: Sendable {
        var row: RowID
        var lane: Lane
        var room: RoomKey
    }

    private let transport: TransportLoop
    private let inbox: Inbox<Message>
    private let ports: DeliveryPorts
    private let logger: Logger
    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 * 1024, alignment: 16)
    private var endpoints: [Endpoint] = []
    private var index: [EndpointID: Int] = [:]
    private var batch: [Message] = []
    private var settlements: [Settlement] = []
    private var strangers = 0
    /// Who waits for the end of the drain.
    private var drained: [@Sendable () -> Void] = []

    init(
        transport: TransportLoop,
        storeID: ByteString,
        endpoints: [EndpointSettings],
        inbox: Inbox<Message>,
        ports: DeliveryPorts,
        logger: Logger
    ) {
        self.transport = transport
        self.inbox = inbox
        self.ports = ports
        self.logger = logger
        for settings in endpoints {
            index[settings.id] = self.endpoints.count
            self.endpoints.append(
                Endpoint(
                    settings,
                    transport: transport,
                    storeID: storeID,
                    buffer: buffer,
                    logger: logger,
                    settled: { [unowned self] in settlements.append($0) },
                    held: { ports.hold(HoldScope(endpoint: settings.id, room: $0), $1) },
                    hasPlaceForDeadLetter: { ports.hasPlaceForDeadLetter(settings.id) },
                    refill: { request in ports.refill(request) { inbox.put(.refilled($0)) } }
                )
            )
        }
    }

    deinit { buffer.deallocate() }

    /// Before `start`.
    func restore(_ state: LaneState) {
        guard let place = index[state.lane.endpoint] else { return }
        let now = transport.loop.now
        endpoints[place].update { $0.restore(state, now, wall: SystemClock.wallMilliseconds) }
    }

    /// Before `start`: what the endpoint waited for when the last process ended.
    func restore(_ hold: StoredHold, of endpoint: EndpointID) {
        guard let place = index[endpoint] else { return }
        let now = transport.loop.now
        endpoints[place].update { $0.restore(hold, now, wall: SystemClock.wallMilliseconds) }
    }

    func start() {
        transport.loop.onWake { [weak self] in self?.takeInbox() }
        transport.loop.onTurnEnd { [weak self] in self?.handOn() }
        takeInbox()
        for endpoint in endpoints { endpoint.pump() }
    }

    func drain(within limit: Duration, _ done: @escaping @Sendable () -> Void) {
        for endpoint in endpoints { endpoint.update { $0.drain() } }
        drained.append(done)
        transport.loop.schedule(after: limit) { [weak self] in self?.finishDrain() }
    }

    func renew(_ credentials: EndpointCredentials, of endpoint: EndpointID) {
        guard let place = index[endpoint] else { return }
        endpoints[place].renew(credentials)
    }

    var status: [EndpointStatus] { endpoints.map(\.status) }

    private func takeInbox() {
        inbox.drain(into: &batch)
        guard !batch.isEmpty else { return }
        for message in batch {
            switch message {
            case .fresh(let deliveries): admit(deliveries)
            case .noted(let notes): note(notes)
            case .lost(let gaps): each(gaps) { $0.lose($1) }
            case .retried(let letters): each(letters) { $0.retry($1) }
            case .freed(let endpoint):
                guard let place = index[endpoint] else { continue }
                endpoints[place].update { $0.placeCame(transport.loop.now) }
            case .refilled(let result): refilled(result)
            }
        }
        batch.removeAll(keepingCapacity: true)
        for endpoint in endpoints { endpoint.pump() }
    }

    private func admit(_ deliveries: [PendingDelivery]) {
        for delivery in deliveries {
            if let place = index[delivery.lane.endpoint] {
                endpoints[place].update { $0.admit(delivery) }
            } else {
                meetStranger()
            }
        }
    }

    private func each(_ deliveries: [PendingDelivery], _ change: (inout EndpointStateMachine, PendingDelivery) -> Void)
    {
        for delivery in deliveries {
            if let place = index[delivery.lane.endpoint] {
                endpoints[place].update { change(&$0, delivery) }
            } else {
                meetStranger()
            }
        }
    }

    private func note(_ notes: [Note]) {
        for note in notes {
            if let place = index[note.lane.endpoint] {
                endpoints[place].update { $0.note(note.row, of: note.lane, note.room) }
            } else {
                meetStranger()
            }
        }
    }

    private func refilled(_ result: RefillResult) {
        guard let place = index[result.endpoint] else { return meetStranger() }
        endpoints[place].update { $0.refilled(result) }
    }

    /// The store keeps what is for an endpoint that is not configured; here it is only worth a line.
    private func meetStranger() {
        if strangers == 0 { logger.warning("events wait for an endpoint that is not configured") }
        strangers += 1
    }

    /// What the turn gathered goes to the store in one piece.
    private func handOn() {
        if !settlements.isEmpty {
            ports.settle(settlements)
            settlements.removeAll(keepingCapacity: true)
        }
        if !drained.isEmpty, endpoints.allSatisfy({ $0.machine.inFlight == 0 }) { finishDrain() }
    }

    private func finishDrain() {
        guard !drained.isEmpty else { return }
        for endpoint in endpoints { endpoint.close() }
        if !settlements.isEmpty {
            ports.settle(settlements)
            settlements.removeAll(keepingCapacity: true)
        }
        let waiting = drained
        drained = []
        for done in waiting { done() }
    }
}

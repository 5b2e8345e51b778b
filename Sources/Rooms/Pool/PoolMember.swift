internal import RoomsRuntime
internal import RoomsTransport

/// One connection of a pool, and which of the pool's rooms it holds under which number.
final class PoolMember {
    let number: Int
    let driver: ConnectionDriver
    private(set) var rooms: [Int: Int] = [:]
    private var knownLimit: Int?
    /// On their way to another connection.
    private var refused: Set<Int> = []

    init(
        transport: TransportLoop,
        options: ConnectionOptions,
        number: Int,
        logger: Logger,
        take: @escaping ([SinkItem]) -> Intake
    ) {
        self.number = number
        driver = ConnectionDriver(transport: transport, options: options, rooms: [], logger: logger, take: take)
    }

    var count: Int { rooms.count }

    func limit(_ usual: Int) -> Int { min(usual, knownLimit ?? usual) }

    /// The server has no place for the room here; false when it had none at all.
    func refuse(_ local: Int) -> Bool {
        refused.insert(local)
        let held = rooms.count - refused.count
        knownLimit = max(1, min(held, knownLimit ?? held))
        return held > 0
    }

    /// Gives the connection's own number for it.
    func add(_ specification: RoomSpecification, as room: Int) -> Int {
        let local = driver.add(specification)
        rooms[local] = room
        return local
    }

    func remove(_ local: Int) {
        rooms[local] = nil
        refused.remove(local)
        driver.remove(local)
    }
}

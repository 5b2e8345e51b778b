internal import BridgeDelivery
internal import BridgeModel
internal import BridgeStore
internal import Rooms
internal import RoomsRuntime

/// How the whole service is doing at one moment.
struct ServiceStatus {
    struct Server {
        var name: ByteString
        var url: String
        var intake: EventIntake.Report
    }

    var isStopping = false
    /// Milliseconds since 1970.
    var startedAt: Int64
    var now: Int64
    var servers: [Server]
    var store: StoreStatus
    var endpoints: [EndpointStatus]
    /// Threads that did not say anything in time: what is told of them is older.
    var silent: [String] = []

    /// The line of `systemctl status`: is it connected, what waits, who holds.
    var line: String {
        let joined = servers.reduce(0) { $0 + $1.intake.joined }
        let rooms = servers.reduce(0) { $0 + $1.intake.rooms }
        var parts = ["\(joined) of \(rooms) rooms joined"]
        for server in servers where server.intake.connection != .connected {
            parts.append("no connection to \(server.name)")
        }
        let count = store.waitingRows
        parts.append(count == 0 ? "nothing waits" : count == 1 ? "1 event waits" : "\(count) events wait")
        let holding = endpoints.filter { $0.hold != nil }.map(\.name.description)
        if !holding.isEmpty {
            let names = holding.prefix(3).joined(separator: ", ") + (holding.count > 3 ? ", ..." : "")
            parts.append(holding.count == 1 ? "endpoint \(names) holds" : "\(holding.count) endpoints hold: \(names)")
        }
        if store.isDiskFull { parts.append("the disk is full") }
        if store.isBufferFull { parts.append("the buffer is full") }
        return parts.joined(separator: ", ")
    }
}

/// Which endpoints have held for so long that somebody should look, each told once.
struct LongHolds {
    /// Milliseconds.
    static let limit: Int64 = 600_000

    private var reported: Set<ByteString> = []

    /// Those that are to be told now.
    mutating func update(_ endpoints: [EndpointStatus], now: Int64) -> [EndpointStatus] {
        reported.formIntersection(endpoints.filter { $0.hold != nil }.map(\.name))
        return endpoints.filter { endpoint in
            guard let hold = endpoint.hold, now - hold.since >= Self.limit else { return false }
            return reported.insert(endpoint.name).inserted
        }
    }
}

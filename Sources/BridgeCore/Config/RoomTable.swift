internal import BridgeModel
internal import RoomsRuntime
internal import RoomsWire

/// Gathers the rooms of all entries and finds what does not fit together.
struct RoomTable {
    /// An entry of `rooms` without the names of its rooms.
    struct Entry {
        var server: Int
        /// Nil: the entry does not say.
        var start: RoomConfiguration.Start?
        var events: [EventFilter]?
        var notices: Set<RoomNotice.Kind> = []
        /// Indices into the endpoints, and where they stand.
        var endpoints: [(index: Int, value: ConfigurationValue)]
        var value: ConfigurationValue
    }

    private struct Key: Hashable {
        var server: Int
        var name: ByteString
    }

    let servers: [ByteString]
    let endpoints: [ByteString]
    let problems: ConfigurationProblems
    private(set) var rooms: [RoomConfiguration] = []
    private var indices: [Key: Int] = [:]
    /// Parallel to `rooms`: what the entries said of the start.
    private var starts: [RoomConfiguration.Start?] = []
    private var counts: [Int]

    init(servers: [ByteString], endpoints: [ByteString], problems: ConfigurationProblems) {
        self.servers = servers
        self.endpoints = endpoints
        self.problems = problems
        counts = servers.map { _ in 0 }
    }

    /// Adds a room of an entry; `reject` reports at the place of its name.
    mutating func add(_ name: ByteString, of entry: Entry, reject: (String) -> Void) {
        let rule = RoomConfiguration.Rule(
            events: entry.events,
            notices: entry.notices,
            endpoints: entry.endpoints.map(\.index)
        )
        let key = Key(server: entry.server, name: name)
        guard let index = indices[key] else {
            indices[key] = rooms.count
            starts.append(entry.start)
            rooms.append(
                RoomConfiguration(server: entry.server, name: name, start: entry.start ?? .now, rules: [rule])
            )
            counts[entry.server] += 1
            if counts[entry.server] == BridgeConfiguration.roomsPerServer + 1 {
                reject(
                    "is room \(counts[entry.server]) of server \"\(servers[entry.server])\", must be at most "
                        + "\(BridgeConfiguration.roomsPerServer) in this version of RoomBridge"
                )
            }
            return
        }
        for endpoint in entry.endpoints
        where rooms[index].rules.contains(where: { $0.endpoints.contains(endpoint.index) }) {
            reject(
                "room \"\(name)\" goes to endpoint \"\(endpoints[endpoint.index])\" already, "
                    + "must be named once for it (one entry can list all its events)"
            )
        }
        if let start = entry.start {
            if let other = starts[index], other != start {
                reject("room \"\(name)\" begins \"\(other)\" in another entry, must have the same \"from\" in both")
            }
            starts[index] = start
            rooms[index].start = start
        }
        rooms[index].rules.append(rule)
    }
}

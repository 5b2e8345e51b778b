internal import BridgeModel
internal import RoomsRuntime

/// Which endpoints an event of each room goes to, as numbers of a few distinct sets.
///
/// An event of a name that no filter matches has no route. How many sets there can be is bounded by the filters: what
/// matches a name is decided by the longest filter that does.
struct RoutePlan {
    /// Distinct, sorted sets of indices into the endpoints; never empty ones.
    private(set) var routes: [[Int]] = []
    /// Parallel to the rooms that the plan was made for.
    private(set) var rooms: [RoomRoutes] = []
    private var indices: [[Int]: Int] = [:]

    init(_ rooms: [RoomConfiguration]) {
        for room in rooms { self.rooms.append(plan(room)) }
    }

    /// All that get anything of a room.
    func endpoints(of room: Int) -> [Int] {
        rooms[room].all.map { routes[$0] } ?? []
    }

    private mutating func plan(_ room: RoomConfiguration) -> RoomRoutes {
        var routes = RoomRoutes(all: route(room.rules), otherwise: route(room.rules.filter { $0.events == nil }))
        for filter in Set(room.rules.flatMap { $0.events ?? [] }) {
            let matching = room.rules.filter { rule in rule.events?.contains { $0.covers(filter) } ?? true }
            switch filter {
            case .exact(let name): routes.exact[name] = .some(route(matching))
            case .prefix(let prefix): routes.prefixes.append((prefix, route(matching)))
            }
        }
        routes.prefixes.sort { $0.prefix.count > $1.prefix.count }
        for kind in RoomNotice.Kind.allCases {
            routes.notices[kind] = route(room.rules.filter { $0.notices.contains(kind) })
        }
        return routes
    }

    private mutating func route(_ rules: [RoomConfiguration.Rule]) -> Int? {
        let endpoints = Set(rules.flatMap(\.endpoints)).sorted()
        if endpoints.isEmpty { return nil }
        if let index = indices[endpoints] { return index }
        indices[endpoints] = routes.count
        routes.append(endpoints)
        return routes.count - 1
    }
}

/// The routes of one room; each is an index into `RoutePlan.routes`, nil is nowhere.
struct RoomRoutes: Sendable {
    /// Every endpoint that gets anything of the room: where its gaps go.
    let all: Int?
    /// Of events that no filter names.
    let otherwise: Int?
    fileprivate(set) var exact: [ByteString: Int?] = [:]
    /// The longest first.
    fileprivate(set) var prefixes: [(prefix: ByteString, route: Int?)] = []
    /// Of the kinds that anybody asks for.
    fileprivate(set) var notices: [RoomNotice.Kind: Int] = [:]

    fileprivate init(all: Int?, otherwise: Int?) {
        self.all = all
        self.otherwise = otherwise
    }

    /// Anybody wants to know who comes and goes, or how many are there.
    var hearsMembers: Bool { notices[.member] != nil || notices[.count] != nil }

    func route(of event: ByteString) -> Int? {
        if let route = exact[event] { return route }
        return prefixes.first { event.hasPrefix($0.prefix) }.map(\.route) ?? otherwise
    }
}

extension EventFilter {
    /// Whether this filter matches every name that `other` does.
    fileprivate func covers(_ other: EventFilter) -> Bool {
        switch (self, other) {
        case (.exact(let name), .exact(let wanted)): name == wanted
        case (.prefix(let prefix), .exact(let name)), (.prefix(let prefix), .prefix(let name)): name.hasPrefix(prefix)
        case (.exact, .prefix): false
        }
    }
}

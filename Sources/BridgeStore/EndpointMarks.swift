internal import BridgeModel

/// Which endpoints hold so much of the buffer that their rooms are left until they have accepted some of it.
///
/// W is what waits, each row once, and H what one endpoint has not settled. It is over while H > 0.8 × (size − W + H), until
/// H < 0.6 × (size − W + H). So one that is down holds at most 0.8 of the buffer, the next one 0.8 of the rest, and one
/// that keeps up is never over.
struct EndpointMarks {
    let size: Int64
    private(set) var over: Set<EndpointID> = []
    /// What those that are over hold.
    private(set) var overBytes: Int64 = 0

    struct Change: Equatable {
        var endpoint: EndpointID
        var isOver: Bool
        /// What it has not settled.
        var held: Int64
    }

    init(size: Int) {
        self.size = Int64(size)
    }

    /// What changes with these sums, in the order of the endpoints.
    mutating func update(waiting: Int64, held: [EndpointID: Int64]) -> [Change] {
        let free = max(0, size - waiting)
        var changes: [Change] = []
        for (endpoint, bytes) in held {
            let isOver = over.contains(endpoint) ? stays(bytes, free) : goes(bytes, free)
            guard isOver != over.contains(endpoint) else { continue }
            if isOver { over.insert(endpoint) } else { over.remove(endpoint) }
            changes.append(Change(endpoint: endpoint, isOver: isOver, held: bytes))
        }
        overBytes = over.reduce(0) { $0 + held[$1, default: 0] }
        return changes.sorted { $0.endpoint < $1.endpoint }
    }

    /// With the rest of the buffer taken even what is just passing through would be too much: then it is for those
    /// who hold a good part of it.
    ///
    /// Whether an endpoint that is not over would be.
    func isOver(_ held: Int64, waiting: Int64) -> Bool {
        goes(held, max(0, size - waiting))
    }

    /// Not yet so far below the mark that it is worth while to have gone there.
    func isFar(_ held: Int64, waiting: Int64) -> Bool {
        Double(held) > 0.78 * Double(max(0, size - waiting) + held)
    }

    private func goes(_ held: Int64, _ free: Int64) -> Bool {
        free > 0 ? Double(held) > 0.8 * Double(free + held) : held > size / 20
    }

    private func stays(_ held: Int64, _ free: Int64) -> Bool {
        held > 0 && Double(held) >= 0.6 * Double(free + held)
    }
}

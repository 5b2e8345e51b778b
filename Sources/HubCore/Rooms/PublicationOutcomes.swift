internal import RoomsRuntime
internal import RoomsWire

/// What came of publications that carry a key, for five minutes: a second one with the same key is not published.
struct PublicationOutcomes {
    private static let keep = Duration.seconds(300)

    private struct Key: Hashable {
        var room: ByteString
        var key: ByteString
    }

    private struct Outcome {
        /// Nil where the room keeps nothing.
        var position: StreamPosition?
        var deadline: Instant
    }

    private var outcomes: [Key: Outcome] = [:]
    /// In the order in which their time comes; what stands before `next` has been looked at.
    private var order: [(key: Key, deadline: Instant)] = []
    private var next = 0

    var count: Int { outcomes.count }

    /// Nil when nothing of that key was published in time.
    func position(of key: ByteString, in room: ByteString, at now: Instant) -> StreamPosition?? {
        guard let outcome = outcomes[Key(room: room, key: key)], outcome.deadline > now else { return nil }
        return .some(outcome.position)
    }

    mutating func add(_ position: StreamPosition?, of key: ByteString, in room: ByteString, at now: Instant) {
        let key = Key(room: room, key: key)
        let deadline = now + Self.keep
        outcomes[key] = Outcome(position: position, deadline: deadline)
        order.append((key, deadline))
    }

    /// Forgets those whose time has come; how many.
    mutating func expire(at now: Instant) -> Int {
        let start = next
        while next < order.count, order[next].deadline <= now {
            let key = order[next].key
            // It may have been published once more after its time.
            if let outcome = outcomes[key], outcome.deadline <= now { outcomes[key] = nil }
            next += 1
        }
        let forgotten = next - start
        if next > order.count / 2 {
            order.removeSubrange(..<next)
            next = 0
        }
        return forgotten
    }
}

internal import RoomsRuntime
internal import RoomsWire

/// Live events that wait while older ones are fetched: what is behind `target`, without holes.
///
/// When it is full it is emptied and the target moves up: history brings what was let go.
struct LiveBuffer {
    /// Fetch up to here.
    private(set) var target: UInt64 = 0
    private var waiting: [Publication] = []
    private var bytes = 0
    private var last: UInt64 = 0

    init() {}

    init(target: UInt64) {
        self.target = target
        last = target
    }

    enum Outcome: Equatable {
        case kept
        case duplicate
        /// This many were let go.
        case moved(Int)
    }

    mutating func add(_ publication: Publication, limit: Int) -> Outcome {
        guard publication.offset > last else { return .duplicate }
        let size = publication.weight
        if publication.offset == last + 1, bytes + size <= limit {
            waiting.append(publication)
            bytes += size
            last = publication.offset
            return .kept
        }
        let count = waiting.count + 1
        self = LiveBuffer(target: publication.offset)
        return .moved(count)
    }

    /// Everything behind the target, in order.
    mutating func take() -> [Publication] {
        defer { self = LiveBuffer(target: last) }
        return waiting
    }
}

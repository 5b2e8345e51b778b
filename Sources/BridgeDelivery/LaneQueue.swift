internal import BridgeModel
internal import RoomsRuntime

/// What one room has for one endpoint: the records in memory, and how far the store has more.
struct LaneQueue {
    enum Phase {
        /// Nothing in memory.
        case idle
        /// In the ready queue.
        case ready
        /// One attempt is on its way.
        case inFlight
        /// The head was refused and waits for its next attempt.
        case waiting
    }

    /// Failed attempts in a row.
    struct Hold {
        var failures: Int
        var since: Instant
        /// Whether its beginning was reported, so that its end is, too.
        var isReported: Bool
    }

    let lane: Lane
    let room: RoomKey
    var phase = Phase.idle
    /// The head stays here until it is settled.
    private(set) var records = RingBuffer<PendingDelivery>()
    private(set) var bytes = 0
    /// The last seq that the endpoint accepted.
    private(set) var acknowledged: Int64
    /// The first row that has not been here.
    var cursor: RowID
    /// The last row that there is.
    var tail: RowID
    /// Attempts made for the head.
    var attempts = 0
    var hold: Hold?
    /// In the queue of those that want more from the store.
    var isWanting = false
    /// An answer of the store is on its way.
    var isAsking = false

    init(lane: Lane, room: RoomKey) {
        self.lane = lane
        self.room = room
        acknowledged = 0
        cursor = RowID(0)
        tail = RowID(-1)
    }

    init(_ state: LaneState) {
        lane = state.lane
        room = state.room
        acknowledged = state.acknowledged
        cursor = state.next
        tail = state.tail
    }

    /// The store has rows that have not been here: a fresh one must wait behind them.
    var isBehind: Bool { cursor <= tail }

    mutating func append(_ delivery: PendingDelivery) {
        cursor = RowID(delivery.row.rawValue + 1)
        tail = max(tail, delivery.row)
        bytes += delivery.bytes
        records.append(delivery)
    }

    /// Takes the head, which was accepted.
    mutating func settle() -> Settlement? {
        guard let head = records.popFirst() else { return nil }
        bytes -= head.bytes
        acknowledged = head.seq
        attempts = 0
        return Settlement(lane: lane, row: head.row, seq: head.seq)
    }

    /// Forgets all but the head: the store has the others.
    ///
    /// An answer of the store that is on its way no longer fits and is dropped when it comes.
    mutating func trim() {
        guard records.count > 1, let head = records.first else { return }
        records.keepFirst()
        bytes = head.bytes
        cursor = RowID(head.row.rawValue + 1)
        isAsking = false
    }
}

import BridgeDelivery
import BridgeModel
import RoomsRuntime

/// Keeps what was committed and what was settled, and answers refills as the real store does: one forward pass.
final class MemoryStore: Sendable {
    struct State: Sendable {
        var rows: [PendingDelivery] = []
        var settled: [Lane: RowID] = [:]
        var settlements: [Settlement] = []
        var settleCalls = 0
        var refills = 0
        var holds: [HoldScope: StoredHold] = [:]
        /// How often an endpoint began to wait, or to wait anew.
        var waits = 0
        var nextRow: Int64 = 1
        var nextSeq: [RoomID: Int64] = [:]
    }

    let state = Lock(State())

    /// Commits one event and hands it on while the lock is held: what is submitted stays in order with the refills.
    func commit(
        room: Int64,
        endpoint: EndpointID = Sample.endpoint,
        _ event: EventRecord = Sample.event(),
        to submit: ([PendingDelivery]) -> Void = { _ in }
    ) {
        state.withLock { state in
            let id = RoomID(room)
            let seq = state.nextSeq[id, default: 1]
            state.nextSeq[id] = seq + 1
            let event = event.offset == 0 ? event : event.moved(to: UInt64(seq))
            let delivery = PendingDelivery(
                row: RowID(state.nextRow),
                lane: Lane(endpoint: endpoint, room: id),
                room: RoomKey(server: "main", room: ByteString("room:\(room)")),
                seq: seq,
                body: .event(event)
            )
            state.nextRow += 1
            state.rows.append(delivery)
            submit([delivery])
        }
    }

    var ports: DeliveryPorts {
        DeliveryPorts(
            settle: { self.settle($0) },
            refill: { self.refill($0, $1) },
            hold: { scope, hold in
                self.state.withLock { state in
                    state.holds[scope] = hold
                    if hold != nil { state.waits += 1 }
                }
            },
            hasPlaceForDeadLetter: { _ in true }
        )
    }

    func settle(_ settlements: [Settlement]) {
        state.withLock { state in
            state.settleCalls += 1
            state.settlements += settlements
            for settlement in settlements {
                state.settled[settlement.lane] = max(state.settled[settlement.lane] ?? RowID(0), settlement.row)
            }
        }
    }

    func refill(_ request: RefillRequest, _ done: (RefillResult) -> Void) {
        state.withLock { state in
            state.refills += 1
            done(Self.answer(request, state))
        }
    }

    /// What a new process would be given at start.
    func lanes() -> [LaneState] {
        state.withLock { state in
            var lanes: [Lane: LaneState] = [:]
            for row in state.rows {
                var lane =
                    lanes[row.lane]
                    ?? LaneState(
                        lane: row.lane,
                        room: row.room,
                        acknowledged: 0,
                        next: RowID((state.settled[row.lane]?.rawValue ?? 0) + 1),
                        tail: RowID(0),
                        waitingRows: 0,
                        waitingBytes: 0
                    )
                if row.row < lane.next {
                    lane.acknowledged = row.seq
                } else {
                    lane.waitingRows += 1
                    lane.waitingBytes += Int64(row.bytes)
                }
                lane.tail = row.row
                lanes[row.lane] = lane
            }
            for (lane, _) in lanes {
                lanes[lane]?.hold = state.holds[HoldScope(endpoint: lane.endpoint, room: lane.room)]
            }
            return lanes.values.sorted { $0.lane.room < $1.lane.room }
        }
    }

    static func answer(_ request: RefillRequest, _ state: State) -> RefillResult {
        var next = request.wishes
        var given = [Int](repeating: 0, count: next.count)
        var isFull = [Bool](repeating: false, count: next.count)
        var deliveries: [PendingDelivery] = []
        var bytes = 0
        let places = Dictionary(request.wishes.indices.map { (request.wishes[$0].room, $0) }) { first, _ in first }
        let last = state.rows.last?.row ?? RowID(0)
        var stop = RowID(last.rawValue + 1)
        for row in state.rows where row.lane.endpoint == request.endpoint {
            guard let place = places[row.lane.room], !isFull[place],
                row.row >= request.wishes[place].from
            else { continue }
            if !deliveries.isEmpty, deliveries.count >= request.maxRows || bytes + row.bytes > request.maxBytes {
                stop = row.row
                break
            }
            if given[place] >= request.maxRowsPerLane {
                isFull[place] = true
                next[place].from = row.row
                continue
            }
            given[place] += 1
            bytes += row.bytes
            deliveries.append(row)
        }
        for place in next.indices where !isFull[place] { next[place].from = max(next[place].from, stop) }
        return RefillResult(endpoint: request.endpoint, deliveries: deliveries, next: next, lastCommitted: last)
    }
}

import BridgeModel
import BridgeSQLite
import RoomsRuntime

@testable import BridgeStore

/// All that a store must hold, in a form that two of them can be compared by.
struct StoreImage: Equatable, CustomStringConvertible {
    var rooms: [String] = []
    var lanes: [String] = []
    var rows: [String] = []
    var sums: String = ""

    var description: String { (rooms + lanes + rows + [sums]).joined(separator: "\n") }

    static func room(_ key: RoomKey, _ position: Position?, seq: Int64) -> String {
        let place = position.map { "\($0.epoch):\($0.offset):\($0.incarnation)" } ?? "nowhere"
        return "room \(key.room) at \(place) seq \(seq)"
    }

    static func lane(_ endpoint: ByteString, _ room: ByteString, _ numbers: [Int64]) -> String {
        "lane \(endpoint) \(room) " + numbers.map { "\($0)" }.joined(separator: " ")
    }

    static func row(_ id: Int64, _ room: ByteString, seq: Int64, size: Int64) -> String {
        "row \(id) of \(room) seq \(seq) size \(size)"
    }
}

/// The store as plain lists: what is right, without regard to cost.
struct StoreModel {
    struct Row {
        var id: Int64
        var room: Int
        var seq: Int64
        var size: Int64
        /// The endpoints that have not settled it.
        var waiting: Set<ByteString>
        var body: RecordBody
    }

    struct LaneState {
        var acknowledged: Int64 = 0
        var next: Int64 = 1
        var tail: Int64 = 0
    }

    struct LaneKey: Hashable {
        var endpoint: ByteString
        var room: Int
    }

    var keys: [RoomKey] = []
    var positions: [Position?] = []
    var seqs: [Int64] = []
    /// The last notice of each kind that is no news a second time.
    var told: [[RoomNotice.Kind: Payload]] = []
    var lanes: [LaneKey: LaneState] = [:]
    var rows: [Row] = []
    var nextRow: Int64 = 1

    init(rooms: [RoomKey]) {
        keys = rooms
        positions = rooms.map { _ in nil }
        seqs = rooms.map { _ in 0 }
        told = rooms.map { _ in [:] }
    }

    func waiting(_ lane: LaneKey) -> [Row] {
        rows.filter { $0.room == lane.room && $0.waiting.contains(lane.endpoint) }
    }

    /// The rows that the record makes for its endpoints: one delivery each.
    mutating func append(_ record: AppendRecord, room: Int, endpoints: [ByteString]) -> [String] {
        if let position = record.position, let old = positions[room], position.epoch == old.epoch {
            if position.incarnation < old.incarnation { return [] }
            if position.incarnation == old.incarnation {
                if case .event = record.body, position.offset <= old.offset { return [] }
                if position.offset < old.offset { return [] }
            }
        }
        if let position = record.position { positions[room] = position }
        var head: [UInt8] = []
        let body: RecordBody
        var payload = 0
        switch record.body {
        case .baseline: return []
        case .event(let event):
            RowHead.encode(event, into: &head)
            payload = event.payload.count
            body = .event(event)
        case .gap(let gap, let at):
            RowHead.encode(gap, at: at, into: &head)
            body = .gap(gap, at: at)
        case .notice(let notice):
            if notice.kind.isStanding {
                guard told[room][notice.kind] != notice.text else { return [] }
                told[room][notice.kind] = notice.text
            }
            RowHead.encode(notice, into: &head)
            payload = notice.text.count
            body = .notice(notice)
        }
        seqs[room] += 1
        guard !endpoints.isEmpty else { return [] }
        let id = nextRow
        nextRow += 1
        for endpoint in endpoints {
            let key = LaneKey(endpoint: endpoint, room: room)
            let isIdle = waiting(key).isEmpty
            var lane = lanes[key] ?? LaneState()
            if isIdle { lane.next = id }
            lane.tail = id
            lanes[key] = lane
        }
        let size = Int64(head.count + payload) + Schema.rowOverhead
        rows.append(Row(id: id, room: room, seq: seqs[room], size: size, waiting: Set(endpoints), body: body))
        return endpoints.map { "\(id) \($0) \(keys[room].room) \(seqs[room])" }
    }

    mutating func settle(_ key: LaneKey, through id: Int64, seq: Int64) {
        guard var lane = lanes[key], id >= lane.next else { return }
        lane.next = id + 1
        lane.acknowledged = seq
        lanes[key] = lane
        for index in rows.indices where rows[index].room == key.room && rows[index].id <= id {
            rows[index].waiting.remove(key.endpoint)
        }
        rows.removeAll { $0.waiting.isEmpty }
    }

    mutating func drop(_ endpoint: ByteString) {
        lanes = lanes.filter { $0.key.endpoint != endpoint }
        for index in rows.indices { rows[index].waiting.remove(endpoint) }
        rows.removeAll { $0.waiting.isEmpty }
    }

    var image: StoreImage {
        var image = StoreImage()
        image.rooms = keys.indices.map { StoreImage.room(keys[$0], positions[$0], seq: seqs[$0]) }
        image.lanes = lanes.map { key, lane in
            let mine = waiting(key)
            return StoreImage.lane(
                key.endpoint,
                keys[key.room].room,
                [lane.acknowledged, lane.next, lane.tail, Int64(mine.count), mine.reduce(0) { $0 + $1.size }]
            )
        }.sorted()
        image.rows = rows.map { StoreImage.row($0.id, keys[$0.room].room, seq: $0.seq, size: $0.size) }
        image.sums = "next \(nextRow) rows \(rows.count) bytes \(rows.reduce(0) { $0 + $1.size })"
        return image
    }
}

extension Ledger {
    /// What the file says, read without the catalog.
    func storedImage() throws -> StoreImage {
        var image = StoreImage()
        var names: [Int64: ByteString] = [:]
        var endpoints: [Int64: ByteString] = [:]
        try database.prepare(
            """
            SELECT rooms.id, server, name, coalesce(seq, 0), epoch, offset, incarnation
            FROM rooms LEFT JOIN positions ON room = rooms.id ORDER BY rooms.id
            """,
            doing: "reading the rooms"
        ).query { row in
            let key = RoomKey(server: ByteString(copying: row.bytes(1)), room: ByteString(copying: row.bytes(2)))
            var position: Position?
            if !row.isNull(4) {
                position = Position(
                    epoch: ByteString(copying: row.bytes(4)),
                    offset: UInt64(bitPattern: row.integer(5)),
                    incarnation: UInt32(row.integer(6))
                )
            }
            names[row.integer(0)] = key.room
            image.rooms.append(StoreImage.room(key, position, seq: row.integer(3)))
            return true
        }
        try database.prepare("SELECT id, name FROM endpoints", doing: "reading the endpoints").query { row in
            endpoints[row.integer(0)] = ByteString(copying: row.bytes(1))
            return true
        }
        try database.prepare(
            "SELECT endpoint, room, acknowledged, next, tail, waiting_rows, waiting_bytes FROM lanes",
            doing: "reading the lanes"
        ).query { row in
            let numbers = (2...6 as ClosedRange<Int32>).map { row.integer($0) }
            image.lanes.append(
                StoreImage.lane(endpoints[row.integer(0)] ?? "?", names[row.integer(1)] ?? "?", numbers)
            )
            return true
        }
        image.lanes.sort()
        try database.prepare(
            "SELECT id, room, seq, length(head) + length(payload) FROM events ORDER BY id",
            doing: "reading the rows"
        ).query { row in
            let size = row.integer(3) + Schema.rowOverhead
            image.rows.append(
                StoreImage.row(row.integer(0), names[row.integer(1)] ?? "?", seq: row.integer(2), size: size)
            )
            return true
        }
        try database.prepare("SELECT next_row, waiting_rows, waiting_bytes FROM tally", doing: "reading the sums")
            .query { row in
                image.sums = "next \(row.integer(0)) rows \(row.integer(1)) bytes \(row.integer(2))"
                return false
            }
        return image
    }

    /// What is held in memory, of rooms, lanes and sums.
    func heldImage(_ endpoints: [EndpointID: ByteString]) -> StoreImage {
        var image = StoreImage()
        image.rooms = catalog.rooms.map { StoreImage.room($0.key, $0.state.position, seq: $0.state.seq) }
        image.lanes = catalog.lanes.map { lane in
            let state = lane.state
            return StoreImage.lane(
                endpoints[lane.endpoint] ?? "?",
                catalog.rooms[lane.room].key.room,
                [state.acknowledged, state.next, state.tail, state.waitingRows, state.waitingBytes]
            )
        }.sorted()
        let tally = catalog.tally
        image.sums = "next \(tally.nextRow) rows \(tally.waitingRows) bytes \(tally.waitingBytes)"
        return image
    }
}

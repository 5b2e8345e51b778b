import BridgeModel
import BridgeSQLite
import BridgeTestSupport
import RoomsRuntime

@testable import BridgeStore

/// Log lines of one test.
final class LineSink: LogSink {
    private let lines = Lock<[String]>([])

    func write(_ records: [LogRecord]) {
        lines.withLock { lines in
            for record in records {
                let fields = record.fields.map { " \($0.key.rawValue)=\($0.value)" }.joined()
                lines.append("\(record.level) \(record.message)\(fields)")
            }
        }
    }

    var all: [String] { lines.withLock { $0 } }
}

/// A state directory, and the ledger or the store on it.
final class StoreFixture {
    let directory: TemporaryDirectory
    let sink = LineSink()
    private let queue: LogQueue
    let logger: Logger

    init() throws {
        directory = try TemporaryDirectory()
        queue = LogQueue(sink: sink)
        logger = Logger(queue: queue, level: .debug)
    }

    deinit { queue.close() }

    /// The log so far.
    ///
    /// Lines go out on a thread of their own: this ends it, so that none is missing.
    var lines: [String] {
        queue.close()
        return sink.all
    }

    var path: String { directory.file("state") }

    func ledger(in directory: String? = nil) throws -> Ledger {
        try StoreFiles.makeDirectory(directory ?? path)
        return try StoreFiles.openLedger(in: directory ?? path, logger: logger)
    }

    func store(_ options: StoreOptions? = nil) throws -> Store {
        try Store.open(options ?? StoreOptions(directory: path), logger: logger)
    }
}

/// What stands in for rooms and endpoints in a test.
enum Sample {
    static func rooms(_ count: Int) -> [RoomKey] {
        (0..<count).map { RoomKey(server: "main", room: ByteString("room:\($0)")) }
    }

    static func event(
        _ offset: UInt64,
        epoch: ByteString = "ab12",
        incarnation: UInt32 = 0,
        payload: String? = nil
    ) -> EventRecord {
        let text = payload ?? #"{"n":\#(offset)}"#
        return EventRecord(
            payload: Payload(text),
            epoch: epoch,
            offset: offset,
            incarnation: incarnation,
            shape: .json(0..<text.utf8.count),
            name: "updated",
            from: nil,
            at: 1_796_004_000_123,
            isReplayed: false,
            tags: nil
        )
    }

    /// A publication that is not JSON.
    static func binary(_ payload: Payload, at offset: UInt64) -> EventRecord {
        EventRecord(
            payload: payload,
            epoch: "ab12",
            offset: offset,
            incarnation: 0,
            shape: .binary,
            name: "message",
            from: nil,
            at: 1_796_004_000_123,
            isReplayed: false,
            tags: nil
        )
    }

    static func append(
        _ room: RoomID,
        _ offset: UInt64,
        route: RouteID?,
        epoch: ByteString = "ab12",
        incarnation: UInt32 = 0,
        payload: String? = nil
    ) -> AppendRecord {
        AppendRecord(
            room: room,
            body: .event(event(offset, epoch: epoch, incarnation: incarnation, payload: payload)),
            position: Position(epoch: epoch, offset: offset, incarnation: incarnation),
            route: route
        )
    }
}

extension Ledger {
    func append(_ records: AppendRecord...) throws -> [PendingDelivery] {
        try commit(records[...], [])
    }

    func settle(_ settlements: [Settlement]) throws {
        _ = try commit([], settlements)
    }

    func settle(_ deliveries: PendingDelivery...) throws {
        try settle(deliveries.map { Settlement(lane: $0.lane, row: $0.row, seq: $0.seq) })
    }

    /// The ids in the table.
    func storedRows() throws -> [Int64] {
        var rows: [Int64] = []
        try database.prepare("SELECT id FROM events ORDER BY id", doing: "reading the ids").query { row in
            rows.append(row.integer(0))
            return true
        }
        return rows
    }

    /// A whole pass for one endpoint.
    func refill(
        _ endpoint: EndpointID,
        _ wishes: [(RoomID, Int64)],
        rows: Int = 1_000,
        bytes: Int = 1 << 20,
        perLane: Int = 1_000
    ) throws -> RefillResult {
        let request = RefillRequest(
            endpoint: endpoint,
            wishes: wishes.map { RefillRequest.Wish(room: $0.0, from: RowID($0.1)) },
            maxRows: rows,
            maxBytes: bytes,
            maxRowsPerLane: perLane
        )
        let pass = RefillPass(request, self)
        while true {
            if let result = try pass.advance(rows: 500, bytes: 256 << 10, self) { return result }
        }
    }
}

extension PendingDelivery {
    var event: EventRecord? {
        if case .event(let event) = body { return event }
        return nil
    }

    var gap: Gap? {
        if case .gap(let gap, _) = body { return gap }
        return nil
    }
}

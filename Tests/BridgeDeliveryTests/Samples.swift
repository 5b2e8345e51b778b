import BridgeModel
import RoomsRuntime

/// Records with defaults, so that a test states only what it is about.
enum Sample {
    static let endpoint = EndpointID(7)

    static func event(
        _ payload: String = #"{"n":1}"#,
        shape: PayloadShape? = nil,
        name: ByteString = "updated",
        epoch: ByteString = "xyz",
        offset: UInt64 = 18,
        incarnation: UInt32 = 0,
        from: ByteString? = nil,
        at: Int64 = 1_796_004_000_123,
        isReplayed: Bool = false,
        tags: [UInt8]? = nil
    ) -> EventRecord {
        let bytes = Payload(payload)
        return EventRecord(
            payload: bytes,
            epoch: epoch,
            offset: offset,
            incarnation: incarnation,
            shape: shape ?? .json(0..<bytes.count),
            name: name,
            from: from,
            at: at,
            isReplayed: isReplayed,
            tags: tags
        )
    }

    static func delivery(
        row: Int64 = 5,
        room: Int64 = 1,
        name: ByteString = "order:1042",
        seq: Int64 = 41,
        _ body: RecordBody = .event(event())
    ) -> PendingDelivery {
        PendingDelivery(
            row: RowID(row),
            lane: Lane(endpoint: endpoint, room: RoomID(room)),
            room: RoomKey(server: "main", room: name),
            seq: seq,
            body: body
        )
    }
}

/// The same numbers for the same seed (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var value = state
        value = (value ^ value >> 30) &* 0xbf58_476d_1ce4_e5b9
        value = (value ^ value >> 27) &* 0x94d0_49bb_1331_11eb
        return value ^ value >> 31
    }
}

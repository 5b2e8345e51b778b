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

extension EventRecord {
    /// The same event at another place of the stream.
    func moved(to offset: UInt64) -> EventRecord {
        EventRecord(
            payload: payload,
            epoch: epoch,
            offset: offset,
            incarnation: incarnation,
            shape: shape,
            name: name,
            from: from,
            at: at,
            isReplayed: isReplayed,
            tags: tags
        )
    }
}

internal import BridgeModel
internal import RoomsRuntime
internal import RoomsWire

/// Writes the `standard` envelope around a record; JSON payloads stand in it byte for byte.
enum StandardBody {
    /// What an envelope says beside the record itself.
    struct Context {
        /// The `webhook-id`.
        var id: [UInt8]
        /// The last seq that the endpoint accepted in the room; 0: none.
        var previousSeq: Int64
        /// How many records meant for the endpoint were dead-lettered since then.
        var skipped: Int64 = 0
    }

    static func append(_ delivery: PendingDelivery, _ context: Context, to text: inout [UInt8]) {
        switch delivery.body {
        case .event(let event):
            append(event, delivery, context, to: &text)
        case .gap(let gap, let at):
            begin("room.gap", at: at, delivery.room, context, to: &text)
            append(gap, to: &text)
            text.append(literal: ",\"meta\":{")
            appendSeqs(delivery, context, to: &text)
            text.append(literal: "}}}")
        }
    }

    private static func append(
        _ event: EventRecord,
        _ delivery: PendingDelivery,
        _ context: Context,
        to text: inout [UInt8]
    ) {
        begin("room.event", at: event.at, delivery.room, context, to: &text)
        text.append(literal: ",\"event\":")
        appendString(event.name, to: &text)
        event.payload.withBytes { payload in
            switch event.shape {
            case .json(let range):
                text.append(literal: ",\"data\":")
                text.append(contentsOf: payload[range.clamped(to: 0..<payload.count)])
            case .sealed(let range):
                text.append(literal: ",\"sealed\":")
                text.append(contentsOf: payload[range.clamped(to: 0..<payload.count)])
            case .binary:
                text.append(literal: ",\"data_base64\":\"")
                Base64.append(payload, to: &text)
                text.append(literal: "\"")
            }
        }
        text.append(literal: ",\"meta\":{")
        if event.offset > 0 {
            text.append(literal: "\"id\":")
            appendString(event.epoch, to: &text)
            text.removeLast()
            text.append(literal: ":")
            text.append(decimal: event.offset)
            text.append(literal: "\",\"epoch\":")
            appendString(event.epoch, to: &text)
            text.append(literal: ",\"offset\":")
            text.append(decimal: event.offset)
            text.append(literal: ",")
        }
        appendSeqs(delivery, context, to: &text)
        text.append(literal: ",\"from\":")
        if let from = event.from { appendString(from, to: &text) } else { text.append(literal: "null") }
        text.append(literal: ",\"at\":")
        text.append(decimal: event.at)
        text.append(literal: event.isReplayed ? ",\"replayed\":true,\"tags\":" : ",\"replayed\":false,\"tags\":")
        if let tags = event.tags { text.append(contentsOf: tags) } else { text.append(literal: "{}") }
        text.append(literal: "}}}")
    }

    private static func begin(
        _ type: StaticString,
        at milliseconds: Int64,
        _ room: RoomKey,
        _ context: Context,
        to text: inout [UInt8]
    ) {
        text.append(literal: "{\"id\":\"")
        text.append(contentsOf: context.id)
        text.append(literal: "\",\"type\":\"")
        text.append(literal: type)
        text.append(literal: "\",\"timestamp\":\"")
        text.append(timestamp: milliseconds)
        text.append(literal: "\",\"data\":{\"room\":")
        appendString(room.room, to: &text)
    }

    private static func append(_ gap: Gap, to text: inout [UInt8]) {
        text.append(literal: ",\"gap\":{\"epoch\":")
        appendString(gap.epoch, to: &text)
        text.append(literal: ",\"from\":")
        text.append(decimal: gap.from)
        if let to = gap.to {
            text.append(literal: ",\"to\":")
            text.append(decimal: to)
        }
        text.append(literal: ",\"reason\":\"")
        text.append(contentsOf: gap.reason.rawValue.utf8)
        text.append(literal: "\"}")
    }

    private static func appendSeqs(_ delivery: PendingDelivery, _ context: Context, to text: inout [UInt8]) {
        text.append(literal: "\"seq\":")
        text.append(decimal: delivery.seq)
        text.append(literal: ",\"prev_seq\":")
        text.append(decimal: context.previousSeq)
        guard context.skipped > 0 else { return }
        text.append(literal: ",\"skipped\":")
        text.append(decimal: context.skipped)
    }

    private static func appendString(_ string: ByteString, to text: inout [UInt8]) {
        string.bytes.withUnsafeBytes { JSONWriter.appendString($0, to: &text) }
    }
}

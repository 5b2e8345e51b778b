internal import BridgeModel
internal import Glibc
internal import RoomsRuntime
internal import RoomsWire

/// Writes the `standard` envelope around a record; JSON payloads stand in it byte for byte.
enum StandardBody {
    /// `isLine`: without the line ends that a pretty-printed payload has between its tokens.
    static func append(
        _ delivery: PendingDelivery,
        _ context: RecordContext,
        isLine: Bool = false,
        to text: inout [UInt8]
    ) {
        switch delivery.body {
        case .event(let event):
            append(event, delivery, context, isLine, to: &text)
        case .gap(let gap, let at):
            begin("room.gap", at: at, delivery.room, context, to: &text)
            text.append(literal: ",\"gap\":")
            append(gap, to: &text)
            text.append(literal: ",\"meta\":{")
            appendSeqs(delivery, context, to: &text)
            text.append(literal: "}}}")
        case .notice(let notice):
            begin(notice.kind.type, at: notice.at, delivery.room, context, to: &text)
            text.append(literal: ",\"")
            text.append(contentsOf: notice.kind.rawValue.utf8)
            text.append(literal: "\":")
            notice.text.withBytes { text.append(contentsOf: $0) }
            text.append(literal: ",\"meta\":{")
            appendSeqs(delivery, context, to: &text)
            text.append(literal: "}}}")
        }
    }

    private static func append(
        _ event: EventRecord,
        _ delivery: PendingDelivery,
        _ context: RecordContext,
        _ isLine: Bool,
        to text: inout [UInt8]
    ) {
        begin("room.event", at: event.at, delivery.room, context, to: &text)
        text.append(literal: ",\"event\":")
        appendString(event.name, to: &text)
        event.payload.withBytes { payload in
            switch event.shape {
            case .json(let range):
                text.append(literal: ",\"data\":")
                append(payload[range.clamped(to: 0..<payload.count)], isLine, to: &text)
            case .sealed(let range):
                text.append(literal: ",\"sealed\":")
                append(payload[range.clamped(to: 0..<payload.count)], isLine, to: &text)
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
        _ context: RecordContext,
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

    /// Line ends cannot stand inside strings, so all of them are white space.
    private static func append(_ json: Slice<UnsafeRawBufferPointer>, _ isLine: Bool, to text: inout [UInt8]) {
        if isLine, hasLineEnd(UnsafeRawBufferPointer(rebasing: json)) {
            text.append(contentsOf: json.lazy.filter { $0 != 0x0a && $0 != 0x0d })
        } else {
            text.append(contentsOf: json)
        }
    }

    private static func hasLineEnd(_ json: UnsafeRawBufferPointer) -> Bool {
        guard let start = json.baseAddress else { return false }
        return memchr(start, 0x0a, json.count) != nil || memchr(start, 0x0d, json.count) != nil
    }

    static func append(_ gap: Gap, to text: inout [UInt8]) {
        text.append(literal: "{\"epoch\":")
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

    private static func appendSeqs(_ delivery: PendingDelivery, _ context: RecordContext, to text: inout [UInt8]) {
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

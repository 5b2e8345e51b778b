internal import BridgeModel
internal import RoomsRuntime
internal import RoomsWire

/// Writes what goes to a receiver behind a stream socket: one line of JSON each.
final class StreamLineWriter {
    /// The longest line that is read from a receiver.
    static let longestAnswer = 1 << 20

    private let ids: WebhookID
    private var context = RecordContext(id: [], previousSeq: 0)

    init(storeID: ByteString) {
        ids = WebhookID(storeID: storeID)
    }

    /// Adds the line of an event or a gap: the members of the `standard` object, behind those of the stream.
    ///
    /// `number` counts the connection's lines; nil where nobody answers by it.
    func append(_ consignment: Consignment, number: UInt64?, isProtocol: Bool, to text: inout [UInt8]) {
        ids.write(consignment.delivery, into: &context.id)
        context.previousSeq = consignment.previousSeq
        context.skipped = consignment.skipped
        text.append(literal: "{")
        if isProtocol { text.append(literal: "\"op\":\"event\",") }
        if let number {
            text.append(literal: "\"n\":")
            text.append(decimal: number)
            text.append(literal: ",")
        }
        text.append(literal: "\"attempt\":")
        text.append(decimal: Int64(consignment.attempt.number))
        if let retry = consignment.delivery.retry, !retry.isInOrder {
            text.append(literal: ",\"replay\":")
            retry.run.bytes.withUnsafeBytes { JSONWriter.appendString($0, to: &text) }
        }
        let start = text.count
        StandardBody.append(consignment.delivery, context, isLine: true, to: &text)
        // The object goes on where it would have begun.
        text[start] = UInt8(ascii: ",")
        text.append(literal: "\n")
    }

    /// The first line of a connection that speaks the protocol.
    static func hello(agent: ByteString, endpoint: ByteString, storeID: ByteString) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            begin("hello", &writer)
            writer.key("v")
            writer.integer(1)
            writer.key("agent")
            writer.string(agent)
            writer.key("endpoint")
            writer.string(endpoint)
            writer.key("store")
            writer.string(storeID)
            writer.key("max_line")
            writer.integer(longestAnswer)
            writer.key("window")
            writer.integer(StreamSettings.window)
            writer.key("features")
            writer.array { writer in
                for feature: ByteString in ["cum", "sel", "nack", "wip", "credit"] { writer.string(feature) }
            }
        }
        return writer.bytes + [UInt8(ascii: "\n")]
    }

    static func bye(_ reason: ByteString) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            begin("bye", &writer)
            writer.key("reason")
            writer.string(reason)
        }
        return writer.bytes + [UInt8(ascii: "\n")]
    }

    static let ping = Array("{\"op\":\"ping\"}\n".utf8)
    static let pong = Array("{\"op\":\"pong\"}\n".utf8)

    private static func begin(_ op: ByteString, _ writer: inout JSONWriter) {
        writer.key("op")
        writer.string(op)
    }
}

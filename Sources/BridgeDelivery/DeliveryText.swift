package import BridgeModel
package import RoomsRuntime

/// A record as people and other programs read it: its id, and the `standard` envelope around it.
///
/// Belongs to one thread at a time.
package final class DeliveryText {
    private let ids: WebhookID

    package init(storeID: ByteString) {
        ids = WebhookID(storeID: storeID)
    }

    package func id(of delivery: PendingDelivery) -> ByteString {
        var id: [UInt8] = []
        ids.write(delivery, into: &id)
        return ByteString(id)
    }

    /// One line, without its end; what went before it in the room is not told: it is not on its way.
    package func body(of delivery: PendingDelivery) -> [UInt8] {
        var body: [UInt8] = []
        let context = RecordContext(id: id(of: delivery).bytes, previousSeq: 0)
        StandardBody.append(delivery, context, isLine: true, to: &body)
        return body
    }

    /// As it stands in an envelope.
    package static func timestamp(_ milliseconds: Int64) -> ByteString {
        var text: [UInt8] = []
        text.append(timestamp: milliseconds)
        return ByteString(text)
    }
}

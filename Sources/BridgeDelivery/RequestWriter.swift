internal import BridgeModel
internal import RoomsHTTP
internal import RoomsRuntime

/// Writes the whole request of one attempt: the envelope, its signature, the headers.
///
/// One for each endpoint; its buffers are used again. Belongs to one thread at a time.
final class RequestWriter {
    /// A field whose value comes from the record is left out above this size.
    private static let longestForeignValue = 4_096

    private let beginning: RequestHead
    private let format: DeliveryFormat
    private let ids: WebhookID
    private let signature: Signature
    private var context = RecordContext(id: [], previousSeq: 0)
    private var body: [UInt8] = []
    private var signatures: [UInt8] = []

    /// `beginning` holds the fields that are the same in every request.
    init(beginning: RequestHead, storeID: ByteString, keys: [Secret], format: DeliveryFormat = .standard) {
        self.beginning = beginning
        self.format = format
        ids = WebhookID(storeID: storeID)
        signature = Signature(keys: keys)
    }

    /// Puts the request in place of what is in `request`.
    ///
    /// `skipped` were given up since `previousSeq`; `attempt` counts from 1, `now` is in milliseconds since 1970.
    func write(
        _ delivery: PendingDelivery,
        previousSeq: Int64,
        skipped: Int64 = 0,
        attempt: Int,
        now: Int64,
        into request: inout RequestHead
    ) {
        ids.write(delivery, into: &context.id)
        context.previousSeq = previousSeq
        context.skipped = skipped
        body.removeAll(keepingCapacity: true)
        request.restart(from: beginning)
        addContent(delivery, to: &request)
        request.add("webhook-id", unchecked: context.id)
        request.add("webhook-timestamp", number: now / 1_000)
        if signature.isNeeded {
            signature.write(id: context.id, timestamp: now / 1_000, body: body, into: &signatures)
            request.add("webhook-signature", unchecked: signatures)
        }
        addFields(delivery, to: &request)
        if let retry = delivery.retry, !retry.isInOrder {
            request.add("roombridge-replay", unchecked: retry.run.bytes)
        }
        request.add("roombridge-attempt", number: Int64(attempt))
        request.add("content-length", number: Int64(body.count))
        request.end()
        request.append(body: body)
    }

    /// Writes the body, and the fields that belong to it.
    private func addContent(_ delivery: PendingDelivery, to request: inout RequestHead) {
        switch (format, delivery.body) {
        case (.standard, _):
            StandardBody.append(delivery, context, to: &body)
        case (.ndjson, _):
            StandardBody.append(delivery, context, isLine: true, to: &body)
            body.append(UInt8(ascii: "\n"))
        case (.cloudEvents, _):
            CloudEvent.append(delivery, context, to: &body)
        case (.cloudEventsBinary, _):
            CloudEvent.append(delivery, context, to: &request, &body)
        case (.raw, .event(let event)):
            request.add(
                "content-type",
                literal: event.shape == .binary ? "application/octet-stream" : "application/json"
            )
            event.payload.withBytes { body.append(contentsOf: $0) }
        case (.raw, .gap):
            request.add("content-type", literal: "application/json")
            StandardBody.append(delivery, context, to: &body)
        }
    }

    private func addFields(_ delivery: PendingDelivery, to request: inout RequestHead) {
        switch delivery.body {
        case .event(let event):
            request.add("roombridge-type", unchecked: Self.eventType)
            addForeign("roombridge-room", delivery.room.room, to: &request)
            addForeign("roombridge-event", event.name, to: &request)
            if event.offset > 0 {
                addForeign("roombridge-epoch", event.epoch, to: &request)
                request.add("roombridge-offset", unsigned: event.offset)
            }
            if event.isReplayed { request.add("roombridge-replayed", unchecked: Self.true) }
        case .gap(let gap, _):
            request.add("roombridge-type", unchecked: Self.gapType)
            addForeign("roombridge-room", delivery.room.room, to: &request)
            addForeign("roombridge-epoch", gap.epoch, to: &request)
            request.add("roombridge-offset", unsigned: gap.from)
        }
        request.add("roombridge-seq", number: delivery.seq)
        request.add("roombridge-prev-seq", number: context.previousSeq)
        if context.skipped > 0 { request.add("roombridge-skipped", number: context.skipped) }
    }

    private func addForeign(_ name: StaticString, _ value: ByteString, to request: inout RequestHead) {
        guard !value.isEmpty, value.count <= Self.longestForeignValue else { return }
        request.add(name, percentEncoding: value)
    }

    private static let eventType = Array("room.event".utf8)
    private static let gapType = Array("room.gap".utf8)
    private static let `true` = Array("true".utf8)
}

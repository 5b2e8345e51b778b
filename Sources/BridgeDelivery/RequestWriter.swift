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
    init(beginning: RequestHead, storeID: ByteString, keys: [SigningKey], format: DeliveryFormat = .standard) {
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
        seal(now, &request)
        addFields(delivery, to: &request)
        addReplay(delivery, to: &request)
        end(attempt, &request)
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
        case (.raw, .gap), (.raw, .notice):
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
        case .notice(let notice):
            request.add("roombridge-type", literal: notice.kind.type)
            addForeign("roombridge-room", delivery.room.room, to: &request)
        }
        request.add("roombridge-seq", number: delivery.seq)
        request.add("roombridge-prev-seq", number: context.previousSeq)
        if context.skipped > 0 { request.add("roombridge-skipped", number: context.skipped) }
    }

    // MARK: several events

    /// Puts a request for the first of `run` in place of what is in `request`: as many as `limit` bytes hold, at least one.
    ///
    /// `ids` become those of the events in it; `previousSeq` and `skipped` are about the first.
    func write(
        _ run: [PendingDelivery],
        within limit: Int,
        previousSeq: Int64,
        skipped: Int64,
        attempt: Int,
        now: Int64,
        ids events: inout BatchIDs,
        into request: inout RequestHead
    ) {
        context.previousSeq = previousSeq
        context.skipped = skipped
        body.removeAll(keepingCapacity: true)
        events.removeAll()
        if format != .ndjson { body.append(UInt8(ascii: "[")) }
        for delivery in run {
            let end = body.count
            ids.write(delivery, into: &context.id)
            append(delivery, isFirst: events.count == 0)
            guard events.count == 0 || body.count < limit else {
                body.removeLast(body.count - end)
                break
            }
            events.append(context.id)
            context.previousSeq = delivery.seq
            context.skipped = 0
        }
        if format != .ndjson { body.append(UInt8(ascii: "]")) }
        ids.write(from: events[0], to: events[events.count - 1], into: &context.id)
        request.restart(from: beginning)
        seal(now, &request)
        request.add("roombridge-type", literal: "room.batch")
        addForeign("roombridge-room", run[0].room.room, to: &request)
        var range: [UInt8] = []
        range.append(decimal: run[0].seq)
        range.append(UInt8(ascii: "-"))
        range.append(decimal: run[events.count - 1].seq)
        request.add("roombridge-seq", unchecked: range)
        request.add("roombridge-prev-seq", number: previousSeq)
        if skipped > 0 { request.add("roombridge-skipped", number: skipped) }
        addReplay(run[0], to: &request)
        end(attempt, &request)
    }

    /// How large the last body was.
    var bodyBytes: Int { body.count }

    private func append(_ delivery: PendingDelivery, isFirst: Bool) {
        if format == .ndjson {
            StandardBody.append(delivery, context, isLine: true, to: &body)
            body.append(UInt8(ascii: "\n"))
            return
        }
        if !isFirst { body.append(UInt8(ascii: ",")) }
        if format == .cloudEvents {
            CloudEvent.append(delivery, context, to: &body)
        } else {
            StandardBody.append(delivery, context, to: &body)
        }
    }

    // MARK: what all have

    /// The fields that bind the body to its id and to the time.
    private func seal(_ now: Int64, _ request: inout RequestHead) {
        request.add("webhook-id", unchecked: context.id)
        request.add("webhook-timestamp", number: now / 1_000)
        guard signature.isNeeded else { return }
        signature.write(id: context.id, timestamp: now / 1_000, body: body, into: &signatures)
        request.add("webhook-signature", unchecked: signatures)
    }

    private func addReplay(_ delivery: PendingDelivery, to request: inout RequestHead) {
        guard let retry = delivery.retry, !retry.isInOrder else { return }
        request.add("roombridge-replay", unchecked: retry.run.bytes)
    }

    private func end(_ attempt: Int, _ request: inout RequestHead) {
        request.add("roombridge-attempt", number: Int64(attempt))
        request.add("content-length", number: Int64(body.count))
        request.end()
        request.append(body: body)
    }

    private func addForeign(_ name: StaticString, _ value: ByteString, to request: inout RequestHead) {
        guard !value.isEmpty, value.count <= Self.longestForeignValue else { return }
        request.add(name, percentEncoding: value)
    }

    private static let eventType = Array("room.event".utf8)
    private static let gapType = Array("room.gap".utf8)
    private static let `true` = Array("true".utf8)
}

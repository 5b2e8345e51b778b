package import RoomsRuntime

/// How an endpoint gets its events; the raw value is the word of the configuration.
package enum DeliveryFormat: String, Hashable, Sendable, CaseIterable {
    /// The envelope of Standard Webhooks.
    case standard
    /// The same, one line each.
    case ndjson
    /// CloudEvents in structured mode: attributes and data in one JSON object.
    case cloudEvents = "cloudevents"
    /// CloudEvents in binary mode: attributes in the header, the body is the data.
    case cloudEventsBinary = "cloudevents-binary"
    /// The publication as it is.
    case raw

    /// Nil where it depends on the event.
    var contentType: ByteString? {
        switch self {
        case .standard: "application/json"
        case .ndjson: "application/x-ndjson"
        case .cloudEvents: "application/cloudevents+json; charset=UTF-8"
        case .cloudEventsBinary, .raw: nil
        }
    }
}

extension DeliveryFormat {
    /// Nil where several events cannot stand in one body.
    package var batchContentType: ByteString? {
        switch self {
        case .standard: "application/json"
        case .ndjson: "application/x-ndjson"
        case .cloudEvents: "application/cloudevents-batch+json; charset=UTF-8"
        case .cloudEventsBinary, .raw: nil
        }
    }
}

/// What an envelope says beside the record itself.
struct RecordContext {
    /// The `webhook-id`.
    var id: [UInt8]
    /// The last seq that the endpoint accepted in the room; 0: none.
    var previousSeq: Int64
    /// How many records meant for the endpoint were dead-lettered since then.
    var skipped: Int64 = 0
}

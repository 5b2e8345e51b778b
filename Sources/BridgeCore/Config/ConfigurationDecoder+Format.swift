internal import BridgeDelivery
internal import RoomsRuntime

extension ConfigurationDecoder {
    private static let mostEvents = 1_000
    private static let mostBytes = 16 * 1024 * 1024

    func format(_ object: ConfigurationObject) -> DeliveryFormat {
        let word = object["format"]?.word(of: DeliveryFormat.allCases.map { ByteString($0.rawValue) })
        return word.flatMap { DeliveryFormat(rawValue: $0.string) } ?? .standard
    }

    /// Nil where each event goes out for itself.
    func batch(_ object: ConfigurationObject, _ format: DeliveryFormat) -> BatchLimits? {
        guard let value = object["batch"],
            let batch = value.object(
                "an object such as {\"max_events\": 100}",
                keys: ["max_events", "max_bytes", "linger"]
            )
        else { return nil }
        let count = batch.required("max_events", "a whole number")?.integer(in: 1...Self.mostEvents)
        let bytes = batch["max_bytes"]?.size(atLeast: 1024, written: "1MiB")
        if let bytes, bytes > Self.mostBytes { batch["max_bytes"]?.reject("is too large, must be at most \"16MiB\"") }
        let linger = batch["linger"]?.duration(upTo: "50ms", written: "10ms")
        if format.batchContentType == nil {
            value.reject("has no meaning with format \"\(format.rawValue)\", where a body has one event; leave it out")
        }
        guard let count, count > 1 else { return nil }
        var limits = BatchLimits(maxEvents: count)
        if let bytes { limits.maxBytes = bytes }
        if let linger { limits.linger = linger }
        return limits
    }
}

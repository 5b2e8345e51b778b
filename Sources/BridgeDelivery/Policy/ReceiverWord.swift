package import RoomsRuntime

/// What a receiver says in the `webhook-delivery` field of its answer; it goes before the status.
package enum ReceiverWord: Hashable, Sendable {
    /// The event is delivered.
    case ack
    /// Tried again later.
    case retry
    /// This event is wanted no more: a dead letter at once.
    case abort
    /// Nothing at all for this time.
    case pause(Duration)
    /// Nothing more, until somebody says so.
    case disable

    /// Nil for what is not understood: the status counts then.
    package init?(_ field: ByteString) {
        switch field {
        case "ack": self = .ack
        case "retry": self = .retry
        case "abort-message": self = .abort
        case "disable": self = .disable
        default:
            let prefix: ByteString = "pause="
            guard field.hasPrefix(prefix) else { return nil }
            let digits = field.bytes.dropFirst(prefix.count)
            guard (1...9).contains(digits.count), digits.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 })
            else { return nil }
            self = .pause(.seconds(digits.reduce(0) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) }))
        }
    }
}

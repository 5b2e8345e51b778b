internal import RoomsRuntime

/// What a peer may send before the session calls it a violation.
package struct WebSocketLimits: Sendable {
    /// Bytes of one message, summed over its fragments and checked before they are kept.
    package var maxMessage: Int
    /// Fragments of one message, empty ones too.
    package var maxFragments: Int
    /// Pings, pongs and closes in a second; as many may come at once.
    package var maxControlFramesPerSecond: Int
    /// From the first byte of a message to its last.
    package var messageTime: Duration

    package init(
        maxMessage: Int = 16 * 1024 * 1024,
        maxFragments: Int = 1_024,
        maxControlFramesPerSecond: Int = 10,
        messageTime: Duration = .seconds(30)
    ) {
        self.maxMessage = max(1, maxMessage)
        self.maxFragments = max(1, maxFragments)
        self.maxControlFramesPerSecond = max(1, maxControlFramesPerSecond)
        self.messageTime = messageTime
    }
}

/// Counts control frames against a rate: a bucket that holds one second's worth.
struct ControlFrameBudget {
    private let interval: Duration
    private let capacity: Int
    private var left: Int
    private var refilled: Instant?

    init(perSecond: Int) {
        capacity = perSecond
        left = perSecond
        interval = .nanoseconds(1_000_000_000 / Int64(clamping: perSecond))
    }

    /// False when the frame is one too many.
    mutating func take(at now: Instant) -> Bool {
        if let last = refilled {
            let earned = (now - last).wholeNanoseconds / max(1, interval.wholeNanoseconds)
            if earned > 0 {
                left = min(capacity, left + Int(clamping: min(earned, Int64(capacity))))
                refilled = now
            }
        } else {
            refilled = now
        }
        guard left > 0 else { return false }
        left -= 1
        return true
    }
}

internal import CRoomsWslay
internal import RoomsRuntime

/// The message that is coming in, put together from its fragments and held against the limits.
struct IncomingMessage {
    struct Refusal {
        let code: UInt16
        let reason: String

        init(_ code: wslay_status_code, _ reason: String) {
            self.code = UInt16(code.rawValue)
            self.reason = reason
        }
    }

    /// A buffer that one large message has blown up beyond this is given back.
    private static let keptCapacity = 256 * 1024

    private let limits: WebSocketLimits
    private var bytes: [UInt8] = []
    private var whole = UnsafeRawBufferPointer(start: nil, count: 0)
    private var announced = 0
    private var fragments = 0
    private var isUnfragmented = false
    private var began: Instant?

    init(limits: WebSocketLimits) {
        self.limits = limits
    }

    /// A frame begins; its length counts before any of it is kept.
    mutating func startFrame(isFirst: Bool, isLast: Bool, length: UInt64, at now: Instant) -> Refusal? {
        if isFirst {
            announced = 0
            fragments = 0
            began = now
        }
        fragments += 1
        isUnfragmented = isFirst && isLast
        // wslay compares each frame with the limit; a message is the sum of its frames.
        announced += Int(clamping: length)
        if announced > limits.maxMessage {
            return Refusal(WSLAY_CODE_MESSAGE_TOO_BIG, "a message larger than the limit")
        }
        if fragments > limits.maxFragments {
            return Refusal(WSLAY_CODE_POLICY_VIOLATION, "a message of more fragments than the limit")
        }
        if isLast { bytes.reserveCapacity(min(announced, Self.keptCapacity)) }
        return nil
    }

    mutating func append(_ chunk: UnsafeRawBufferPointer) {
        if isUnfragmented, chunk.count == announced {
            // The message is reported before wslay reads on, so its own buffer serves.
            whole = chunk
        } else {
            bytes.append(contentsOf: chunk)
        }
    }

    /// When the message that is coming in must have ended; nil while there is none.
    var deadline: Instant? { began.map { $0 + limits.messageTime } }

    /// Whether the message has been coming in for longer than it may.
    func isLate(at now: Instant) -> Bool {
        began.map { now - $0 > limits.messageTime } ?? false
    }

    /// For as long nobody read.
    mutating func excuse(_ pause: Duration) {
        began = began.map { $0 + pause }
    }

    /// Ends the message and moves its bytes out: either those in wslay's buffer or an array.
    mutating func finish() -> (inPlace: UnsafeRawBufferPointer, kept: [UInt8]) {
        began = nil
        defer {
            whole = UnsafeRawBufferPointer(start: nil, count: 0)
            bytes = []
        }
        return (whole, bytes)
    }

    /// What came of the message is not wanted any more.
    mutating func drop() { _ = finish() }

    /// Takes an array of `finish` back, so that its storage serves again.
    mutating func recycle(_ array: inout [UInt8]) {
        guard array.capacity <= Self.keptCapacity else { return }
        array.removeAll(keepingCapacity: true)
        swap(&array, &bytes)
    }
}

internal import RoomsRuntime

/// What is wrong with one connection's link; there is one only while something is.
struct LinkFaults {
    /// So late a throttled link may still make up for.
    private static let slack = Duration.milliseconds(100)

    /// What comes is dropped, nothing goes out, and the socket stays open.
    private(set) var isSilent = false
    /// What goes out goes out so much later.
    private(set) var delay = Duration.zero
    private(set) var pausesReading = false
    private(set) var pausesWriting = false
    /// 0: any number.
    private(set) var bytesPerSecond = 0

    /// Frames that are not due yet.
    private var held: [(due: Instant, frame: [UInt8])] = []
    private(set) var heldBytes = 0
    /// When a throttled link takes the next bytes.
    private var freeAt = Instant(nanoseconds: 0)

    var isEmpty: Bool {
        !isSilent && delay == .zero && !pausesReading && !pausesWriting && bytesPerSecond == 0 && held.isEmpty
    }

    var holdsFrames: Bool { !held.isEmpty }

    mutating func apply(_ change: LinkChange) {
        isSilent = change.isSilent ?? isSilent
        delay = change.delay ?? delay
        pausesReading = change.pausesReading ?? pausesReading
        pausesWriting = change.pausesWriting ?? pausesWriting
        bytesPerSecond = change.bytesPerSecond ?? bytesPerSecond
    }

    /// Nothing is wrong any more; what is held goes out at once.
    mutating func lift() {
        let frames = held.map { (due: Instant(nanoseconds: 0), frame: $0.frame) }
        let bytes = heldBytes
        self = LinkFaults()
        (held, heldBytes) = (frames, bytes)
    }

    /// What a silent server would have said is never said.
    mutating func drop(_ outbox: inout Outbox) {
        outbox.removeAll()
        held = []
        heldBytes = 0
    }

    /// The next frame that may go out by now.
    mutating func takeFrame(from outbox: inout Outbox, at now: Instant) -> [UInt8]? {
        if held.isEmpty, delay == .zero { return outbox.takeFrame() }
        let due = now + delay
        while let frame = outbox.takeFrame() {
            held.append((due, frame))
            heldBytes += frame.count
        }
        guard let first = held.first, first.due <= now else { return nil }
        held.removeFirst()
        heldBytes -= first.frame.count
        return first.frame
    }

    /// So many of `count` bytes may go out by now.
    func allowance(_ count: Int, at now: Instant) -> Int {
        guard bytesPerSecond > 0 else { return count }
        // A twentieth of a second's share at a time.
        return now < freeAt ? 0 : min(count, max(1, bytesPerSecond / 20))
    }

    mutating func sent(_ count: Int, at now: Instant) {
        guard bytesPerSecond > 0 else { return }
        let start = max(freeAt, now + Self.slack * -1)
        freeAt = start + .nanoseconds(Int64(Double(count) / Double(bytesPerSecond) * 1e9))
    }

    /// When there is something to write again; `hasOutput` when bytes wait behind the throttle.
    func wakesAt(hasOutput: Bool) -> Instant {
        guard !isSilent, !pausesWriting else { return .distantFuture }
        let due = held.first?.due ?? .distantFuture
        return bytesPerSecond > 0 && hasOutput ? min(due, freeAt) : due
    }
}

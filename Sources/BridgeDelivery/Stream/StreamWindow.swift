internal import RoomsRuntime

/// The lines of one connection that wait for their acknowledgement, by their number.
///
/// Only the oldest of them has a deadline: a receiver that takes its lines one after the other has the whole time for each.
struct StreamWindow {
    struct Line {
        var attempt: EndpointStateMachine.Attempt
        /// When there was last news of it.
        var touched: Instant
    }

    private var lines: [UInt64: Line] = [:]
    /// The number of the last line; the first is 1.
    private(set) var last: UInt64 = 0
    /// No line below it waits.
    private var oldest: UInt64 = 1
    /// When the oldest became that.
    private var oldestSince = Instant(nanoseconds: 0)

    var count: Int { lines.count }
    var isEmpty: Bool { lines.isEmpty }

    /// The number of the line that is added next.
    var next: UInt64 { last + 1 }

    mutating func add(_ attempt: EndpointStateMachine.Attempt, _ now: Instant) {
        if lines.isEmpty { (oldest, oldestSince) = (next, now) }
        last += 1
        lines[last] = Line(attempt: attempt, touched: now)
    }

    /// Nil when it waits no more, or never did.
    mutating func take(_ number: UInt64, _ now: Instant) -> EndpointStateMachine.Attempt? {
        guard let line = lines.removeValue(forKey: number) else { return nil }
        if number == oldest { moveOn(now) }
        return line.attempt
    }

    mutating func takeOldest(_ now: Instant) -> EndpointStateMachine.Attempt? {
        take(oldest, now)
    }

    /// All up to `number`, the oldest first.
    mutating func takeAll(upTo number: UInt64, _ now: Instant) -> [EndpointStateMachine.Attempt] {
        var taken: [EndpointStateMachine.Attempt] = []
        while oldest <= number, let attempt = take(oldest, now) { taken.append(attempt) }
        return taken
    }

    /// All there are, the oldest first; what comes next begins at 1.
    mutating func takeAll() -> [EndpointStateMachine.Attempt] {
        let taken = lines.keys.sorted().compactMap { lines[$0]?.attempt }
        self = StreamWindow()
        return taken
    }

    /// There is news of it.
    mutating func touch(_ number: UInt64, _ now: Instant) {
        lines[number]?.touched = now
    }

    /// There is news of all of them.
    mutating func touchAll(_ now: Instant) {
        oldestSince = now
    }

    /// When the oldest has had its time.
    func deadline(_ time: Duration) -> Instant {
        guard let line = lines[oldest] else { return .distantFuture }
        return max(line.touched, oldestSince) + time
    }

    private mutating func moveOn(_ now: Instant) {
        oldestSince = now
        while oldest <= last, lines[oldest] == nil { oldest += 1 }
    }
}

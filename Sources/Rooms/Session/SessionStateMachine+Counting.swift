internal import RoomsRuntime
internal import RoomsWire

/// How many users are in the room: asked for when it was joined, and when somebody came or left.
extension SessionStateMachine {
    /// Somebody came into the room, or left it.
    mutating func membersMoved(_ turn: Turn) {
        guard countsMembers else { return }
        counting.moved(turn.now)
    }

    mutating func counted(_ users: UInt32, _ turn: inout Turn) {
        counting.answered(turn.now)
        turn.items.append(.count(room: room, users: users))
    }

    /// The room goes on without a count, until it is joined anew; trouble of the server's own passes sooner.
    mutating func countRefused(_ error: ErrorReply, _ turn: inout Turn) {
        if error.isTemporary || error.code == 100 || error.code == 111 {
            return counting.retry(at: turn.now + spread(.seconds(10), by: 10, random: turn.random))
        }
        guard counting.refused() else { return }
        turn.log(
            .warning,
            "the server does not tell how many are in a room",
            LogField(.room, name),
            LogField(.code, error.code),
            LogField(.reason, error.message)
        )
    }
}

/// When the members of a joined room are to be counted: at once, but not more often than once a second.
struct Counting: Equatable {
    private static let spacing = Duration.seconds(1)

    private(set) var isDue = false
    /// When it becomes due.
    private(set) var at: Instant?
    private var last: Instant?
    private var isRefused = false
    private var hasToldRefusal = false

    /// The room was joined.
    mutating func begin() {
        end()
        isDue = true
    }

    mutating func end() {
        let hasTold = hasToldRefusal
        self = Counting()
        hasToldRefusal = hasTold
    }

    mutating func moved(_ now: Instant) {
        guard !isRefused, !isDue, at == nil else { return }
        if let last, now - last < Self.spacing {
            at = last + Self.spacing
        } else {
            isDue = true
        }
    }

    mutating func tick(_ now: Instant) {
        guard let at, at <= now else { return }
        self.at = nil
        isDue = true
    }

    /// Whoever comes or leaves from here on may not be in the answer.
    mutating func asked() {
        isDue = false
    }

    mutating func answered(_ now: Instant) {
        last = now
        guard isDue else { return }
        isDue = false
        at = now + Self.spacing
    }

    mutating func retry(at instant: Instant) {
        at = instant
    }

    /// Whether it is worth a line in the log.
    mutating func refused() -> Bool {
        defer { hasToldRefusal = true }
        isRefused = true
        (isDue, at) = (false, nil)
        return !hasToldRefusal
    }
}

internal import RoomsRuntime

/// The commands that wait for their answers, and how many more may be sent.
///
/// Answers to recoveries and history pages are large: only few of them are awaited at once, fewer after each connection
/// that ended while some were.
struct CommandWindow {
    struct Entry {
        /// Nil: the connection itself.
        var room: Int?
        /// The session's number for it.
        var attempt: UInt32
        var isHeavy: Bool
        /// No other heavy command may be in flight beside it.
        var isAlone: Bool
        var sentAt: Instant
    }

    private let most: Int
    private let mostHeavy: Int
    private(set) var heavyLimit: Int
    private var entries: [UInt32: Entry] = [:]
    private(set) var heavyCount = 0
    private var isOccupied = false

    init(most: Int, mostHeavy: Int) {
        self.most = max(1, most)
        self.mostHeavy = max(1, mostHeavy)
        heavyLimit = self.mostHeavy
    }

    func admits(isHeavy: Bool, isAlone: Bool) -> Bool {
        guard entries.count < most else { return false }
        guard isHeavy else { return true }
        return !isOccupied && heavyCount < (isAlone ? 1 : heavyLimit)
    }

    mutating func sent(_ id: UInt32, _ entry: Entry) {
        entries[id] = entry
        guard entry.isHeavy else { return }
        heavyCount += 1
        isOccupied = entry.isAlone
    }

    /// The command that `id` answers; nil when none is awaited.
    mutating func answered(_ id: UInt32) -> Entry? {
        guard let entry = entries.removeValue(forKey: id) else { return nil }
        guard entry.isHeavy else { return entry }
        heavyCount -= 1
        isOccupied = false
        heavyLimit = min(mostHeavy, heavyLimit + 1)
        return entry
    }

    /// The connection ended; none of it will be answered.
    ///
    /// `isSuspicious`: in a way that too much at once would bring about.
    mutating func ended(isSuspicious: Bool) {
        if isSuspicious, heavyCount > 0 { heavyLimit = max(1, heavyLimit / 2) }
        entries.removeAll(keepingCapacity: true)
        heavyCount = 0
        isOccupied = false
    }

    /// When the first command has waited too long: `timeout` after it was sent; while large answers are awaited,
    /// `timeout` after the last byte was heard, but never more than twelve times that after it was sent.
    func deadline(timeout: Duration, lastHeard: Instant) -> Instant? {
        var earliest: Instant?
        for entry in entries.values {
            let since = heavyCount > 0 ? min(max(entry.sentAt, lastHeard), entry.sentAt + timeout * 11) : entry.sentAt
            earliest = min(earliest ?? .distantFuture, since + timeout)
        }
        return earliest
    }

    /// Nothing was read for a while by our own will: waiting starts anew.
    mutating func restart(at now: Instant) {
        for id in entries.keys { entries[id]?.sentAt = now }
    }

    /// What is in flight, by its id.
    var awaited: [UInt32: Entry] { entries }

    var isEmpty: Bool { entries.isEmpty }

    /// Only large answers are awaited, if any.
    var isHeavyOnly: Bool { entries.count == heavyCount }
}

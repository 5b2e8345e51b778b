internal import RoomsRuntime

/// Tokens that were given or fetched, each until it is old.
struct TokenStore {
    private struct Kept {
        var grant: Grant
        /// Given beforehand, not fetched.
        var isGiven: Bool
        /// Nil: the server did not tell how long it is good.
        var end: End?
    }

    /// On both clocks: one stands still while the machine sleeps, the other may be set.
    private struct End {
        var instant: Instant
        var wall: Int64
    }

    private let limit: Int
    private var kept: [TokenSubject: Kept] = [:]
    /// What was given and is not taken any more.
    private var spent: Set<TokenSubject> = []
    /// The connection has had a token once.
    private(set) var hasConnected: Bool

    /// `limit` is how many fetched tokens are kept.
    init(token: Secret?, grants: [ByteString: Grant], limit: Int) {
        self.limit = limit
        hasConnected = token != nil
        if let token { kept[.connection] = Kept(grant: Grant(token: token), isGiven: true) }
        for (room, grant) in grants { kept[.room(room)] = Kept(grant: grant, isGiven: true) }
    }

    func isSpent(_ subject: TokenSubject) -> Bool { spent.contains(subject) }

    /// Whether the subject has what it was given beforehand.
    func isGiven(_ subject: TokenSubject) -> Bool { kept[subject]?.isGiven ?? false }

    /// What is good still.
    mutating func grant(for subject: TokenSubject, _ now: Instant, _ wall: Int64) -> Grant? {
        guard let found = kept[subject] else { return nil }
        guard !isOld(found, now, wall) else {
            forget(subject)
            return nil
        }
        return found.grant
    }

    mutating func keep(_ grant: Grant, for subject: TokenSubject, _ now: Instant, _ wall: Int64) {
        if subject == .connection, grant.token != nil { hasConnected = true }
        if kept.count >= limit, kept[subject] == nil {
            kept = kept.filter { !isOld($0.value, now, wall) }
            // Rather asked for again than kept without end.
            if kept.count >= limit { kept = kept.filter { $0.value.isGiven } }
        }
        kept[subject] = Kept(grant: grant, isGiven: false)
    }

    /// It is old by the time at which it is to be renewed.
    mutating func learned(renewalAfter time: Duration, of subject: TokenSubject, _ now: Instant, _ wall: Int64) {
        // Who renews it has reckoned from a moment that is a little earlier.
        let wait = time - min(time / 10, .milliseconds(100))
        let (sum, overflow) = wall.addingReportingOverflow(wait.wholeMilliseconds)
        kept[subject]?.end = End(instant: now + wait, wall: overflow ? .max : sum)
    }

    mutating func forget(_ subject: TokenSubject) {
        if kept.removeValue(forKey: subject)?.isGiven == true { spent.insert(subject) }
    }

    private func isOld(_ kept: Kept, _ now: Instant, _ wall: Int64) -> Bool {
        guard let end = kept.end else { return false }
        return end.instant <= now || end.wall <= wall
    }
}

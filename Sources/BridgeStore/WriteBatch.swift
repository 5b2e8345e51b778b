internal import BridgeModel
internal import RoomsRuntime

/// What waits for a commit, and when the next one is due.
///
/// A group ends at 1,000 rows or 1 MiB. It never waits for more, but commits start at least 2 ms apart unless a whole
/// group waits; settlements alone wait up to 20 ms for company. After a full disk nothing is tried for a second.
struct WriteBatch {
    static let maxRows = 1_000
    static let maxBytes = 1 << 20
    static let spacing = Duration.milliseconds(2)
    static let patience = Duration.milliseconds(20)
    static let retryDelay = Duration.seconds(1)
    static let maxHeldSettlements = 16_384

    /// Everything waiting, in order; what was committed stands before `start`.
    private var records: [AppendRecord] = []
    private var start = 0
    private var settlements: [Settlement] = []
    /// The last word on each endpoint and room.
    private var holds: [HoldScope: StoredHold?] = [:]
    private var bytes = 0
    private var settlementsSince: Instant?
    private var lastStart: Instant?
    private var retryAt: Instant?

    /// The size of the group that `next` gave.
    private var groupRows = 0
    private var groupBytes = 0
    private var groupSettlements = 0
    private var groupHolds: [HoldScope: StoredHold?] = [:]

    /// What is committed together.
    struct Group {
        var records: ArraySlice<AppendRecord>
        var settlements: [Settlement]
        var holds: [HoldScope: StoredHold?] = [:]
    }

    mutating func add(_ more: [AppendRecord]) {
        if start == records.count {
            records = more
            start = 0
        } else {
            records.append(contentsOf: more)
        }
        for record in more { bytes += record.bytes }
    }

    mutating func add(_ more: [Settlement], now: Instant) {
        if settlementsSince == nil { settlementsSince = now }
        settlements.append(contentsOf: more)
        if retryAt != nil, settlements.count > Self.maxHeldSettlements { keepLastOfEachLane() }
    }

    /// Nil: it waits no more.
    mutating func add(_ hold: StoredHold?, of scope: HoldScope, now: Instant) {
        if settlementsSince == nil { settlementsSince = now }
        holds[scope] = .some(hold)
    }

    /// One settlement covers those before it, so that a disk that stays full holds no more of them than there are lanes.
    ///
    /// A dead letter is more than that, and stays, also one that was sent again, and what a gap told.
    private mutating func keepLastOfEachLane() {
        var last: [Lane: Int] = [:]
        for (index, settlement) in settlements.enumerated() where settlement.retry == nil {
            if let known = last[settlement.lane], settlements[known].row >= settlement.row { continue }
            last[settlement.lane] = index
        }
        let kept = Set(last.values)
        settlements = settlements.indices.filter { index in
            let settlement = settlements[index]
            return kept.contains(index) || settlement.deadLetter != nil || settlement.retry != nil
                || settlement.told != nil
        }
        .map { settlements[$0] }
    }

    var isEmpty: Bool { start == records.count && settlements.isEmpty && holds.isEmpty }
    var waitingRecords: Int { records.count - start }

    /// When the next commit may start; nil when nothing waits.
    func due() -> Instant? {
        guard !isEmpty else { return nil }
        if let retryAt { return retryAt }
        if waitingRecords >= Self.maxRows || bytes >= Self.maxBytes || settlements.count >= Self.maxRows {
            return Instant(nanoseconds: 0)
        }
        let spaced = lastStart.map { $0 + Self.spacing } ?? Instant(nanoseconds: 0)
        if waitingRecords > 0 { return spaced }
        return max(spaced, settlementsSince.map { $0 + Self.patience } ?? spaced)
    }

    /// The group to commit now; it stays until `committed`.
    mutating func next(
        now: Instant,
        takesRecords: Bool = true
    ) -> Group {
        lastStart = now
        groupRows = 0
        groupBytes = 0
        while takesRecords, start + groupRows < records.count, groupRows < Self.maxRows, groupBytes < Self.maxBytes {
            groupBytes += records[start + groupRows].bytes
            groupRows += 1
        }
        groupSettlements = settlements.count
        groupHolds = holds
        return Group(records: records[start..<start + groupRows], settlements: settlements, holds: holds)
    }

    /// Forgets the group that `next` gave; the bytes of its records.
    mutating func committed() -> Int {
        start += groupRows
        bytes -= groupBytes
        if start == records.count {
            records = []
            start = 0
        } else if start > 4 * Self.maxRows {
            records.removeFirst(start)
            start = 0
        }
        settlements.removeFirst(groupSettlements)
        for (scope, hold) in groupHolds where holds[scope] == .some(hold) { holds[scope] = nil }
        groupHolds = [:]
        settlementsSince = nil
        retryAt = nil
        return groupBytes
    }

    /// Keeps the group for another try.
    mutating func postpone(now: Instant) {
        retryAt = now + Self.retryDelay
    }
}

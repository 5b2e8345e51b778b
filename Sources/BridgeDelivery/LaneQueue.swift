internal import BridgeModel
internal import RoomsRuntime

/// What one room has for one endpoint: the records in memory, and how far the store has more.
///
/// The first of the records may be *set aside*: refused for their own sake as often as they may be. They stay here, in
/// order, until an accepted record behind them or beside them shows that the fault is theirs.
struct LaneQueue {
    enum Phase {
        /// Nothing in memory.
        case idle
        /// Waits for more, to go out together.
        case lingering
        /// In the ready queue.
        case ready
        /// One attempt is on its way.
        case inFlight
        /// Waits for its next attempt.
        case waiting
    }

    let lane: Lane
    let room: RoomKey
    var phase = Phase.idle
    /// What is in memory stays here until it is settled.
    private(set) var records = RingBuffer<PendingDelivery>()
    private(set) var bytes = 0
    /// The last seq that the endpoint accepted, and how many were given up since then.
    private(set) var acknowledged: Int64
    private(set) var skipped: Int64
    /// The first row that has not been here.
    var cursor: RowID
    /// The last row that there is.
    var tail: RowID

    /// The trials of those that are set aside, which are the first records.
    private(set) var aside: [Trial] = []
    /// That of the first record behind them.
    private(set) var head = Trial()
    /// Which record the next attempt is for, or begins with.
    private(set) var turn = 0
    /// How many an attempt may be for: one after a failure, then twice as many each time.
    private(set) var reach = Int.max
    /// Among so many behind those that are set aside one was refused, and nobody knows which; 0: nothing is known.
    private(set) var doubted = 0
    /// Accepted ahead of those before them.
    private(set) var taken: Set<RowID> = []

    var hold: Hold?
    /// The store knows of a hold, which may be over.
    var isHoldStored = false
    var wait: TimerID?
    /// It waits because the receiver said so, for as long as the connection lasts.
    var isPostponed = false
    /// It waits only because nothing stands behind what is set aside.
    var awaitsSuccessor = false
    /// Gaps for what it lost while an attempt was on its way.
    var losses: [PendingDelivery] = []
    /// Dead letters to be sent again that came while one was.
    var retries: [PendingDelivery] = []
    /// In the queue of those that want more from the store.
    var isWanting = false
    /// An answer of the store is on its way.
    var isAsking = false

    init(lane: Lane, room: RoomKey) {
        self.lane = lane
        self.room = room
        acknowledged = 0
        skipped = 0
        cursor = RowID(0)
        tail = RowID(-1)
    }

    init(_ state: LaneState) {
        lane = state.lane
        room = state.room
        acknowledged = state.acknowledged
        skipped = state.skipped
        cursor = state.next
        tail = state.tail
        head.attempts = state.hold?.attempts ?? 0
        isHoldStored = state.hold != nil
    }

    /// The store has rows that have not been here: a fresh one must wait behind them.
    var isBehind: Bool { cursor <= tail }

    /// All that is in memory is set aside.
    var isSpent: Bool { records.count == aside.count }

    /// Something of it was refused for its own sake.
    var isTroubled: Bool { !aside.isEmpty || head.refusals > 0 }

    /// The record that the next attempt is for, or the one on its way.
    var current: PendingDelivery? { turn < records.count ? records[turn] : nil }

    /// How many the endpoint has not had between the last it accepted and the current one.
    ///
    /// A dead letter that is sent again is no news.
    var skippedBefore: Int64 { skipped + Int64((0..<turn).count { records[$0].retry == nil }) }

    mutating func append(_ delivery: PendingDelivery) {
        cursor = RowID(delivery.row.rawValue + 1)
        tail = max(tail, delivery.row)
        bytes += delivery.bytes
        records.append(delivery)
    }

    // MARK: attempts

    /// Of the current record.
    private var trial: Trial {
        get { turn < aside.count ? aside[turn] : head }
        set { if turn < aside.count { aside[turn] = newValue } else { head = newValue } }
    }

    /// Counts the attempt that begins; its number, from 1.
    ///
    /// Where the one before was set aside and this one was accepted ahead of it, those that were are sent again: what becomes
    /// of them shows whose fault the other is.
    mutating func beginAttempt() -> Int {
        if !taken.isEmpty, let current, taken.contains(current.row) { taken = [] }
        trial.attempts += 1
        return trial.attempts
    }

    /// The attempt that began last does not count.
    mutating func takeBackAttempt() {
        trial.attempts -= 1
    }

    /// The current record was refused for its own sake; what is known of it now.
    mutating func refuse(_ refusal: Refusal, serial: UInt64, isSingledOut: Bool, wall: Int64) -> Trial {
        if trial.refusals == 0 { trial.firstRefusal = serial }
        if isSingledOut { trial.isSingledOut = true }
        return count(refusal, refusal.deadLetterReason, since: wall, wall: wall)
    }

    /// The current record is blamed for failures that were not said to be its own; the first of them came `since` then.
    mutating func blame(_ refusal: Refusal, since: Int64, wall: Int64) {
        _ = count(refusal, .inferred, since: since, wall: wall)
    }

    private mutating func count(
        _ refusal: Refusal,
        _ reason: DeadLetter.Reason,
        since: Int64,
        wall: Int64
    ) -> Trial {
        if trial.refusals == 0 { trial.firstAt = since }
        trial.refusals += 1
        trial.lastAt = wall
        trial.reason = reason
        trial.status = refusal.status
        return trial
    }

    /// The current record has had its tries: the next attempt is for the one behind it.
    mutating func setAside(isDecided: Bool) {
        if turn == aside.count {
            aside.append(head)
            head = Trial()
        }
        doubted = 0
        if isDecided { aside[turn].isDecided = true }
        turn += 1
    }

    /// The next attempt begins with what was set aside first.
    mutating func beginRound() {
        turn = 0
    }

    /// Goes past what is set aside.
    mutating func skipAside() {
        turn = aside.count
    }

    /// Nothing was its own fault: all of it is tried as if for the first time.
    mutating func forgetRefusals() {
        aside = []
        head = Trial()
        turn = 0
        doubted = 0
    }

    // MARK: batches

    /// How many records the next attempt is for: one of those that failed for their own sake, else as many as may be.
    ///
    /// Half of those among which a refused one is.
    func run(upTo most: Int, bytes limit: Int) -> (count: Int, bytes: Int) {
        let isAlone = turn < aside.count || head.refusals > 0
        let most = isAlone ? 1 : min(most, reach, doubted > 0 ? max(1, doubted / 2) : .max)
        var count = 0
        var size = 0
        var index = turn
        while index < records.count, count < most {
            let record = records[index]
            index += 1
            if !taken.isEmpty, taken.contains(record.row) { continue }
            guard count == 0 || (size + record.bytes <= limit && record.retry == nil) else { break }
            count += 1
            size += record.bytes
            // The store wants to hear of these one by one.
            if record.loss != nil || record.retry != nil { break }
        }
        return (count, size)
    }

    /// The first `count` records of an attempt.
    func records(_ count: Int) -> [PendingDelivery] {
        var run: [PendingDelivery] = []
        run.reserveCapacity(count)
        var index = turn
        while index < records.count, run.count < count {
            if taken.isEmpty || !taken.contains(records[index].row) { run.append(records[index]) }
            index += 1
        }
        return run
    }

    /// One of the first `count` was refused.
    mutating func doubt(_ count: Int) {
        doubted = count
    }

    /// It failed: the next attempt is for one record.
    mutating func shorten(to count: Int = 1) {
        reach = count
    }

    /// Of the `count` records of an attempt those at `places` were accepted, ahead of others.
    mutating func take(_ places: [Int], of count: Int) {
        let run = records(count)
        for place in places where place < run.count { taken.insert(run[place].row) }
    }

    /// Takes what was accepted before and has come to be first.
    mutating func settleTaken() -> Settlement? {
        isFirstTaken ? settle(0) : nil
    }

    private var isFirstTaken: Bool {
        guard !taken.isEmpty, let first = records.first else { return false }
        return taken.contains(first.row)
    }

    // MARK: what leaves

    /// How many of the first are decided upon.
    var decided: Int { aside.prefix(while: \.isDecided).count }

    /// Takes the first `count` records, which are set aside, for dead letters.
    mutating func giveUp(_ count: Int) -> [Settlement] {
        var settlements: [Settlement] = []
        for trial in aside.prefix(count) {
            guard let record = take() else { break }
            if record.retry == nil { skipped += 1 }
            var settlement = Settlement(lane: lane, row: record.row, seq: record.seq)
            settlement.deadLetter = trial.deadLetter
            settlement.retry = record.retry
            settlements.append(settlement)
        }
        aside.removeFirst(settlements.count)
        turn = max(0, turn - settlements.count)
        return settlements
    }

    /// Takes the first records, of which `count` were accepted now, and those behind that were before.
    mutating func settle(_ count: Int) -> Settlement? {
        var last: PendingDelivery?
        var left = count
        while left > 0 || isFirstTaken, let record = take() {
            if taken.isEmpty || taken.remove(record.row) == nil { left -= 1 }
            last = record
            // The store wants to hear of these one by one.
            if record.retry != nil || record.loss != nil { break }
        }
        guard let record = last else { return nil }
        if record.retry == nil {
            acknowledged = record.seq
            // What was given up before those that were taken already is told by the next delivery.
            if count > 0 { skipped = 0 }
        } else if record.seq > acknowledged {
            (acknowledged, skipped) = (record.seq, max(0, skipped - 1))
        }
        turn = 0
        doubted = max(0, doubted - count)
        if count > 0, reach < .max / 2 { reach *= 2 }
        if aside.isEmpty { head = Trial() } else { aside.removeFirst(min(count, aside.count)) }
        var settlement = Settlement(lane: lane, row: record.row, seq: record.seq)
        settlement.retry = record.retry
        if let gap = record.loss, let to = gap.to, to >= gap.from { settlement.told = gap.from...to }
        return settlement
    }

    // MARK: what is lost

    /// Everything up to the row of `gap` is gone, and the gap stands in its place; not while an attempt is on its way.
    ///
    /// A gap that was tried before keeps its range, since the receiver may know it by its id: the new one then tells of the
    /// rest.
    mutating func lose(_ gap: PendingDelivery) {
        // The endpoint had it all before the store knew.
        guard gap.seq > acknowledged, case .gap(var new, let at) = gap.body else { return }
        var kept = RingBuffer<PendingDelivery>()
        var first = Trial()
        for index in 0..<records.count {
            let record = records[index]
            let trial = index < aside.count ? aside[index] : index == aside.count ? head : Trial()
            guard record.row <= gap.row || record.retry != nil else { continue }
            guard let old = record.loss else {
                if record.retry != nil { kept.append(record) }
                continue
            }
            let isSame = old.epoch == new.epoch && old.incarnation == new.incarnation
            guard !isSame || trial.attempts > 0 else { continue }
            if isSame, old.from == new.from { new.from = old.to.map { $0 == .max ? $0 : $0 + 1 } ?? new.from }
            if kept.isEmpty { first.attempts = trial.attempts }
            kept.append(record)
        }
        if new.to.map({ $0 >= new.from }) ?? true {
            var delivery = gap
            delivery.body = .gap(new, at: at)
            kept.append(delivery)
        }
        for index in 0..<records.count where records[index].row > gap.row && records[index].retry == nil {
            kept.append(records[index])
        }
        records = kept
        bytes = (0..<kept.count).reduce(0) { $0 + kept[$1].bytes }
        (aside, head, turn, doubted) = ([], first, 0, 0)
        taken = taken.filter { $0 > gap.row }
        awaitsSuccessor = false
        cursor = max(cursor, RowID(gap.row.rawValue + 1))
    }

    // MARK: what is sent again

    /// Puts a dead letter before everything but those that come before it; not while an attempt is on its way.
    ///
    /// `acknowledged`: what the endpoint accepted in the room, where this is not the room's own lane.
    mutating func insert(_ letter: PendingDelivery, acknowledged known: Int64? = nil) {
        var place = 0
        while place < records.count, records[place].retry != nil, records[place].seq <= letter.seq { place += 1 }
        var all = RingBuffer<PendingDelivery>()
        for index in 0..<place { all.append(records[index]) }
        all.append(letter)
        for index in place..<records.count { all.append(records[index]) }
        records = all
        bytes += letter.bytes
        if place <= aside.count { forgetRefusals() }
        awaitsSuccessor = false
        if let known { acknowledged = max(acknowledged, known) }
    }

    private mutating func take() -> PendingDelivery? {
        guard let record = records.popFirst() else { return nil }
        bytes -= record.bytes
        return record
    }

    /// Forgets all behind the first that is not set aside: the store has them.
    ///
    /// An answer of the store that is on its way no longer fits and is dropped when it comes.
    mutating func trim() {
        // Gaps for what was lost and dead letters do not come with a refill; what was taken is settled with what is before it.
        let special =
            (0..<records.count).last {
                records[$0].loss != nil || records[$0].retry != nil || taken.contains(records[$0].row)
            } ?? 0
        let kept = max(aside.count, special) + 1
        guard records.count > kept else { return }
        let next = records[kept].row
        records.keepFirst(kept)
        bytes = (0..<kept).reduce(0) { $0 + records[$1].bytes }
        cursor = next
        isAsking = false
    }
}

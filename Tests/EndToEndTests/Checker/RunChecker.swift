internal import RoomsRuntime

/// Compares what the server took with what the receiver got, and names every promise that was broken.
///
/// It knows nothing of the bridge but its promise: nothing lost outside declared gaps, order per room, bytes untouched,
/// nothing invented, and duplicates only of what a kill left undecided.
struct RunChecker {
    /// How old an acceptance may be at a kill and still be forgotten by it.
    static let window = Duration.milliseconds(250)

    private struct Acceptance {
        var first: Instant
        var last: Reception
    }

    private let log: RunLog
    private var report = RunReport()
    private var digests: [EventKey: [UInt8]] = [:]
    private var accepted: [EventKey: Acceptance] = [:]
    private var epochs: [ByteString: EpochOrder] = [:]
    private var gaps: [ByteString: [DeclaredGap]] = [:]
    private var seen: Set<StreamName> = []

    private init(_ log: RunLog) {
        self.log = log
    }

    static func check(_ log: RunLog) -> RunReport {
        var checker = RunChecker(log)
        return checker.run()
    }

    private mutating func run() -> RunReport {
        report.published = log.published.count
        for entry in log.published {
            digests[entry.key] = entry.digest
            epochs[entry.key.room, default: EpochOrder()].see(entry.key.epoch)
        }
        let receptions = log.receptions.sorted { $0.arrived < $1.arrived }
        checkIdentities(receptions)
        for reception in receptions {
            epochs[reception.room, default: EpochOrder()].see(reception.epoch)
            seen.insert(StreamName(room: reception.room, epoch: reception.epoch))
            if case .gap(let from, let to, let reason) = reception.item {
                declare(DeclaredGap(reception, from: from, to: to, reason: reason))
            }
        }
        for reception in receptions {
            guard case .event(let offset, let digest) = reception.item else { continue }
            take(reception, EventKey(room: reception.room, epoch: reception.epoch, offset: offset), digest)
        }
        checkOrder(receptions)
        checkLosses()
        report.received = accepted.count
        report.gaps = gaps.values.reduce(0) { $0 + $1.count }
        return report
    }

    // MARK: bytes, inventions, duplicates

    private mutating func take(_ reception: Reception, _ key: EventKey, _ digest: [UInt8]) {
        if let known = digests[key] {
            if known != digest { report.faults.append(.changed(key)) }
        } else if log.uncertain.contains(Uncertain(room: key.room, digest: digest)) {
            digests[key] = digest
        } else {
            report.faults.append(.invented(key))
        }
        if let before = accepted[key] {
            report.repeated += 1
            if !isExcused(before.last, again: reception) {
                report.faults.append(.duplicated(key))
                report.remarks.append(remark(key, before.last, again: reception))
            }
        }
        if let time = reception.accepted {
            accepted[key] = Acceptance(first: min(accepted[key]?.first ?? time, time), last: reception)
        }
        if gaps[key.room, default: []].contains(where: { $0.covers(key) }) { report.faults.append(.falseGap(key)) }
    }

    /// A kill between both receptions found the first one in flight, or answered too recently to be on disk.
    private func isExcused(_ first: Reception, again second: Reception) -> Bool {
        guard let accepted = first.accepted else { return true }
        return log.kills.contains { kill in
            first.arrived <= kill.restarted && kill.restarted <= second.arrived && kill.killed <= accepted + Self.window
        }
    }

    private func remark(_ key: EventKey, _ first: Reception, again second: Reception) -> String {
        guard let accepted = first.accepted, let kill = log.kills.last(where: { $0.killed <= second.arrived }) else {
            return "\(key) came twice without a kill"
        }
        return "\(key) was accepted \(kill.killed - accepted) before the kill and came again"
            + " \(second.arrived - kill.restarted) after the restart"
    }

    private mutating func checkIdentities(_ receptions: [Reception]) {
        var keys: [ByteString: EventKey] = [:]
        var ids: [EventKey: ByteString] = [:]
        for reception in receptions {
            guard case .event(let offset, _) = reception.item else { continue }
            let key = EventKey(room: reception.room, epoch: reception.epoch, offset: offset)
            let isNew = keys.updateValue(key, forKey: reception.id).map { $0 == key } ?? true
            let isSame = ids.updateValue(reception.id, forKey: key).map { $0 == reception.id } ?? true
            if !isNew || !isSame { report.faults.append(.identity(key)) }
        }
    }

    // MARK: order and gaps

    private mutating func declare(_ gap: DeclaredGap) {
        guard let time = gap.accepted else { return }
        var known = gaps[gap.room, default: []]
        if let index = known.firstIndex(where: { $0.isSame(as: gap) }) {
            known[index].accepted = min(known[index].accepted ?? time, time)
        } else {
            known.append(gap)
            if !log.allowsGaps { report.faults.append(.unexpectedGap(gap.start)) }
        }
        gaps[gap.room] = known
    }

    /// Nothing arrives before what stands in front of it was accepted.
    private mutating func checkOrder(_ receptions: [Reception]) {
        var begun: [ByteString: ByteString] = [:]
        var judged: Set<EventKey> = []
        for reception in receptions {
            guard case .event(let offset, _) = reception.item else { continue }
            let key = EventKey(room: reception.room, epoch: reception.epoch, offset: offset)
            if let last = begun[key.room], last != key.epoch, epochs[key.room]?.isBefore(last, key.epoch) == true,
                !hasEnd(of: last, in: key.room, before: reception.arrived)
            {
                report.faults.append(.missingGap(key))
            }
            if begun[key.room].map({ epochs[key.room]?.isBefore($0, key.epoch) == true }) ?? true {
                begun[key.room] = key.epoch
            }
            guard judged.insert(key).inserted else { continue }
            if begun[key.room] != key.epoch { report.faults.append(.reordered(key)) }
            guard key.offset > 1 else { continue }
            let previous = EventKey(room: key.room, epoch: key.epoch, offset: key.offset - 1)
            if let time = accepted[previous]?.first {
                if time > reception.arrived { report.faults.append(.reordered(key)) }
            } else if let gap = gaps[key.room, default: []].first(where: { $0.covers(previous) }) {
                if gap.accepted.map({ $0 > reception.arrived }) ?? true { report.faults.append(.reordered(key)) }
            } else if digests[previous] == nil {
                report.faults.append(.missingGap(key))
            }
        }
        for gap in gaps.values.joined() where gap.from > 1 {
            let previous = EventKey(room: gap.room, epoch: gap.epoch, offset: gap.from - 1)
            if let time = accepted[previous]?.first, time > gap.arrived { report.faults.append(.reordered(gap.start)) }
        }
    }

    private func hasEnd(of epoch: ByteString, in room: ByteString, before time: Instant) -> Bool {
        gaps[room, default: []].contains { gap in
            gap.epoch == epoch && gap.to == nil && (gap.accepted.map { $0 <= time } ?? false)
        }
    }

    // MARK: losses

    private mutating func checkLosses() {
        for entry in log.published where accepted[entry.key] == nil {
            if isDeclared(entry.key) {
                report.declared += 1
            } else {
                report.faults.append(.lost(entry.key))
            }
        }
    }

    /// A gap names it; or its whole epoch came and went unseen, after the end of an earlier one was declared.
    private func isDeclared(_ key: EventKey) -> Bool {
        let declared = gaps[key.room, default: []]
        if declared.contains(where: { $0.covers(key) }) { return true }
        return !seen.contains(StreamName(room: key.room, epoch: key.epoch))
            && declared.contains { $0.to == nil && epochs[key.room]?.isBefore($0.epoch, key.epoch) == true }
    }
}

private struct StreamName: Hashable {
    var room: ByteString
    var epoch: ByteString
}

/// The streams of one room in the order in which they came up.
private struct EpochOrder {
    private var ranks: [ByteString: Int] = [:]

    mutating func see(_ epoch: ByteString) {
        if ranks[epoch] == nil { ranks[epoch] = ranks.count }
    }

    func isBefore(_ left: ByteString, _ right: ByteString) -> Bool {
        (ranks[left] ?? .max) < (ranks[right] ?? .max)
    }
}

/// A range of a room's stream that the receiver was told is missing.
private struct DeclaredGap {
    var room: ByteString
    var epoch: ByteString
    var from: UInt64
    var to: UInt64?
    var reason: String
    var arrived: Instant
    var accepted: Instant?

    init(_ reception: Reception, from: UInt64, to: UInt64?, reason: String) {
        room = reception.room
        epoch = reception.epoch
        self.from = from
        self.to = to
        self.reason = reason
        arrived = reception.arrived
        accepted = reception.accepted
    }

    var start: EventKey { EventKey(room: room, epoch: epoch, offset: from) }

    func covers(_ key: EventKey) -> Bool {
        key.room == room && key.epoch == epoch && key.offset >= from && (to.map { key.offset <= $0 } ?? true)
    }

    func isSame(as other: DeclaredGap) -> Bool {
        start == other.start && to == other.to && reason == other.reason
    }
}

import RoomsRuntime
import RoomsWire

@testable import Rooms

/// A sink that keeps no events, but notes each that does not continue where its room stood.
///
/// Whatever a server does, a room's offsets come one by one, or lie in a gap.
final class OrderSink: EventSink {
    struct Seen: Sendable {
        var events = 0
        var loose = 0
        var gaps = 0
        var joins = 0
        var members = 0
        /// Where each room stands.
        var positions: [Int: RoomPosition] = [:]
        /// What is out of order.
        var faults: [String] = []
        /// The newest first, as `statuses` writes them; at most a hundred.
        var statuses: [String] = []
        var failures: [(code: UInt32, reason: ByteString)] = []
        var reasons: [ByteString] = []
    }

    private let state = Lock(Seen())

    var seen: Seen { state.withLock { $0 } }

    func take(_ items: [SinkItem]) -> Intake {
        state.withLock { seen in
            for item in items { seen.note(item) }
        }
        return .open
    }
}

extension OrderSink.Seen {
    fileprivate mutating func note(_ item: SinkItem) {
        switch item {
        case .event(_, _, nil, _): loose += 1
        case .event(let room, let publication, let position?, _):
            events += 1
            if position.offset != publication.offset { faults.append("\(publication.offset) at \(position)") }
            if let known = positions[room], !isNext(position, known) { faults.append("\(position) after \(known)") }
            positions[room] = position
        case .gap(let room, let gap, let next):
            gaps += 1
            if let known = positions[room], !continues(gap, next, known) {
                faults.append("\(gap) to \(next) after \(known)")
            }
            positions[room] = next
        case .joined(let room, let position, _):
            joins += 1
            guard let position else { return }
            if let known = positions[room], known != position, !known.epoch.isEmpty {
                faults.append("joined at \(position) after \(known)")
            }
            positions[room] = position
        case .failed(_, let code, let reason):
            failures.append((code, reason))
        case .member, .count: members += 1
        case .delayed, .answer: break
        case .connection(let status):
            if case .waiting(_, let reason, _, _) = status { reasons.append(reason) }
            statuses = Array((RoomsTests.statuses([item]) + statuses).prefix(100))
        }
    }

    private func isNext(_ position: RoomPosition, _ known: RoomPosition) -> Bool {
        position.offset == known.next && known.offset != .max && position.incarnation == known.incarnation
            && (position.epoch == known.epoch || known.epoch.isEmpty)
    }

    private func continues(_ gap: RoomGap, _ next: RoomPosition, _ known: RoomPosition) -> Bool {
        switch gap.reason {
        case .wentBack: gap.from == next.next && gap.to == known.offset && next.incarnation == known.incarnation &+ 1
        case .epochChanged: gap.from == known.next && next.epoch != known.epoch && next.offset == 0
        case .invalidated: gap.from == known.next
        default: gap.from == known.next && gap.to == next.offset && next.epoch == known.epoch
        }
    }
}

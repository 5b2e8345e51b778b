internal import RoomsRuntime

/// A broken promise that the checker found.
enum RunFault: Hashable, Sendable, CustomStringConvertible {
    /// Published, never accepted by the receiver, in no declared gap.
    case lost(EventKey)
    /// Arrived before the one in front of it in its room was accepted.
    case reordered(EventKey)
    case changed(EventKey)
    /// Nobody published it.
    case invented(EventKey)
    /// Came again although it was accepted long before the last kill.
    case duplicated(EventKey)
    /// The room's stream jumps to this place and nothing told the receiver.
    case missingGap(EventKey)
    /// A gap where the server lost nothing.
    case unexpectedGap(EventKey)
    /// A gap that says an event is missing which was received.
    case falseGap(EventKey)
    /// One event under two ids, or two under one.
    case identity(EventKey)

    var kind: String {
        switch self {
        case .lost: "lost"
        case .reordered: "reordered"
        case .changed: "changed"
        case .invented: "invented"
        case .duplicated: "duplicated"
        case .missingGap: "missing gap"
        case .unexpectedGap: "unexpected gap"
        case .falseGap: "false gap"
        case .identity: "identity"
        }
    }

    var key: EventKey {
        switch self {
        case .lost(let key), .reordered(let key), .changed(let key), .invented(let key), .duplicated(let key),
            .missingGap(let key), .unexpectedGap(let key), .falseGap(let key), .identity(let key):
            key
        }
    }

    var description: String { "\(kind): \(key)" }
}

/// What a run came to.
struct RunReport: Sendable, CustomStringConvertible {
    var published = 0
    /// Different events that were accepted.
    var received = 0
    /// Receptions of events that had been accepted before.
    var repeated = 0
    /// Different gaps that were accepted.
    var gaps = 0
    /// Published, and declared missing by a gap.
    var declared = 0
    var faults: [RunFault] = []
    /// What helps to understand a fault.
    var remarks: [String] = []

    func count(_ kind: String) -> Int { faults.count { $0.kind == kind } }

    var description: String {
        let summary =
            "published \(published), received \(received), repeated \(repeated), gaps \(gaps) (declared \(declared)), "
            + "lost \(count("lost")), out of order \(count("reordered"))"
        guard !faults.isEmpty else { return summary }
        return summary + "\n" + (faults.map(\.description).prefix(20) + remarks.prefix(20)).joined(separator: "\n")
    }
}

import RoomsRuntime
import RoomsWire

@testable import Rooms

/// What sinks got of one room, as few lines as tell everything: runs of events in one, epochs as letters in the order in
/// which they were first heard.
///
/// `joined A/3`, `event A/4-6`, `replay A/7-306`, `gap trimmed A/7-9 then A/9`, `loose 2`, `failed 103`. A run is one of
/// offsets without holes, and each has its own position; what is out of order or comes twice begins another line.
func story(_ items: [SinkItem], room: Int = 0) -> [String] {
    var lines: [Line] = []
    var letters = Letters()
    for item in items {
        switch item {
        case .joined(room, let position?, let isDurable):
            lines.append(.other("joined \(letters.text(position))" + (isDurable ? "" : " not durable")))
        case .joined(room, nil, _):
            lines.append(.other("joined live-only"))
        case .event(room, let publication, let position?, let isReplayed):
            guard publication.offset == position.offset else {
                lines.append(.other("event \(publication.offset) at \(letters.text(position))"))
                break
            }
            let stream = (isReplayed ? "replay " : "event ") + letters.stream(position)
            if case .run(stream, let first, let last) = lines.last, publication.offset == last + 1 {
                lines[lines.count - 1] = .run(stream, first, publication.offset)
            } else {
                lines.append(.run(stream, publication.offset, publication.offset))
            }
        case .event(room, _, nil, _):
            if case .loose(let count) = lines.last {
                lines[lines.count - 1] = .loose(count + 1)
            } else {
                lines.append(.loose(1))
            }
        case .gap(room, let gap, let position):
            let before = RoomPosition(epoch: gap.epoch, offset: 0, incarnation: gap.incarnation)
            let range = letters.stream(before) + "/\(gap.from)-" + (gap.to.map { "\($0)" } ?? "")
            lines.append(.other("gap \(gap.reason.rawValue) \(range) then \(letters.text(position))"))
        case .failed(room, let code, _):
            lines.append(.other("failed \(code)"))
        default: break
        }
    }
    return lines.map(\.text)
}

private enum Line {
    case run(String, UInt64, UInt64)
    case loose(Int)
    case other(String)

    var text: String {
        switch self {
        case .run(let stream, let first, let last): "\(stream)/\(first)" + (last == first ? "" : "-\(last)")
        case .loose(let count): "loose \(count)"
        case .other(let text): text
        }
    }
}

private struct Letters {
    private var known: [ByteString] = []

    mutating func stream(_ position: RoomPosition) -> String {
        let index = known.firstIndex(of: position.epoch) ?? known.count
        if index == known.count { known.append(position.epoch) }
        let letter = String(UnicodeScalar(UInt8(ascii: "A") + UInt8(index)))
        return letter + (position.incarnation == 0 ? "" : "#\(position.incarnation)")
    }

    mutating func text(_ position: RoomPosition) -> String { "\(stream(position))/\(position.offset)" }
}

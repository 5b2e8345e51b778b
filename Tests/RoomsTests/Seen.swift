import RoomsRuntime
import RoomsWire

@testable import Rooms

/// What a sink got, as one short text each, so that tables of expectations can be read.
///
/// `joined A/5`, `joined live-only`, `event A/6`, `replay A/7`, `loose`, `gap trimmed A/8-9 then A/9`, `failed 103`, `join ann`,
/// `count 3`.
func seen(_ items: [SinkItem], room wanted: Int? = nil) -> [String] {
    items.compactMap { item in
        switch item {
        case .joined(let room, let position, let isDurable) where wanted == nil || wanted == room:
            guard let position else { return "joined live-only" }
            return "joined \(text(position))" + (isDurable ? "" : " not durable")
        case .event(let room, let publication, let position, let isReplayed) where wanted == nil || wanted == room:
            guard let position else { return "loose" }
            let mismatch = publication.offset == position.offset ? "" : " MISMATCH"
            return (isReplayed ? "replay " : "event ") + text(position) + mismatch
        case .gap(let room, let gap, let position) where wanted == nil || wanted == room:
            let incarnation = gap.incarnation == 0 ? "" : "#\(gap.incarnation)"
            let range = "\(gap.epoch.string)\(incarnation)/\(gap.from)-\(gap.to.map { "\($0)" } ?? "")"
            return "gap \(gap.reason.rawValue) \(range) then \(text(position))"
        case .failed(let room, let code, _) where wanted == nil || wanted == room:
            return "failed \(code)"
        case .member(let room, let info, let isHere, _) where wanted == nil || wanted == room:
            return (isHere ? "join " : "leave ") + info.user.string
        case .count(let room, let users) where wanted == nil || wanted == room:
            return "count \(users)"
        default:
            return nil
        }
    }
}

private func text(_ position: RoomPosition) -> String {
    let incarnation = position.incarnation == 0 ? "" : "#\(position.incarnation)"
    return "\(position.epoch.string)\(incarnation)/\(position.offset)"
}

/// States of the connection as a sink hears them: `connecting`, `connected`, `waiting 3001`, `terminal 3500`, `held`, `stopped`.
func statuses(_ items: [SinkItem]) -> [String] {
    items.compactMap { item in
        guard case .connection(let status) = item else { return nil }
        switch status {
        case .waiting(let code, _, _, let isTerminal): return (isTerminal ? "terminal " : "waiting ") + "\(code)"
        default: return "\(status)"
        }
    }
}

internal import BridgeModel

extension RoomNotice.Kind {
    /// As envelopes and headers have it.
    var type: StaticString {
        switch self {
        case .member: "room.member"
        case .count: "room.count"
        case .state: "room.state"
        }
    }
}

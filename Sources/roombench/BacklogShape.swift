/// How waiting events are spread over the rooms of an endpoint.
enum BacklogShape: CaseIterable {
    case manyLanes
    case fewLanes
    /// One room has nearly all of them.
    case busyLane

    var name: String {
        switch self {
        case .manyLanes: "in 10,000 lanes"
        case .fewLanes: "in 8 lanes"
        case .busyLane: "in one lane among 999 quiet ones"
        }
    }

    var rooms: Int {
        switch self {
        case .manyLanes: 10_000
        case .fewLanes: 8
        case .busyLane: 1_000
        }
    }

    /// The room of an event, by its number.
    func room(of event: Int) -> Int {
        switch self {
        case .manyLanes, .fewLanes: event % rooms
        case .busyLane: event % 100 == 99 ? 1 + event / 100 % 999 : 0
        }
    }
}

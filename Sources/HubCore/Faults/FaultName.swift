internal import RoomsRuntime

/// What faults are called in requests, and what may be said of each.
enum FaultName: String, CaseIterable {
    case newEpoch = "new_epoch"
    case dropHistory = "drop_history"
    case skipOffset = "skip_offset"
    case losePush = "lose_push"
    case duplicatePush = "duplicate_push"
    case goBack = "go_back"
    case close, cut, silence, delay, pause, throttle, resume
    case failSubscribes = "fail_subscribes"
    case failConnects = "fail_connects"
    case refuseUpgrades = "refuse_upgrades"
    case listener
    /// Ends all faults that are in force.
    case reset

    private static let target: Set<ByteString> = ["client", "user", "listener"]
    private static let links = target.union(["new"])

    var keys: Set<ByteString> {
        switch self {
        case .newEpoch: ["channel", "noticed"]
        case .dropHistory: ["channel"]
        case .skipOffset, .losePush: ["channel", "count", "noticed"]
        case .duplicatePush: ["channel", "count"]
        case .goBack: ["channel", "offset", "noticed"]
        case .close: Self.target.union(["code", "reason"])
        case .cut: Self.target.union(["reset"])
        case .silence: Self.links
        case .delay: Self.links.union(["by"])
        case .pause: Self.links.union(["reading", "writing"])
        case .throttle: Self.links.union(["bytes_per_second"])
        case .resume: Self.target
        case .failSubscribes: ["count", "code", "message", "temporary", "pattern"]
        case .failConnects: ["count", "code", "message", "temporary"]
        case .refuseUpgrades: ["count", "status", "listener"]
        case .listener: ["address", "refuse", "cut", "reset"]
        case .reset: []
        }
    }

    /// The name that `text` is probably meant to be.
    static func nearest(to text: ByteString) -> FaultName? {
        let distance = { (name: FaultName) in text.distance(to: ByteString(name.rawValue)) }
        return allCases.min { distance($0) < distance($1) }.flatMap { distance($0) <= 3 ? $0 : nil }
    }
}

internal import LocalHTTP
internal import RoomsRuntime
internal import RoomsWire

/// Something that goes wrong because a test or a demo asks for it.
enum Fault {
    // Rooms
    case newEpoch(Room, Notice)
    case dropHistory(Room)
    case skipOffset(Room, count: UInt64, Notice)
    case losePush(Room, count: Int, Notice)
    case duplicatePush(Room, count: Int)
    case goBack(Room, offset: UInt64, Notice)

    // Connections
    case close(Target, HubClose)
    case cut(Target, isReset: Bool)
    case link(Target, LinkChange)
    case resume(Target)

    // Answers
    case failSubscribes(FailedAnswers)
    case failConnects(FailedAnswers)
    case refuseUpgrades(RefusedUpgrades)

    // Listeners
    case listener(HubListener, refuse: Bool?, cut: Bool, isReset: Bool)

    /// When the hub notices that the members of a room have lost their position, and ends their subscriptions with
    /// 2500, or with 3010 the connections whose subscription is server-side.
    enum Notice: String, CaseIterable {
        case now
        /// In place of the next publication.
        case publication
        /// Never: it is left to the clients.
        case never
    }

    /// Connections: all, or those to which everything that is said here applies.
    struct Target {
        var client: ByteString?
        var user: ByteString?
        var listener: HubListener?
        /// Also those that come later.
        var includesNew = false

        func covers(_ connection: HubConnection) -> Bool {
            if let client, connection.session.client != client { return false }
            if let user, connection.session.user != user { return false }
            if let listener, connection.listener !== listener { return false }
            return true
        }
    }
}

/// What becomes of a link from now on; nil: as it was.
struct LinkChange {
    var isSilent: Bool?
    var delay: Duration?
    var pausesReading: Bool?
    var pausesWriting: Bool?
    var bytesPerSecond: Int?
}

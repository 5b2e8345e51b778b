import RoomsRuntime
import RoomsWire

/// One message of a server with our names in place of the server's: equal when two servers said the same.
struct Heard: Sendable, CustomStringConvertible {
    enum Kind: String, Sendable {
        case reply
        case ping
        case publication = "pub"
        case join
        case leave
        case unsubscribe
        case subscribe
        case refresh
        case other
    }

    var text: String
    var kind: Kind
    /// The reply's.
    var id: UInt32 = 0
    /// The reply that makes a connection.
    var isConnection = false
    /// The room of a push.
    var room = ""
    /// Times to live in the order of the text, which shows only that they are there.
    var ttls: [Int64] = []
    /// The step of the scenario during which it was read.
    var step = 0

    var isRoomPush: Bool { kind != .reply && kind != .ping && !room.isEmpty }

    func isLike(_ other: Heard) -> Bool {
        text == other.text && ttls.count == other.ttls.count
            && zip(ttls, other.ttls).allSatisfy { abs($0 - $1) <= 2 }
    }

    var description: String { ttls.isEmpty ? text : "\(text) ttl \(ttls)" }
}

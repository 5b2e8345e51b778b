internal import RoomsRuntime

/// Where an event stands: its room, the room's stream and its number in it.
struct EventKey: Hashable, Comparable, Sendable, CustomStringConvertible {
    var room: ByteString
    var epoch: ByteString
    var offset: UInt64

    static func < (left: EventKey, right: EventKey) -> Bool {
        (left.room, left.epoch, left.offset) < (right.room, right.epoch, right.offset)
    }

    var description: String { "\(room) \(epoch):\(offset)" }
}

/// What the server answered to one publication.
struct Published: Sendable {
    var key: EventKey
    /// SHA-256 of the published bytes.
    var digest: [UInt8]
}

/// A publication whose answer never came: the server may have kept it or not.
struct Uncertain: Hashable, Sendable {
    var room: ByteString
    var digest: [UInt8]
}

/// One request that a receiver got.
struct Reception: Sendable {
    enum Item: Sendable {
        case event(offset: UInt64, digest: [UInt8])
        case gap(from: UInt64, to: UInt64?, reason: String)
    }

    var item: Item
    var room: ByteString
    var epoch: ByteString
    var id: ByteString
    var seq: Int64
    var attempt: Int
    /// When the request was complete.
    var arrived: Instant
    /// When the answer was handed to the kernel; nil when none was given.
    var answered: Instant?
    var status: Int?

    var isAccepted: Bool { status.map { (200..<300).contains($0) } ?? false }

    /// When it was accepted; nil when it was not.
    var accepted: Instant? { isAccepted ? answered : nil }
}

/// One end of the bridge.
struct Kill: Sendable {
    /// After the signal was sent.
    var killed: Instant
    /// Before the next life began: what arrived until then was on its way when the signal came.
    var restarted: Instant
}

/// Everything that is known about a run, from outside the bridge.
struct RunLog: Sendable {
    var published: [Published] = []
    var uncertain: Set<Uncertain> = []
    var receptions: [Reception] = []
    var kills: [Kill] = []
    /// A server that keeps its streams over restarts, or was never restarted, gives no reason for a gap.
    var allowsGaps = false
}

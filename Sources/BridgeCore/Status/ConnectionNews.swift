internal import Rooms
internal import RoomsRuntime

/// What a connection said of itself and of rooms that it cannot join, with the times.
struct ConnectionNews: Sendable {
    private(set) var status = ConnectionStatus.connecting
    /// Milliseconds since 1970: since when it is connected or is not, and when it said so last.
    private(set) var since = SystemClock.wallMilliseconds
    private(set) var changedAt = SystemClock.wallMilliseconds
    /// By the room's index.
    private(set) var troubles: [Int: (code: UInt32, reason: ByteString)] = [:]

    mutating func note(_ item: SinkItem, _ wall: Int64) {
        switch item {
        case .joined(let room, _, _): troubles[room] = nil
        case .failed(let room, let code, let reason): troubles[room] = (code, reason)
        case .connection(let new):
            if (new == .connected) != (status == .connected) { since = wall }
            (status, changedAt) = (new, wall)
        default: break
        }
    }
}

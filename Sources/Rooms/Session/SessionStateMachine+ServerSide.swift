internal import RoomsRuntime
internal import RoomsWire

/// A room that the server put us into: nothing was asked for, and what it says is the answer.
extension SessionStateMachine {
    /// Not while an answer is awaited that will tell more.
    var canBePutIn: Bool {
        switch state {
        case .away, .wanting, .failed: isWanted && !isResting
        case .joining, .filling, .live, .parting, .leaving, .resting, .gone: false
        }
    }

    /// `wasListed`: its position went with connect.
    mutating func putIn(_ result: SubscribeResult, wasListed: Bool, _ turn: inout Turn) {
        inFlight = nil
        attempt &+= 1
        pausedUntil = nil
        heldUntil = nil
        awaitsToken = false
        self.wasListed = wasListed
        state = .joining
        subscribed(result, &turn)
        isServerSide = true
        // The connection's token is what keeps it.
        refreshAt = nil
    }

    /// A position that was not sent with connect can be sent with the next one, where history is refused.
    var canBeListed: Bool { isServerSide && !wasListed }
}

internal import RoomsRuntime

/// Leaving a room for good, or for now.
extension SessionStateMachine {
    /// Nobody wants the room any more: nothing of it is handed on, and it is left when the server says so.
    mutating func leaveForGood() {
        isWanted = false
        pausedUntil = nil
        heldUntil = nil
        refreshAt = nil
        awaitsToken = false
        switch state {
        case .away, .wanting, .failed, .resting: state = .gone
        case .filling, .live:
            leave()
        case .joining, .parting, .leaving, .gone: break
        }
    }

    /// Leaves the room for now, and keeps where it goes on, or wants it again.
    mutating func rest(_ isResting: Bool) {
        guard isWanted else { return }
        self.isResting = isResting
        switch state {
        case .wanting, .resting: state = unjoined
        case .filling, .live: if isResting { leave() }
        case .away, .joining, .parting, .leaving, .failed, .gone: break
        }
    }

    /// What it becomes where it is not joined.
    ///
    /// A room that begins now is joined once all the same, so that it is known where it goes on.
    var unjoined: State {
        let isKnown = isAnchored || startsEarliest || wasDurable != nil
        return isResting && isKnown ? .resting : .wanting
    }

    /// Nothing of it is handed on from here.
    mutating func leave() {
        state = .parting
        live = LiveBuffer()
        inFlight = nil
        attempt &+= 1
        refreshAt = nil
    }
}

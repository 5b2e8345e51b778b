internal import BridgeModel
internal import RoomsRuntime

/// What of the waits outlives the process: a restart neither hurries nor forgets.
extension EndpointStateMachine {
    /// A room's wait that is shorter is over before the next process would be there.
    static let shortestStoredWait = Duration.seconds(1)

    /// What the process before this one waited for goes on, and its failures count.
    ///
    /// `wall`: milliseconds since 1970.
    mutating func restore(_ state: StoredHold, _ now: Instant, wall: Int64) {
        let until = now + .milliseconds(state.rest(at: wall))
        hold = Hold(failures: max(1, state.failures), since: now, until: until, length: .milliseconds(state.length))
    }

    /// The same for a lane.
    mutating func goOnWaiting(_ lane: Int, _ state: StoredHold, _ now: Instant, _ wall: Int64) {
        var hold = LaneQueue.Hold(failures: max(1, state.failures), since: now, isReported: false)
        hold.until = now + .milliseconds(state.rest(at: wall))
        hold.length = .milliseconds(state.length)
        lanes[lane].hold = hold
        lanes[lane].phase = .waiting
        lanes[lane].wait = waits.add(lane, at: hold.until)
        heldLanes += 1
    }

    /// What the store is to keep of the endpoint's hold; nil: nothing.
    func storedHold(_ now: Instant, wall: Int64) -> StoredHold? {
        guard let hold, hold.until != .distantFuture else { return nil }
        let end = wall + (hold.until - now).wholeMilliseconds
        return StoredHold(failures: hold.failures, end: end, length: hold.length.wholeMilliseconds)
    }

    /// What the store is to keep of a lane's hold from now on: the outer nil where that has not changed.
    mutating func takeStoredHold(of lane: Int, _ now: Instant, wall: Int64) -> StoredHold?? {
        // What goes out of order is no room's own, and begins anew.
        guard lanes[lane].lane.room.rawValue > 0 else { return nil }
        var stored: StoredHold?
        if let hold = lanes[lane].hold, lanes[lane].phase == .waiting, hold.length >= Self.shortestStoredWait {
            stored = StoredHold(
                failures: hold.failures,
                attempts: lanes[lane].head.attempts,
                end: wall + (hold.until - now).wholeMilliseconds,
                length: hold.length.wholeMilliseconds
            )
        }
        guard stored != nil || lanes[lane].isHoldStored else { return nil }
        lanes[lane].isHoldStored = stored != nil
        return .some(stored)
    }
}

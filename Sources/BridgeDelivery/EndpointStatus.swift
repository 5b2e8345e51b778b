package import BridgeModel
package import RoomsRuntime

/// How an endpoint is doing.
package struct EndpointStatus: Sendable {
    /// Nothing is sent but a probe now and then.
    package struct Hold: Sendable {
        /// Times are in milliseconds since 1970.
        package var since: Int64
        package var nextAttempt: Int64
        package var failures: Int
    }

    package var id: EndpointID
    package var name: ByteString
    package var hold: Hold?
    /// Rooms that wait although the endpoint does not.
    package var waitingRooms: Int
    package var inFlight: Int
    /// Why it did not accept the last event that it did not accept; nil since one was.
    package var refusal: Refusal?
}

extension Endpoint {
    var status: EndpointStatus {
        let (now, wall) = (SystemClock.now, SystemClock.wallMilliseconds)
        let hold = machine.hold.map { hold in
            EndpointStatus.Hold(
                since: wall - (now - hold.since).wholeMilliseconds,
                nextAttempt: wall + max(.zero, hold.until - now).wholeMilliseconds,
                failures: hold.failures
            )
        }
        return EndpointStatus(
            id: settings.id,
            name: settings.name,
            hold: hold,
            waitingRooms: machine.heldLanes,
            inFlight: machine.inFlight,
            refusal: hold != nil || machine.heldLanes > 0 ? lastRefusal : nil
        )
    }
}

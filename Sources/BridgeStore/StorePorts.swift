package import BridgeModel
package import RoomsRuntime

package struct StoreOptions: Sendable {
    /// The state directory; made (mode 0700) when only its last part is missing.
    package var directory: String
    /// Bytes of waiting events, each once, at which intake stops; it goes on below 0.9 of it.
    package var maxSize: Int
    /// Bytes handed in and not committed, above which `append` says no.
    package var inboxLimit = 16 << 20
    /// Bytes of dead letters of one endpoint at which no more are taken.
    package var maxDeadLetters = 256 << 20

    package init(directory: String, maxSize: Int = 1 << 30) {
        self.directory = directory
        self.maxSize = maxSize
    }
}

/// What the store knows at start; everything is parallel to what `configure` was given.
package struct StoreSnapshot: Sendable {
    /// Random, made with the state directory.
    package var storeID: ByteString
    package var rooms: [RoomID]
    package var positions: [Position?]
    package var endpoints: [EndpointID]
    /// What they waited for when the store was last written.
    package var holds: [StoredHold?]
    package var routes: [RouteID]
    /// All with something waiting or ever acknowledged, also of rooms that are not configured any more.
    package var lanes: [LaneState]
    /// Gaps that stand before all else in their lanes, in order.
    package var losses: [PendingDelivery]
    package var lastCommitted: RowID
}

/// Where the store calls out; each on the writer's thread.
package struct StorePorts: Sendable {
    /// After COMMIT, in commit order, one per row and endpoint; in one order with the answers of `refill`.
    package var committed: @Sendable ([PendingDelivery]) -> Void
    /// Gaps of lanes that lost everything up to their rows, in one order with `committed`.
    package var lost: @Sendable ([PendingDelivery]) -> Void
    /// Dead letters to be sent again.
    package var retried: @Sendable ([PendingDelivery]) -> Void
    /// The dead letters of an endpoint have a place again.
    package var freed: @Sendable (EndpointID) -> Void
    /// Whether more events may come in, whenever that changes.
    package var admission: @Sendable (Bool) -> Void
    /// Whether an endpoint holds too much of the buffer, whenever that changes: its rooms are to be left until it does not.
    package var crowded: @Sendable (EndpointID, Bool) -> Void
    /// The store cannot go on: nothing more is committed, the process must end.
    package var failed: @Sendable (StoreError) -> Void

    package init(
        committed: @escaping @Sendable ([PendingDelivery]) -> Void,
        lost: @escaping @Sendable ([PendingDelivery]) -> Void = { _ in },
        retried: @escaping @Sendable ([PendingDelivery]) -> Void = { _ in },
        freed: @escaping @Sendable (EndpointID) -> Void = { _ in },
        admission: @escaping @Sendable (Bool) -> Void,
        crowded: @escaping @Sendable (EndpointID, Bool) -> Void = { _, _ in },
        failed: @escaping @Sendable (StoreError) -> Void
    ) {
        self.committed = committed
        self.lost = lost
        self.retried = retried
        self.freed = freed
        self.admission = admission
        self.crowded = crowded
        self.failed = failed
    }
}

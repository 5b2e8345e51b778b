/// Asks the store for what waits for some lanes of one endpoint: one forward pass over the rows in commit order.
package struct RefillRequest: Sendable {
    /// A lane that is behind, and the first row it has not seen.
    package struct Wish: Sendable {
        package var room: RoomID
        package var from: RowID

        package init(room: RoomID, from: RowID) {
            self.room = room
            self.from = from
        }
    }

    package var endpoint: EndpointID
    package var wishes: [Wish]
    /// Bounds of the whole answer and of each lane's share.
    ///
    /// One record is always given, whatever its size.
    package var maxRows: Int
    package var maxBytes: Int
    package var maxRowsPerLane: Int

    package init(endpoint: EndpointID, wishes: [Wish], maxRows: Int, maxBytes: Int, maxRowsPerLane: Int) {
        self.endpoint = endpoint
        self.wishes = wishes
        self.maxRows = maxRows
        self.maxBytes = maxBytes
        self.maxRowsPerLane = maxRowsPerLane
    }
}

/// What the store found, in commit order.
package struct RefillResult: Sendable {
    package var endpoint: EndpointID
    package var deliveries: [PendingDelivery]
    /// For each wish, in its order: the first row that the lane has not seen now.
    ///
    /// Above every committed row when the lane has seen all there is.
    package var next: [RefillRequest.Wish]
    /// The last row that was committed when the answer was made: a lane whose `next` is above it is caught up.
    package var lastCommitted: RowID

    package init(
        endpoint: EndpointID,
        deliveries: [PendingDelivery],
        next: [RefillRequest.Wish],
        lastCommitted: RowID
    ) {
        self.endpoint = endpoint
        self.deliveries = deliveries
        self.next = next
        self.lastCommitted = lastCommitted
    }
}

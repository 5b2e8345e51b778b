/// What is left to do for a lane, as the store knows it at start.
package struct LaneState: Sendable {
    package var lane: Lane
    package var room: RoomKey
    /// The last seq that the endpoint accepted; 0: none.
    package var acknowledged: Int64
    /// How many became dead letters since then.
    package var skipped: Int64
    /// Every row of the lane below this one is settled.
    package var next: RowID
    /// The last row of the lane; nothing waits when it is below `next`.
    package var tail: RowID
    package var waitingRows: Int64
    package var waitingBytes: Int64
    /// What the lane waits for; nil: nothing.
    package var hold: StoredHold?

    package init(
        lane: Lane,
        room: RoomKey,
        acknowledged: Int64,
        skipped: Int64 = 0,
        next: RowID,
        tail: RowID,
        waitingRows: Int64,
        waitingBytes: Int64
    ) {
        self.lane = lane
        self.room = room
        self.acknowledged = acknowledged
        self.skipped = skipped
        self.next = next
        self.tail = tail
        self.waitingRows = waitingRows
        self.waitingBytes = waitingBytes
    }
}

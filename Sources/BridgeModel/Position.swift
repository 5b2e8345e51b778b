package import RoomsRuntime

/// How far a room is committed here.
package struct Position: Hashable, Sendable {
    package var epoch: ByteString
    package var offset: UInt64
    /// How often the stream was seen to go back within one epoch.
    package var incarnation: UInt32

    package init(epoch: ByteString, offset: UInt64, incarnation: UInt32 = 0) {
        self.epoch = epoch
        self.offset = offset
        self.incarnation = incarnation
    }
}

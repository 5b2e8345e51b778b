package import RoomsRuntime

/// One publication with what was found out about it on the way in.
///
/// A class: it crosses threads and waits in queues by one reference, where a value would retain five.
package final class EventRecord: Sendable {
    /// The whole publication, untouched.
    package let payload: Payload
    package let epoch: ByteString
    /// 0: the room gives no offsets, the event is live-only.
    package let offset: UInt64
    package let incarnation: UInt32
    package let shape: PayloadShape
    package let name: ByteString
    /// The user who published it; nil for the server.
    package let from: ByteString?
    /// Milliseconds since 1970: the publisher's word, else the time of receipt.
    package let at: Int64
    /// Came through recovery or history.
    package let isReplayed: Bool
    /// Tags as a JSON object, nil when there are none.
    package let tags: [UInt8]?

    package init(
        payload: Payload,
        epoch: ByteString,
        offset: UInt64,
        incarnation: UInt32,
        shape: PayloadShape,
        name: ByteString,
        from: ByteString?,
        at: Int64,
        isReplayed: Bool,
        tags: [UInt8]?
    ) {
        self.payload = payload
        self.epoch = epoch
        self.offset = offset
        self.incarnation = incarnation
        self.shape = shape
        self.name = name
        self.from = from
        self.at = at
        self.isReplayed = isReplayed
        self.tags = tags
    }
}

/// How a payload stands in an envelope of ours.
package enum PayloadShape: Hashable, Sendable {
    /// JSON; the event's data are these bytes of the payload.
    case json(Range<Int>)
    /// An envelope with a JWE; these bytes are the JSON string, quotes included.
    case sealed(Range<Int>)
    /// Anything else; the event's data is the whole payload.
    case binary
}

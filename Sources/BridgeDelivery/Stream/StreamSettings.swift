internal import RoomsRuntime

/// How an endpoint behind a stream socket says that an event is its own.
package enum StreamAcknowledgement: String, Hashable, Sendable, CaseIterable {
    /// It has read the line; the kernel tells.
    case read
    /// It answers each line.
    case line
    /// It speaks version 1 of the protocol of docs/DELIVERY.md.
    case `protocol`
}

/// What an endpoint behind a stream socket has beyond what every endpoint has.
package struct StreamSettings: Hashable, Sendable {
    package var acknowledgement: StreamAcknowledgement
    /// Without any news of it, a line counts as lost after this.
    package var answerTime = Duration.seconds(30)
    /// With nothing heard for this time the receiver is asked whether it is there.
    package var silence = Duration.seconds(15)
    /// Room names are the same for one server only: with several, a `resume` says nothing.
    package var hasOneServer = true
    /// Whether the kernel tells what the peer has read; nil: it is tried.
    package var kernelTells: Bool?

    /// Lines in flight, one of each room.
    package static let window = 256

    package init(_ acknowledgement: StreamAcknowledgement) {
        self.acknowledgement = acknowledgement
    }
}

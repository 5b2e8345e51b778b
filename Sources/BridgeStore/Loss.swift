internal import BridgeModel
internal import RoomsRuntime

/// What one lane lost of one stream, and was not told yet: a gap of this lane alone, in the place of what is gone.
struct Loss: Equatable {
    /// `retention` or `damaged`.
    var reason = GapReason.retention
    var epoch: ByteString
    var incarnation: UInt32
    /// Offsets; of live-only events, which have none, the seqs.
    var from: UInt64
    /// Nil: the end is not known.
    var to: UInt64?
    /// Of the last record that was lost.
    var row: Int64
    var seq: Int64
    /// When it was lost, in milliseconds since 1970.
    var at: Int64

    var body: RecordBody {
        .gap(Gap(reason: reason, epoch: epoch, from: from, to: to, incarnation: incarnation), at: at)
    }

    /// Takes in what was lost behind it; false when that is of another stream.
    mutating func extend(by next: Loss) -> Bool {
        guard next.reason == reason, next.epoch == epoch, next.incarnation == incarnation else { return false }
        if let end = to { to = next.to.map { max($0, end) } }
        move(to: next)
        return true
    }

    /// Ends there; the range stays.
    mutating func move(to next: Loss) {
        (row, seq, at) = (next.row, next.seq, next.at)
    }

    /// A gap that began like this one was told, up to `end`, before more was lost behind it.
    mutating func told(from start: UInt64, to end: UInt64) {
        guard start == from, end < to ?? .max else { return }
        from = end + 1
    }
}

internal import BridgeModel
internal import RoomsRuntime

/// Makes the `webhook-id` of a record: the same after a crash, a new installation or the loss of our disk.
///
/// Receivers drop duplicates by it for ever, so its derivation is a promise. Belongs to one thread at a time.
final class WebhookID {
    private let storeID: ByteString
    private let digest = MessageDigest()
    private var scratch: [UInt8] = []

    /// `storeID` names live-only events, which have no position in their room.
    init(storeID: ByteString) {
        self.storeID = storeID
    }

    /// Puts the id in place of what is in `text`.
    func write(_ delivery: PendingDelivery, into text: inout [UInt8]) {
        text.removeAll(keepingCapacity: true)
        text.append(contentsOf: "rb_".utf8)
        scratch.removeAll(keepingCapacity: true)
        switch delivery.body {
        case .event(let event) where event.offset == 0: return appendOwn(delivery.row, to: &text)
        case .notice: return appendOwn(delivery.row, to: &text)
        case .event(let event):
            begin(delivery.room, event.epoch)
            scratch.append(decimal: event.offset)
            if event.incarnation > 0 {
                scratch.append(0)
                scratch.append(decimal: UInt64(event.incarnation))
            }
        case .gap(let gap, _):
            begin(delivery.room, gap.epoch)
            scratch.append(contentsOf: "gap".utf8)
            scratch.append(0)
            scratch.append(contentsOf: gap.reason.rawValue.utf8)
            scratch.append(0)
            scratch.append(decimal: gap.from)
            scratch.append(0)
            scratch.append(decimal: UInt64(gap.incarnation))
        }
        digest.digest(scratch) { Base32.append(UnsafeRawBufferPointer(rebasing: $0[..<20]), to: &text) }
    }

    /// The id of a batch, over the ids of its first and its last event.
    func write(from first: ArraySlice<UInt8>, to last: ArraySlice<UInt8>, into text: inout [UInt8]) {
        scratch.removeAll(keepingCapacity: true)
        scratch.append(contentsOf: first)
        scratch.append(0)
        scratch.append(contentsOf: last)
        text.removeAll(keepingCapacity: true)
        text.append(literal: "rb_b_")
        digest.digest(scratch) { Base32.append(UnsafeRawBufferPointer(rebasing: $0[..<20]), to: &text) }
    }

    /// By the row: there is nothing else that names it.
    private func appendOwn(_ row: RowID, to text: inout [UInt8]) {
        text.append(contentsOf: "l_".utf8)
        text.append(contentsOf: storeID.bytes)
        text.append(UInt8(ascii: "_"))
        text.append(decimal: row.rawValue)
    }

    private func begin(_ room: RoomKey, _ epoch: ByteString) {
        scratch.append(contentsOf: room.server.bytes)
        scratch.append(0)
        scratch.append(contentsOf: room.room.bytes)
        scratch.append(0)
        scratch.append(contentsOf: epoch.bytes)
        scratch.append(0)
    }
}

package import RoomsRuntime

/// One event in a room, as the server tells it.
///
/// Equal when every field and every byte of the data is.
package struct Publication: Equatable, Sendable {
    package var data: Payload
    package var offset: UInt64
    package var time: Int64
    package var delta: Bool
    /// Nil for the many publications that have nothing of it: they are handed on by one reference.
    private var rest: Rest?

    private final class Rest: Equatable, Sendable {
        let info: ClientInfo?
        let tags: [Tag]
        let channel: ByteString
        let epoch: ByteString

        init(info: ClientInfo?, tags: [Tag], channel: ByteString, epoch: ByteString) {
            self.info = info
            self.tags = tags
            self.channel = channel
            self.epoch = epoch
        }

        static func == (left: Rest, right: Rest) -> Bool {
            left.info == right.info && left.tags == right.tags && left.channel == right.channel
                && left.epoch == right.epoch
        }
    }

    package init(
        data: Payload,
        offset: UInt64 = 0,
        epoch: ByteString = .empty,
        info: ClientInfo? = nil,
        tags: [Tag] = [],
        delta: Bool = false,
        time: Int64 = 0,
        channel: ByteString = .empty
    ) {
        self.data = data
        self.offset = offset
        self.delta = delta
        self.time = time
        keep(info: info, tags: tags, channel: channel, epoch: epoch)
    }

    private mutating func keep(info: ClientInfo?, tags: [Tag], channel: ByteString, epoch: ByteString) {
        let isPlain = info == nil && tags.isEmpty && channel.isEmpty && epoch.isEmpty
        rest = isPlain ? nil : Rest(info: info, tags: tags, channel: channel, epoch: epoch)
    }

    /// Who published it; nil: the server.
    package var info: ClientInfo? {
        get { rest?.info }
        set { keep(info: newValue, tags: tags, channel: channel, epoch: epoch) }
    }

    package var tags: [Tag] {
        get { rest?.tags ?? [] }
        set { keep(info: info, tags: newValue, channel: channel, epoch: epoch) }
    }

    package var channel: ByteString {
        get { rest?.channel ?? .empty }
        set { keep(info: info, tags: tags, channel: newValue, epoch: epoch) }
    }

    /// Given with the first publication of a stream.
    package var epoch: ByteString {
        get { rest?.epoch ?? .empty }
        set { keep(info: info, tags: tags, channel: channel, epoch: newValue) }
    }

    /// How many bytes it holds on to, roughly: what comes with the data may be larger than the data.
    package var weight: Int {
        var bytes = data.count + 256
        guard let rest else { return bytes }
        bytes += rest.epoch.count + rest.channel.count + (rest.info?.weight ?? 0)
        for tag in rest.tags { bytes += tag.key.count + tag.value.count + 64 }
        return bytes
    }
}

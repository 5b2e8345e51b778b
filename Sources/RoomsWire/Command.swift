package import RoomsRuntime

/// What a client says.
///
/// A command without id and request is the pong.
///
/// The fields are those of the public schema of Centrifugo's client protocol; the ones our client never sets are left
/// out, but for `SubscribeRequest.flag`, which official clients send.
package struct Command: Equatable, Sendable {
    /// Echoed by the reply; 0 for the pong and for `send`.
    package var id: UInt32
    package var request: Request

    package init(id: UInt32, _ request: Request) {
        self.id = id
        self.request = request
    }

    package static let pong = Command(id: 0, .pong)
}

package enum Request: Equatable, Sendable {
    /// The empty command: the answer to a ping.
    case pong
    case connect(ConnectRequest)
    case subscribe(SubscribeRequest)
    case unsubscribe(channel: ByteString)
    case publish(channel: ByteString, data: [UInt8])
    case presence(channel: ByteString)
    case presenceStats(channel: ByteString)
    case history(HistoryRequest)
    case ping
    case send(data: [UInt8])
    case rpc(method: ByteString, data: [UInt8])
    case refresh(token: ByteString)
    case subRefresh(channel: ByteString, token: ByteString)
    /// A command that is not empty and holds no request known here.
    case unknown
}

package struct ConnectRequest: Equatable, Sendable {
    package var token = ByteString.empty
    package var data: [UInt8] = []
    /// Positions of server-side subscriptions, in the order of the wire.
    package var subs: [NamedSubscribeRequest] = []
    package var name = ByteString.empty
    package var version = ByteString.empty
    package var headers: [Tag] = []

    package init() {}
}

package struct NamedSubscribeRequest: Equatable, Sendable {
    package var channel: ByteString
    package var request: SubscribeRequest

    package init(channel: ByteString, request: SubscribeRequest) {
        self.channel = channel
        self.request = request
    }
}

package struct SubscribeRequest: Equatable, Sendable {
    package var channel = ByteString.empty
    package var token = ByteString.empty
    package var recover = false
    package var epoch = ByteString.empty
    package var offset: UInt64 = 0
    package var data: [UInt8] = []
    package var positioned = false
    package var recoverable = false
    package var joinLeave = false
    package var flag: Int64 = 0
    /// It wants only publications with certain tags; which ones is not read, and not written.
    package var hasTagsFilter = false

    package init() {}
}

package struct HistoryRequest: Equatable, Sendable {
    package var channel = ByteString.empty
    /// 0: no publications, only the position of the stream.
    package var limit: Int32 = 0
    package var since: StreamPosition?
    package var reverse = false

    package init() {}
}

/// (epoch, offset) of a stream; an empty epoch means "not known".
package struct StreamPosition: Equatable, Hashable, Sendable {
    package var offset: UInt64
    package var epoch: ByteString

    package init(offset: UInt64, epoch: ByteString) {
        self.offset = offset
        self.epoch = epoch
    }
}

/// One entry of a map of text to text, in the order of the wire.
package struct Tag: Equatable, Sendable {
    package var key: ByteString
    package var value: ByteString

    package init(key: ByteString, value: ByteString) {
        self.key = key
        self.value = value
    }
}

package import RoomsRuntime

/// What a server says: the answer to a command, a push, or the empty ping.
package struct Reply: Equatable, Sendable {
    /// The command's; 0 for pushes and pings.
    package var id: UInt32
    package var body: ReplyBody

    package init(id: UInt32, _ body: ReplyBody) {
        self.id = id
        self.body = body
    }

    package static let ping = Reply(id: 0, .ping)
}

package enum ReplyBody: Equatable, Sendable {
    /// The empty reply: the server asks for a pong.
    case ping
    case error(ErrorReply)
    case push(Push)
    // Elsewhere, so that every push is not moved about in their size.
    indirect case connect(ConnectResult)
    indirect case subscribe(SubscribeResult)
    case unsubscribe
    case publish
    case presence(clients: [PresenceEntry])
    case presenceStats(clients: UInt32, users: UInt32)
    indirect case history(HistoryResult)
    case rpc(data: [UInt8])
    case refresh(RefreshResult)
    case subRefresh(RefreshResult)
    /// A reply that is not empty and holds no body known here.
    case unknown
}

/// An error the server answers with.
///
/// Named so because `Error` is Swift's.
package struct ErrorReply: Equatable, Sendable {
    package var code: UInt32
    package var message: ByteString
    package var isTemporary: Bool

    package init(code: UInt32, message: ByteString, isTemporary: Bool = false) {
        self.code = code
        self.message = message
        self.isTemporary = isTemporary
    }
}

package struct ConnectResult: Equatable, Sendable {
    package var client = ByteString.empty
    package var version = ByteString.empty
    package var expires = false
    /// Seconds until the connection expires.
    package var ttl: UInt32 = 0
    package var data: [UInt8] = []
    package var subs: [NamedSubscribeResult] = []
    /// Seconds between pings; 0: none.
    package var ping: UInt32 = 0
    package var pong = false
    package var session = ByteString.empty
    package var node = ByteString.empty
    package var time: Int64 = 0
    package var flag: Int64 = 0

    package init() {}
}

package struct NamedSubscribeResult: Equatable, Sendable {
    package var channel: ByteString
    package var result: SubscribeResult

    package init(channel: ByteString, result: SubscribeResult) {
        self.channel = channel
        self.result = result
    }
}

package struct SubscribeResult: Equatable, Sendable {
    package var expires = false
    package var ttl: UInt32 = 0
    package var recoverable = false
    package var epoch = ByteString.empty
    package var publications: [Publication] = []
    package var recovered = false
    package var offset: UInt64 = 0
    package var positioned = false
    package var data: [UInt8] = []
    package var wasRecovering = false
    package var delta = false
    package var id: Int64 = 0
    package var type: Int32 = 0

    package init() {}
}

package struct ClientInfo: Equatable, Sendable {
    package var user: ByteString
    package var client: ByteString
    package var connInfo: [UInt8] = []
    package var chanInfo: [UInt8] = []

    package init(user: ByteString, client: ByteString) {
        self.user = user
        self.client = client
    }
}

extension ClientInfo {
    /// How many bytes it holds on to, roughly.
    package var weight: Int { user.count + client.count + connInfo.count + chanInfo.count + 128 }
}

package struct PresenceEntry: Equatable, Sendable {
    package var key: ByteString
    package var info: ClientInfo

    package init(key: ByteString, info: ClientInfo) {
        self.key = key
        self.info = info
    }
}

package struct HistoryResult: Equatable, Sendable {
    package var publications: [Publication] = []
    package var epoch = ByteString.empty
    package var offset: UInt64 = 0

    package init() {}
}

package struct RefreshResult: Equatable, Sendable {
    package var client = ByteString.empty
    package var version = ByteString.empty
    package var expires = false
    package var ttl: UInt32 = 0

    package init() {}
}

package struct Push: Equatable, Sendable {
    /// Empty for pushes about the connection.
    package var channel: ByteString
    package var body: PushBody
    /// Stands for the channel where a client asked for that; ours never does.
    package var id: Int64 = 0

    package init(channel: ByteString, _ body: PushBody) {
        self.channel = channel
        self.body = body
    }
}

package enum PushBody: Equatable, Sendable {
    case publication(Publication)
    indirect case join(ClientInfo)
    indirect case leave(ClientInfo)
    case unsubscribe(code: UInt32, reason: ByteString)
    case message(data: [UInt8])
    indirect case subscribe(SubscribePush)
    case disconnect(code: UInt32, reason: ByteString, reconnect: Bool)
    case refresh(expires: Bool, ttl: UInt32)
    indirect case connect(ConnectResult)
    /// A kind that this client does not know.
    case unknown
}

package struct SubscribePush: Equatable, Sendable {
    package var recoverable = false
    package var epoch = ByteString.empty
    package var offset: UInt64 = 0
    package var positioned = false
    package var data: [UInt8] = []

    package init() {}
}

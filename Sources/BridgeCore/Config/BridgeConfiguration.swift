package import BridgeDelivery
package import BridgeModel
package import RoomsRuntime
package import RoomsTransport

/// What RoomBridge is told to do: checked, with every default filled in, secrets still as references.
package struct BridgeConfiguration: Equatable, Sendable {
    package var servers: [ServerConfiguration]
    package var endpoints: [EndpointConfiguration]
    package var rooms: [RoomConfiguration]
    package var buffer = BufferConfiguration()
    package var logLevel = LogLevel.info

    /// Rooms that one connection holds; the server's own limit is 128.
    static let roomsPerServer = 100
}

/// One realtime server.
package struct ServerConfiguration: Equatable, Sendable {
    /// The key under `servers`: part of every `webhook-id`.
    package var key: ByteString
    package var url: ServerURL
    package var authentication: Authentication
    /// Certificates to trust in place of the system's.
    package var ca: ByteString?
    package var proxy: ByteString?
    /// The server's HTTP API, for histories that clients may not read.
    package var api: ServerAPIConfiguration?
    /// What the connection calls itself; servers show it to their operators.
    package var clientName: ByteString

    package static let defaultClientName: ByteString = "roombridge"
}

/// How the HTTP API of a server is reached.
package struct ServerAPIConfiguration: Equatable, Sendable {
    /// Of its method `history`.
    package var history: ServerURL
    package var key: SecretReference
}

/// How RoomBridge proves to a server who it is.
package enum Authentication: Equatable, Sendable {
    /// Public rooms only.
    case anonymous
    /// RoomBridge signs its own tokens.
    ///
    /// Without a second secret the first one signs subscription tokens too.
    case signing(user: ByteString, secret: SecretReference, subscriptionSecret: SecretReference?)
    /// Tokens that somebody else made.
    case tokens(connection: SecretReference?, rooms: [ByteString: SecretReference])
}

/// A local receiver of events.
package struct EndpointConfiguration: Equatable, Sendable {
    /// Where its requests go.
    package enum Target: Equatable, Sendable {
        /// Without `mayBePlain`, http goes nowhere but to this machine.
        case url(ServerURL, mayBePlain: Bool)
        /// HTTP over a Unix socket.
        case unix(socket: ByteString, path: ByteString)
        /// Lines on a Unix socket.
        case stream(socket: ByteString, StreamAcknowledgement)
    }

    package var name: ByteString
    package var target: Target
    /// Each secret signs each request, so that one can be taken out of use while the other is in.
    package var signing: [SigningReference]
    /// Requests in flight at once, never two of one room.
    package var concurrency: Int
    /// Fields of every request.
    package var headers: [HeaderReference] = []
    /// A file of certificates to trust in place of the system's.
    package var ca: ByteString?
    /// What is shown to an endpoint that asks who we are.
    package var identity: IdentityReference?
    /// What the operator says of single statuses.
    package var statusPolicy = StatusPolicy()
    /// An event that is refused for good becomes a dead letter; else its room waits.
    package var givesUp = true
    /// So does one that fails again and again while others are accepted.
    package var infersPoison = false
    /// The longest pause that the endpoint may ask for.
    package var longestPause = defaultLongestPause
    package var format = DeliveryFormat.standard
    package var batch: BatchLimits?

    /// What it may lose.
    package var lossRule = LossRule.none

    package static let defaultLongestPause = Duration.seconds(86_400)
    package static let defaultConcurrency = 8
    package static let maximumConcurrency = 256
}

/// A secret that signs requests, and when it ceases to.
package struct SigningReference: Hashable, Sendable {
    package var secret: SecretReference
    /// Milliseconds since 1970.
    package var until: Int64?
}

/// A field of every request whose value is secret.
package struct HeaderReference: Hashable, Sendable {
    /// In lower case.
    package var name: ByteString
    package var secret: SecretReference
    /// `Bearer` goes before the secret.
    package var isBearer: Bool
}

/// A certificate of our own, and its key.
package struct IdentityReference: Hashable, Sendable {
    /// A file: the certificate, and those between it and the authority.
    package var certificate: ByteString
    package var key: SecretReference
}

/// One room of one server with everything that is routed from it.
package struct RoomConfiguration: Equatable, Sendable {
    package enum Start: Hashable, Sendable {
        case now
        case earliest
    }

    /// Events that an entry of the configuration sends to some endpoints.
    package struct Rule: Equatable, Sendable {
        /// Nil: all events.
        package var events: [EventFilter]?
        /// What it gets beside events and gaps.
        package var notices: Set<RoomNotice.Kind> = []
        /// Indices into the endpoints.
        package var endpoints: [Int]
    }

    /// An index into the servers.
    package var server: Int
    package var name: ByteString
    /// Where a room begins that was never joined before.
    package var start: Start
    package var rules: [Rule]
}

/// The name of an event, or what names of events begin with.
package enum EventFilter: Hashable, Sendable {
    case exact(ByteString)
    case prefix(ByteString)

    /// Nil when a `*` stands anywhere but at the end.
    package init?(_ text: ByteString) {
        let star = UInt8(ascii: "*")
        guard let first = text.bytes.firstIndex(of: star) else {
            self = .exact(text)
            return
        }
        guard first == text.bytes.count - 1 else { return nil }
        self = .prefix(ByteString(Array(text.bytes.dropLast())))
    }
}

/// How much may wait on disk.
package struct BufferConfiguration: Hashable, Sendable {
    /// Bytes of events that wait for an endpoint.
    package var maxSize = 1 << 30

    static let smallestMaxSize = 1 << 20
}

package import RoomsRuntime
package import RoomsTransport

/// Where tokens come from that were not given beforehand, and those that were.
package struct AuthOptions: Sendable {
    /// Nil: there is no route, and rooms without a grant are joined without a token.
    package var url: ServerURL?
    package var headers: HeaderSupply
    /// The connection's.
    package var token: Secret?
    package var grants: [ByteString: Grant]
    package var tls: TLSSettings
    package var proxy: String?
    package var policy: AuthPolicy

    package init(
        url: ServerURL? = nil,
        headers: HeaderSupply = .fixed([]),
        token: Secret? = nil,
        grants: [ByteString: Grant] = [:],
        tls: TLSSettings = TLSSettings(),
        proxy: String? = nil,
        policy: AuthPolicy = AuthPolicy()
    ) {
        self.url = url
        self.headers = headers
        self.token = token
        self.grants = grants
        self.tls = tls
        self.proxy = proxy
        self.policy = policy
    }
}

/// The headers of a request to the auth route, such as the one that tells who the user is.
package enum HeaderSupply: Sendable {
    case fixed([HTTPHeader])
    /// Asked once for each request; its task is cancelled when the request is, or takes too long.
    case asked(@Sendable () async throws -> [HTTPHeader])
}

/// How the auth route is asked, and how long its tokens are kept.
package struct AuthPolicy: Sendable {
    /// Rooms that are asked for within this time of the first form one request.
    package var window: Duration = .milliseconds(10)
    package var roomsPerRequest = 1_000
    package var requestsInFlight = 2
    /// For the headers, and again from the look-up of the route's name to the end of its answer.
    package var timeout: Duration = .seconds(10)
    package var connectTimeout: Duration = .seconds(5)
    /// In bytes.
    package var maxAnswer = 4 * 1024 * 1024
    /// The server refuses a frame that is too large, and with it everything else on its connection.
    package var maxToken = 16 * 1024
    /// Pauses behind a failure of the route; meanwhile what is asked for waits.
    package var backoff = Backoff()
    /// The longest pause that the route itself may ask for.
    package var longestPause: Duration = .seconds(300)
    /// Rooms whose tokens are kept at most.
    package var keptRooms = 20_000

    package init() {}
}

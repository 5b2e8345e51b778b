internal import RoomsRuntime
internal import RoomsTransport

/// The options of an app, checked.
struct RealtimeSettings: Sendable {
    let url: ServerURL
    let auth: AuthOptions
    /// Keys for every room; those of grants are `grantKeys`.
    let keys: KeyRing
    let grantKeys: [ByteString: [ByteString: Secret]]
    let webSocket: WebSocketOptions
    let commandTimeout: Duration
    let roomsPerConnection: Int

    init(url: String, options: RealtimeOptions) throws(RoomError) {
        self.url = try Self.parse(url, "the server's URL")
        guard self.url.isWebSocket else {
            throw RoomError(.badRequest, "the server's URL: it begins with http, ws:// or wss:// would be right")
        }
        let tls = TLSSettings(authorityFile: options.caFile)
        var webSocket = WebSocketOptions()
        webSocket.tls = tls
        self.webSocket = webSocket

        let supply = options.headers
        var auth = AuthOptions(
            headers: .asked {
                try await supply().map { HTTPHeader(name: ByteString($0.key), value: Secret($0.value)) }
            },
            tls: tls
        )
        auth.policy.timeout = Self.duration(options.authTimeout)
        auth.policy.connectTimeout = min(auth.policy.connectTimeout, auth.policy.timeout)
        if let route = options.auth {
            let url = try Self.parse(route, "the auth route's URL")
            guard !url.isWebSocket else {
                throw RoomError(
                    .badRequest,
                    "the auth route's URL: it begins with ws, http:// or https:// would be right"
                )
            }
            auth.url = url
        }
        if let token = options.token { auth.token = Secret(token) }
        var grantKeys: [ByteString: [ByteString: Secret]] = [:]
        for (name, grant) in options.grants {
            let keys = try Self.keys(grant.keys, "the grant of \(name)")
            grantKeys[ByteString(name)] = keys
            auth.grants[ByteString(name)] = Grant(token: grant.token.isEmpty ? nil : Secret(grant.token), keys: keys)
        }
        self.auth = auth
        self.grantKeys = grantKeys
        var ring = KeyRing()
        for (kid, key) in try Self.keys(options.keys, "the options") { ring.give(key, as: kid) }
        keys = ring

        commandTimeout = Self.duration(options.commandTimeout)
        roomsPerConnection = options.roomsPerConnection
    }

    /// At least a tenth of a second, at most an hour; what is no number is the least.
    private static func duration(_ seconds: Double) -> Duration {
        .milliseconds(Int64((seconds > 0.1 ? min(seconds, 3_600) : 0.1) * 1_000))
    }

    private static func keys(_ keys: [String: [UInt8]], _ place: String) throws(RoomError) -> [ByteString: Secret] {
        var secrets: [ByteString: Secret] = [:]
        for (kid, key) in keys {
            guard key.count == 32 else {
                throw RoomError(.badRequest, "\(place): the key \(kid) has \(key.count) bytes, 32 would be right")
            }
            secrets[ByteString(kid)] = Secret(key)
        }
        return secrets
    }

    private static func parse(_ text: String, _ what: String) throws(RoomError) -> ServerURL {
        do {
            return try ServerURL(ByteString(text))
        } catch {
            throw RoomError(.badRequest, "\(what): \(error)")
        }
    }
}

package import LocalHTTP
package import RoomsRuntime

/// What a hub listens on, whom it believes, and its rooms.
package struct HubConfiguration: Sendable {
    package var listen: [ListenAddress]
    /// Where faults may be asked for; nil: nowhere.
    package var faults: ListenAddress?
    package var apiKey: Secret
    package var tokenSecret: Secret
    package var rooms: RoomRules
    /// Where pages that may connect come from, such as `http://localhost:3000`; `*` stands for all of them.
    package var origins: [ByteString] = []
    package var session = SessionSettings()
    /// Nil: there is no such route.
    package var auth: DemoAuthSettings?

    package init(
        listen: [ListenAddress],
        apiKey: Secret,
        tokenSecret: Secret,
        rooms: [RoomRule],
        auth: DemoAuthSettings? = nil
    ) {
        self.listen = listen
        self.apiKey = apiKey
        self.tokenSecret = tokenSecret
        self.rooms = .configured(rooms)
        self.auth = auth
    }

    /// Known to everybody, which is why the hub listens on loopback only unless told.
    package static let usualAPIKey = Secret("roomhub-api-key")
    package static let usualTokenSecret = Secret("roomhub-token-secret")

    /// One of the two is the one that everybody knows.
    var hasUsualSecrets: Bool {
        apiKey.matches(Self.usualAPIKey.bytes) || tokenSecret.matches(Self.usualTokenSecret.bytes)
    }

    /// `127.0.0.1:8000`, with three kinds of rooms to try things out: orders that keep 20 publications, chats, and a
    /// public shop; and two users, alice and bob, who may join orders and their own chats.
    package static let standard = {
        var configuration = HubConfiguration(
            listen: ["127.0.0.1:8000"],
            apiKey: usualAPIKey,
            tokenSecret: usualTokenSecret,
            rooms: [],
            auth: .standard
        )
        configuration.rooms = .fallback([
            RoomRule(pattern: "order:{id}", history: 20),
            RoomRule(pattern: "chat:{a}:{b}", presence: true),
            RoomRule(pattern: "shop", history: 20, isPublic: true),
        ])
        return configuration
    }()
}

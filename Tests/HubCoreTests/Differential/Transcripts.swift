/// The transcripts that are played again, and those that are not.
enum Transcripts {
    static let whole = [
        "batching", "binary-payload", "broadcast", "client-publish-presence", "connect-anonymous", "connect-refused",
        "connect-token", "frame-limit-to-server", "handshake", "history", "http-api", "invalid-utf8-json",
        "memory-server-restart", "official-cent", "official-js-json", "official-js-protobuf", "payloads",
        "position-check", "protobuf-binary", "protobuf-binary-payload",
        "protobuf-broadcast", "protobuf-client-publish-presence", "protobuf-connect-anonymous",
        "protobuf-connect-refused",
        "protobuf-connect-token", "protobuf-history", "protobuf-mistakes", "protobuf-payloads", "protobuf-recover-all",
        "protobuf-recover-trimmed", "protobuf-recover-wrong", "protobuf-server-disconnect", "protobuf-server-side-subs",
        "protobuf-server-subscribe", "protobuf-server-unsubscribe", "protobuf-subscribe-kinds",
        "protobuf-unsubscribe-race",
        "protocol-mistakes", "recover-all", "recover-cache", "recover-expired", "recover-flag2", "recover-removed",
        "recover-trimmed", "recover-wrong", "server-disconnect", "server-side-subs", "server-subscribe",
        "server-unsubscribe", "subscribe-errors", "subscribe-kinds", "subscription-tokens", "unsubscribe-race",
    ]

    static let parted = [
        "connection-refresh", "limits", "ping", "protobuf-limits", "protobuf-ping", "protobuf-subscription-refresh",
        "subscription-refresh",
    ]

    /// The second was recorded with the server of the first.
    static let pair = ["official-python-json", "official-python-protobuf"]

    static func read() throws -> [Recording] {
        try whole.map { try Recording.read($0) } + parted.flatMap { try Recording.parts(of: $0) } + [
            Recording.read(pair[0], pair[1])
        ]
    }
}

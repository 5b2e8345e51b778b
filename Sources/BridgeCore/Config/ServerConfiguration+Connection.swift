internal import Rooms
internal import RoomsRuntime
internal import RoomsTransport

extension ServerConfiguration {
    /// What the connection to this server is made with.
    func connectionOptions(secrets: SecretSource) -> ConnectionOptions {
        ConnectionOptions(
            url: url,
            policy: ConnectionPolicy(
                name: clientName,
                version: ByteString(Version.number),
                tokens: authentication.tokenSource(secrets: secrets)
            ),
            webSocket: WebSocketOptions(tls: TLSSettings(authorityFile: ca?.string), proxy: proxy?.string)
        )
    }
}

internal import Rooms
internal import RoomsRuntime
internal import RoomsTransport

extension ServerConfiguration {
    /// What the connection to this server is made with; `hearing`: rooms of which it is wanted who comes and goes.
    func connectionOptions(secrets: SecretSource, hearing: Set<ByteString> = []) -> ConnectionOptions {
        ConnectionOptions(
            url: url,
            policy: ConnectionPolicy(
                name: clientName,
                version: ByteString(Version.number),
                tokens: authentication.tokenSource(secrets: secrets, hearing: hearing)
            ),
            webSocket: WebSocketOptions(tls: TLSSettings(authorityFile: ca?.string), proxy: proxy?.string)
        )
    }
}

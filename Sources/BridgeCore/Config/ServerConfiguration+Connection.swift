internal import Rooms
internal import RoomsRuntime
internal import RoomsTransport

extension ServerConfiguration {
    /// What the connection to this server is made with; `hearing`: rooms of which it is wanted who comes and goes.
    func connectionOptions(
        secrets: SecretSource,
        hearing: Set<ByteString> = [],
        logger: Logger
    ) -> ConnectionOptions {
        let tls = TLSSettings(authorityFile: ca?.string)
        var options = ConnectionOptions(
            url: url,
            policy: ConnectionPolicy(
                name: clientName,
                version: ByteString(Version.number),
                tokens: authentication.tokenSource(secrets: secrets, hearing: hearing)
            ),
            webSocket: WebSocketOptions(tls: tls, proxy: proxy?.string),
            history: api.map { api in
                HistoryAPI(
                    url: api.history,
                    key: { try secrets.load(api.key) },
                    tls: tls,
                    proxy: proxy?.string
                )
            }
        )
        if let ca {
            let authorities = ServerAuthorities(ca, logger: logger)
            options.currentTLS = { authorities.tls }
        }
        return options
    }
}

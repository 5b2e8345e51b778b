internal import Rooms
internal import RoomsRuntime

extension Authentication {
    /// Reads its secrets each time a token is needed, so that a changed file is used from then on.
    ///
    /// `hearing`: rooms of which it is wanted who comes and goes.
    func tokenSource(
        secrets: SecretSource,
        hearing: Set<ByteString> = [],
        wallClock: @escaping @Sendable () -> Int64 = { SystemClock.wallMilliseconds }
    ) -> TokenSource {
        switch self {
        case .anonymous:
            return .anonymous
        case .signing(let user, let secret, let subscriptionSecret):
            let signer = { @Sendable () throws(InputError) -> TokenSigner in
                TokenSigner(
                    user: user,
                    secret: try secrets.load(secret),
                    subscriptionSecret: try subscriptionSecret.map { reference throws(InputError) in
                        try secrets.load(reference)
                    }
                )
            }
            return TokenSource(
                connection: { try signer().connectionToken(now: wallClock()) },
                subscription: {
                    try signer().subscriptionToken(room: $0, hearsMembers: hearing.contains($0), now: wallClock())
                }
            )
        case .tokens(let connection, let rooms):
            return TokenSource(
                connection: { try connection.map { try secrets.load($0) } },
                subscription: { room in try rooms[room].map { try secrets.load($0) } }
            )
        }
    }
}

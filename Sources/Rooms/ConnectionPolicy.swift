package import RoomsRuntime

/// How a connection behaves.
package struct ConnectionPolicy: Sendable {
    /// A label for the server's statistics; cut to 16 bytes.
    package var name: ByteString
    /// Cut to 64 bytes.
    package var version: ByteString
    package var tokens: TokenSource

    /// For the answer to any command, from the last byte heard when a recovery is awaited.
    package var commandTimeout: Duration = .seconds(5)
    /// Added to the server's ping interval before silence counts as death.
    package var pingGrace: Duration = .seconds(10)
    /// Pauses between attempts, of the connection and of each room.
    package var backoff = Backoff()
    /// A connection, or a joined room, that lasted this long counts as good: its next trouble starts at the shortest pause.
    package var steadyAfter: Duration = .seconds(10)
    /// The least pause after an end that a quick retry cannot heal.
    package var slowRetry: Duration = .seconds(300)
    /// How long reading may be paused before the connection is closed.
    package var pauseLimit: Duration = .seconds(5)

    package var commandsInFlight = 32
    package var recoveriesInFlight = 8
    /// Joins and leaves of others are wanted.
    package var hearsMembers = false
    /// Histories that clients may not read can be read through the server's API.
    var hasHistoryAPI = false
    /// For each room, of live events that wait while older ones are fetched.
    package var liveBufferBytes = 512 * 1024

    package init(name: ByteString = "rooms", version: ByteString = .empty, tokens: TokenSource = .anonymous) {
        self.name = name
        self.version = version
        self.tokens = tokens
    }
}

/// The policy of a connection, held once for all of its rooms.
final class SharedPolicy: Sendable {
    let policy: ConnectionPolicy

    init(_ policy: ConnectionPolicy) {
        self.policy = policy
    }
}

/// Times and limits of a connection; the defaults are Centrifugo's.
package struct SessionSettings: Sendable {
    package var pingInterval = Duration.seconds(25)
    package var pongTimeout = Duration.seconds(8)
    /// How long a connection may take to say `connect`.
    package var staleDelay = Duration.seconds(10)
    /// How long after its expiry a connection or subscription may still be refreshed.
    package var expiryGrace = Duration.seconds(25)
    /// How long the peer may take to answer a close.
    package var closeDelay = Duration.seconds(5)
    package var roomLimit = 128
    /// Connections of one user; 0: any number.
    package var userConnectionLimit = 0
    /// Bytes that may wait for one connection.
    package var queueLimit = 1 << 20
    /// Bytes of a frame from the client.
    package var messageLimit = 65_536
    package var recoveryLimit = 300
    package var historyLimit = 300
    /// Messages that share a frame at most.
    package var messagesPerFrame = 16
    /// The connect reply tells what time it is here.
    package var tellsTime = false
    /// Connections without a token are taken.
    package var admitsAnonymous = true

    package init() {}
}

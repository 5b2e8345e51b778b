package import RoomsRuntime
package import RoomsWebSocket

/// How a client opens and keeps a WebSocket.
package struct WebSocketOptions: Sendable {
    /// Offered alone; a server that does not echo it is refused.
    package var subprotocol: ByteString?
    package var tls: TLSSettings
    package var proxy: String?
    /// More fields for the request; none of its own may be among them.
    package var headers: [HTTPHeader]
    /// From the look-up of the name to the server's answer.
    package var openTimeout: Duration
    /// From our close to the server's.
    package var closeTimeout: Duration
    /// How long the server may take none of what waits for it.
    package var writeTimeout: Duration
    /// Bytes that may wait to be written; more end the connection.
    package var maxQueued: Int
    package var limits: WebSocketLimits

    package init(
        subprotocol: ByteString? = nil,
        tls: TLSSettings = TLSSettings(),
        proxy: String? = nil,
        headers: [HTTPHeader] = [],
        openTimeout: Duration = .seconds(10),
        closeTimeout: Duration = .seconds(5),
        writeTimeout: Duration = .seconds(30),
        maxQueued: Int = 16 * 1024 * 1024,
        limits: WebSocketLimits = WebSocketLimits()
    ) {
        self.subprotocol = subprotocol
        self.tls = tls
        self.proxy = proxy
        self.headers = headers
        self.openTimeout = openTimeout
        self.closeTimeout = closeTimeout
        self.writeTimeout = writeTimeout
        self.maxQueued = maxQueued
        self.limits = limits
    }
}

/// How a WebSocket ended.
package enum WebSocketEnd: Hashable, Sendable {
    /// By a close frame, of the server or answered by it (1005: without a code).
    case closed(code: UInt16, reason: ByteString)
    case failed(TransportError)
    /// The server answered the upgrade with another status than 101.
    ///
    /// A redirect is not followed.
    case refused(status: Int)
}

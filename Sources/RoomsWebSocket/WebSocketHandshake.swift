package import RoomsRuntime

/// The two computed values of the opening handshake (RFC 6455 sections 4.1 and 4.2.2).
package enum WebSocketHandshake {
    private static let suffix = Array("258EAFA5-E914-47DA-95CA-C5AB0DC85B11".utf8)

    /// A fresh `Sec-WebSocket-Key`.
    package static func makeKey() -> ByteString {
        ByteString(Base64.encode(Digest.randomBytes(16)))
    }

    /// The `Sec-WebSocket-Accept` that answers `key`.
    package static func acceptValue(for key: ByteString) -> ByteString {
        ByteString(Base64.encode(Digest.sha1(key.bytes + suffix)))
    }
}

package import RoomsRuntime

/// Where a stream leads: a TCP port, or a Unix socket.
package struct StreamTarget: Hashable, Sendable {
    package enum Security: Hashable, Sendable {
        case plain
        case tls(TLSSettings)
    }

    /// The longest path that a socket address holds.
    package static let maxUnixPath = 107

    /// A name or an address, an IPv6 address without its brackets.
    package var host: ByteString
    package var port: UInt16
    package var security: Security
    package var unixPath: ByteString?
    /// The proxy's URL; the environment's proxies are never used.
    package var proxy: String?
    /// Refuses to connect to an address that is not on this machine, whatever the name resolved to.
    package var isLoopbackOnly: Bool

    package init(
        host: ByteString,
        port: UInt16,
        security: Security = .plain,
        unixPath: ByteString? = nil,
        proxy: String? = nil,
        isLoopbackOnly: Bool = false
    ) {
        self.host = host
        self.port = port
        self.security = security
        self.unixPath = unixPath
        self.proxy = proxy
        self.isLoopbackOnly = isLoopbackOnly
    }

    /// A Unix socket, spoken to without TLS.
    package init(unixPath: ByteString) {
        self.init(host: "localhost", port: 80, unixPath: unixPath)
    }

    /// For error messages.
    package var summary: String {
        if let unixPath { return "the socket \(unixPath)" }
        return host.bytes.contains(UInt8(ascii: ":")) ? "[\(host)]:\(port)" : "\(host):\(port)"
    }

    /// What is wrong with the target before anything is tried.
    func check() throws(TransportError) {
        if let unixPath {
            guard !unixPath.isEmpty, unixPath.count <= Self.maxUnixPath else {
                throw TransportError(
                    .invalidTarget,
                    "the path of a Unix socket has 1 to \(Self.maxUnixPath) bytes; this one has \(unixPath.count)"
                )
            }
            guard !unixPath.bytes.contains(0) else {
                throw TransportError(.invalidTarget, "the path of a Unix socket has no NUL byte")
            }
        }
        guard !host.isEmpty, host.count <= 255, host.bytes.allSatisfy(ServerURL.isHostByte) else {
            throw TransportError(
                .invalidTarget,
                "\"\(host)\" is not a host: a name has letters, digits, \"-\", \"_\" and \".\" (others in their xn-- form)"
            )
        }
        guard port != 0 else { throw TransportError(.invalidTarget, "port 0 cannot be connected to; use 1 to 65535") }
    }
}

package import RoomsRuntime

/// How the certificate of a server is checked, and ours shown; the check itself cannot be turned off.
package struct TLSSettings: Hashable, Sendable {
    /// The authorities to trust in place of the system's: a file that is read for each connection.
    package var authorityFile: String?
    /// The same as text (PEM); it goes before the file.
    package var authorities: ByteString?
    package var identity: ClientIdentity?

    package init(authorityFile: String? = nil, authorities: ByteString? = nil, identity: ClientIdentity? = nil) {
        self.authorityFile = authorityFile
        self.authorities = authorities
        self.identity = identity
    }
}

/// What we show to a server that asks who we are, as text (PEM).
package struct ClientIdentity: Hashable, Sendable {
    /// Our own, and those between it and the authority.
    package var certificates: ByteString
    package var key: Secret

    package init(certificates: ByteString, key: Secret) {
        self.certificates = certificates
        self.key = key
    }
}

internal import RoomsRuntime
package import RoomsTransport

/// What an endpoint is spoken to with, and what may change while it is: secrets and certificates.
package struct EndpointCredentials: Hashable, Sendable {
    /// The newest first; none: unsigned.
    package var signing: [SigningKey]
    /// Fields that every request carries, among them `authorization`.
    package var headers: [EndpointSettings.Header]
    /// Counts only where the endpoint is spoken to with TLS.
    package var tls: TLSSettings

    package init(signing: [SigningKey] = [], headers: [EndpointSettings.Header] = [], tls: TLSSettings = TLSSettings())
    {
        self.signing = signing
        self.headers = headers
        self.tls = tls
    }
}

extension EndpointSettings {
    package mutating func use(_ credentials: EndpointCredentials) {
        signing = credentials.signing
        headers = credentials.headers
        if case .tls = target.security { target.security = .tls(credentials.tls) }
    }
}

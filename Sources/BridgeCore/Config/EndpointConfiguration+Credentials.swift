internal import BridgeDelivery
internal import RoomsRuntime
internal import RoomsTransport

extension EndpointConfiguration {
    /// Reads the secrets and the certificates that are in use now, and checks them.
    func credentials(_ secrets: SecretSource) throws(InputError) -> EndpointCredentials {
        var credentials = EndpointCredentials()
        let now = SystemClock.wallMilliseconds
        for entry in signing where entry.until.map({ $0 > now }) ?? true {
            credentials.signing.append(try entry.key(secrets))
        }
        for header in headers { credentials.headers.append(try header.field(secrets)) }
        credentials.tls.authorities = try ca.map { path throws(InputError) in try CertificateFile.read(path) }
        credentials.tls.identity = try identity.map { identity throws(InputError) in
            let certificates = try CertificateFile.read(identity.certificate)
            let key = try secrets.load(identity.key)
            try CertificateFile.check(key, for: certificates, identity.certificate)
            return ClientIdentity(certificates: certificates, key: key)
        }
        return credentials
    }

    /// The files that `credentials` reads.
    var credentialFiles: Set<ByteString> {
        var references = signing.map(\.secret) + headers.map(\.secret)
        if let identity { references.append(identity.key) }
        let files = references.compactMap { if case .file(let path) = $0 { path } else { nil } }
        return Set(files + [ca, identity?.certificate].compactMap { $0 })
    }
}

extension SigningReference {
    fileprivate func key(_ secrets: SecretSource) throws(InputError) -> SigningKey {
        let secret = try secrets.load(self.secret)
        do throws(SigningSecretError) {
            var key = try SigningSecret.decode(secret)
            key.until = until
            return key
        } catch {
            throw InputError(code: .malformed, message: error.message)
        }
    }
}

extension HeaderReference {
    fileprivate func field(_ secrets: SecretSource) throws(InputError) -> EndpointSettings.Header {
        let secret = try secrets.load(self.secret)
        try isBearer ? Self.check(bearer: secret) : Self.check(secret)
        let value = isBearer ? Secret(Array("Bearer ".utf8) + secret.bytes) : secret
        return EndpointSettings.Header(name: name, value: value)
    }
}

internal import RoomsRuntime
internal import RoomsTransport

/// Reads what TLS needs of an endpoint or a server.
extension ConfigurationDecoder {
    /// A file of certificates.
    func certificates(_ value: ConfigurationValue) -> ByteString? {
        guard let text = value.text("the path of a file with certificates (PEM)") else { return nil }
        let path = resolve(text)
        do throws(InputError) {
            _ = try CertificateFile.read(path)
            return path
        } catch {
            value.reject(error.message)
            return nil
        }
    }

    /// The authorities that an endpoint is checked with, and what it may ask us for.
    func tls(
        _ object: ConfigurationObject,
        of target: EndpointConfiguration.Target?
    ) -> (ca: ByteString?, identity: IdentityReference?) {
        let keys: [ByteString] = ["ca", "client_certificate", "client_key"]
        switch target {
        case .url(let url, _) where url.isSecure: break
        case nil: break
        case .url, .unix, .stream:
            for key in keys { object[key]?.reject("has a meaning only with https, leave it out") }
            return (nil, nil)
        }
        return (object["ca"].flatMap { certificates($0) }, identity(object))
    }

    private func identity(_ object: ConfigurationObject) -> IdentityReference? {
        switch (object["client_certificate"], object["client_key"]) {
        case (nil, nil):
            return nil
        case (let certificate?, nil):
            certificate.reject("stands alone, must have its \"client_key\" beside it, such as {\"file\": \"PATH\"}")
            return nil
        case (nil, let key?):
            key.reject("stands alone, must have its \"client_certificate\" beside it")
            return nil
        case (let certificate?, let key?):
            let path = certificates(certificate)
            let reference = secret(key) { secret throws(InputError) in
                guard let path, let text = try? CertificateFile.read(path) else { return }
                try CertificateFile.check(secret, for: text, path)
            }
            guard let path, let reference else { return nil }
            return IdentityReference(certificate: path, key: reference)
        }
    }
}

/// Files with certificates that can be used.
enum CertificateFile {
    private static let limit = 4 << 20

    static func read(_ path: ByteString) throws(InputError) -> ByteString {
        let bytes = try InputFile.read(path, limit: limit)
        switch CertificateText.count(bytes) {
        case nil:
            throw InputError(
                code: .malformed,
                message: "\(path) has a certificate in it that cannot be read, must be a PEM file"
            )
        case 0: throw InputError(code: .malformed, message: "\(path) holds no certificate, must be a PEM file")
        default: return ByteString(bytes)
        }
    }

    /// Whether `key` belongs to the first of the certificates.
    static func check(_ key: Secret, for certificates: ByteString, _ path: ByteString) throws(InputError) {
        guard let flaw = CertificateText.flaw(of: key, for: certificates.bytes) else { return }
        let message =
            switch flaw {
            case .unreadable: "holds no private key, must be one as PEM"
            case .encrypted: "holds a private key behind a password, must be one without"
            case .foreign:
                "holds a private key that does not belong to the first certificate in \(path), must be its own"
            }
        throw InputError(code: .malformed, message: message)
    }
}

internal import CRoomsCrypto

/// Certificates and keys as PEM text, as libcrypto reads them.
package enum CertificateText {
    /// How many certificates there are; nil when one of them cannot be read.
    package static func count(_ text: [UInt8]) -> Int? {
        let certificates = certificates(text)
        defer { for certificate in certificates.all { X509_free(certificate) } }
        return certificates.isWhole ? certificates.all.count : nil
    }

    /// Why a private key and the first of some certificates cannot be used together; nil when they can.
    package enum KeyFlaw: Sendable {
        case unreadable
        case encrypted
        case foreign
    }

    package static func flaw(of key: Secret, for text: [UInt8]) -> KeyFlaw? {
        let certificates = certificates(text)
        defer { for certificate in certificates.all { X509_free(certificate) } }
        guard let own = certificates.all.first else { return .foreign }
        guard let pair = privateKey(key) else {
            return contains(key.bytes, "ENCRYPTED") ? .encrypted : .unreadable
        }
        defer { EVP_PKEY_free(pair) }
        defer { ERR_clear_error() }
        return X509_check_private_key(own, pair) == 1 ? nil : .foreign
    }

    private static func certificates(_ text: [UInt8]) -> (all: [OpaquePointer], isWhole: Bool) {
        var found: [OpaquePointer] = []
        ERR_clear_error()
        defer { ERR_clear_error() }
        text.withUnsafeBytes { buffer in
            let input = BIO_new_mem_buf(buffer.baseAddress, CInt(clamping: buffer.count))
            defer { BIO_free(input) }
            while let certificate = PEM_read_bio_X509(input, nil, nil, nil) { found.append(certificate) }
        }
        // What ends a good text is that no further certificate begins.
        let error = ERR_peek_last_error()
        return (found, error == 0 || ERR_GET_REASON(error) == PEM_R_NO_START_LINE)
    }

    private static func privateKey(_ text: Secret) -> OpaquePointer? {
        defer { ERR_clear_error() }
        return text.bytes.withUnsafeBytes { buffer in
            let input = BIO_new_mem_buf(buffer.baseAddress, CInt(clamping: buffer.count))
            defer { BIO_free(input) }
            // Without a word of ours libcrypto would ask the terminal for the password.
            return PEM_read_bio_PrivateKey(input, nil, { _, _, _, _ in -1 }, nil)
        }
    }

    private static func contains(_ bytes: [UInt8], _ word: String) -> Bool {
        let word = Array(word.utf8)
        return bytes.indices.contains { bytes[$0...].starts(with: word) }
    }
}

internal import CRoomsCrypto

/// Signs with one Ed25519 key of libcrypto (RFC 8032), many messages.
///
/// Belongs to one thread at a time.
package final class EdwardsSigner {
    package static let seedLength = 32

    private let key: OpaquePointer
    private let context: OpaquePointer

    /// Nil unless the seed has 32 bytes.
    package init?(seed: Secret) {
        guard seed.bytes.count == Self.seedLength else { return nil }
        guard let key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nil, seed.bytes, seed.bytes.count),
            let context = EVP_MD_CTX_new()
        else { preconditionFailure("libcrypto has no Ed25519") }
        self.key = key
        self.context = context
    }

    deinit {
        EVP_MD_CTX_free(context)
        EVP_PKEY_free(key)
    }

    /// What others check the signatures with: 32 bytes.
    package var publicKey: [UInt8] {
        var bytes = [UInt8](repeating: 0, count: EdwardsKey.length)
        var length = bytes.count
        let isGood = EVP_PKEY_get_raw_public_key(key, &bytes, &length) == 1
        precondition(isGood && length == bytes.count, "libcrypto cannot tell the public key")
        return bytes
    }

    /// Hands the 64 bytes to `body`; the pointer lives for the call.
    package func sign(_ message: [UInt8], _ body: (UnsafeRawBufferPointer) -> Void) {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: EdwardsKey.signatureLength) { signature in
            var length = signature.count
            EVP_MD_CTX_reset(context)
            let isGood =
                EVP_DigestSignInit(context, nil, nil, nil, key) == 1
                && EVP_DigestSign(context, signature.baseAddress, &length, message, message.count) == 1
            precondition(isGood && length == signature.count, "libcrypto cannot sign")
            body(UnsafeRawBufferPointer(signature))
        }
    }
}

/// The public half of an Ed25519 key.
package enum EdwardsKey {
    package static let length = 32
    package static let signatureLength = 64

    /// Whether the owner of `publicKey` has signed `message`; false also for what is no key or no signature.
    package static func isValid(_ signature: [UInt8], of message: [UInt8], by publicKey: [UInt8]) -> Bool {
        guard publicKey.count == length, signature.count == signatureLength else { return false }
        guard let key = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nil, publicKey, publicKey.count) else {
            return false
        }
        defer { EVP_PKEY_free(key) }
        let context = EVP_MD_CTX_new()
        defer { EVP_MD_CTX_free(context) }
        return EVP_DigestVerifyInit(context, nil, nil, nil, key) == 1
            && EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
    }
}

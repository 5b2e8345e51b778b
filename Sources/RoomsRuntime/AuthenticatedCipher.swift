internal import CRoomsCrypto

/// AES-256-GCM of libcrypto (NIST SP 800-38D) under one key, of which this is the only copy that it needs.
///
/// The key is overwritten when the last reference goes; a `Secret` or a text that it came from is its owner's to forget.
package final class AuthenticatedCipher: Sendable {
    package static let keyLength = 32
    package static let nonceLength = 12
    package static let tagLength = 16

    // Safety: written in `init` alone and wiped in `deinit`; in between it is only read.
    private nonisolated(unsafe) let key: UnsafeMutablePointer<UInt8>
    // Safety: an EVP_CIPHER is immutable and counted; contexts of any thread may use it.
    private nonisolated(unsafe) let algorithm: OpaquePointer

    /// Nil unless the key has 32 bytes.
    package init?(key: Secret) {
        guard key.bytes.count == Self.keyLength else { return nil }
        guard let algorithm = EVP_CIPHER_fetch(nil, "AES-256-GCM", nil) else {
            preconditionFailure("libcrypto has no AES-256-GCM")
        }
        self.algorithm = algorithm
        self.key = .allocate(capacity: Self.keyLength)
        self.key.initialize(from: key.bytes, count: Self.keyLength)
    }

    deinit {
        OPENSSL_cleanse(key, Self.keyLength)
        key.deallocate()
        EVP_CIPHER_free(algorithm)
    }

    /// The text that was sealed with this key, nonce and associated data; nil if any of them, or a byte, differs.
    ///
    /// Nothing of a text that is not authentic is given out.
    package func open(
        _ ciphertext: [UInt8],
        nonce: [UInt8],
        tag: [UInt8],
        associated: [UInt8]
    ) -> [UInt8]? {
        guard nonce.count == Self.nonceLength, tag.count == Self.tagLength else { return nil }
        let context = EVP_CIPHER_CTX_new()
        defer { EVP_CIPHER_CTX_free(context) }
        var tag = tag
        var text = [UInt8](repeating: 0, count: ciphertext.count)
        let isGood =
            EVP_DecryptInit_ex2(context, algorithm, key, nonce, nil) == 1
            && update(EVP_DecryptUpdate, context, from: associated, into: nil)
            && text.withUnsafeMutableBufferPointer { text in
                update(EVP_DecryptUpdate, context, from: ciphertext, into: text.baseAddress)
            }
            && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, CInt(tag.count), &tag) == 1
            && finish(EVP_DecryptFinal_ex, context)
        guard isGood else {
            text.withUnsafeMutableBytes { OPENSSL_cleanse($0.baseAddress, $0.count) }
            return nil
        }
        return text
    }

    /// The sealed text and its tag.
    ///
    /// A nonce may seal one text under a key, never a second one.
    package func seal(
        _ text: [UInt8],
        nonce: [UInt8],
        associated: [UInt8]
    ) -> (ciphertext: [UInt8], tag: [UInt8]) {
        precondition(nonce.count == Self.nonceLength, "a nonce of GCM has 12 bytes")
        let context = EVP_CIPHER_CTX_new()
        defer { EVP_CIPHER_CTX_free(context) }
        var ciphertext = [UInt8](repeating: 0, count: text.count)
        var tag = [UInt8](repeating: 0, count: Self.tagLength)
        let isGood =
            EVP_EncryptInit_ex2(context, algorithm, key, nonce, nil) == 1
            && update(EVP_EncryptUpdate, context, from: associated, into: nil)
            && ciphertext.withUnsafeMutableBufferPointer { ciphertext in
                update(EVP_EncryptUpdate, context, from: text, into: ciphertext.baseAddress)
            }
            && finish(EVP_EncryptFinal_ex, context)
            && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, CInt(tag.count), &tag) == 1
        precondition(isGood, "libcrypto cannot seal")
        return (ciphertext, tag)
    }

    private typealias Update = (
        OpaquePointer?, UnsafeMutablePointer<UInt8>?, UnsafeMutablePointer<CInt>?, UnsafePointer<UInt8>?, CInt
    ) -> CInt

    /// Puts bytes in: without a place for the result they are associated data.
    private func update(
        _ update: Update,
        _ context: OpaquePointer?,
        from bytes: [UInt8],
        into result: UnsafeMutablePointer<UInt8>?
    ) -> Bool {
        guard !bytes.isEmpty else { return true }
        guard let count = CInt(exactly: bytes.count) else { return false }
        var written: CInt = 0
        return update(context, result, &written, bytes, count) == 1 && written == count
    }

    private func finish(
        _ finish: (OpaquePointer?, UnsafeMutablePointer<UInt8>?, UnsafeMutablePointer<CInt>?) -> CInt,
        _ context: OpaquePointer?
    ) -> Bool {
        // GCM writes nothing at the end, but wants a place for it.
        var rest: UInt8 = 0
        var written: CInt = 0
        return finish(context, &rest, &written) == 1 && written == 0
    }
}

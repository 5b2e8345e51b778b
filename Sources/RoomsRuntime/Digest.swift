internal import CRoomsCrypto

/// Digests and random bytes of libcrypto.
package enum Digest {
    /// SHA-256 over the parts in order: 32 bytes.
    package static func sha256(_ parts: [[UInt8]]) -> [UInt8] {
        hash(EVP_sha256(), parts)
    }

    /// SHA-1 over `bytes`: 20 bytes.
    ///
    /// For the WebSocket handshake alone (RFC 6455 section 1.3).
    package static func sha1(_ bytes: [UInt8]) -> [UInt8] {
        hash(EVP_sha1(), [bytes])
    }

    /// Bytes from the system's generator, fit for keys.
    package static func randomBytes(_ count: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        let result = RAND_bytes(&bytes, CInt(count))
        precondition(result == 1, "no random bytes")
        return bytes
    }

    private static func hash(_ kind: OpaquePointer?, _ parts: [[UInt8]]) -> [UInt8] {
        let context = EVP_MD_CTX_new()
        defer { EVP_MD_CTX_free(context) }
        var digest = [UInt8](repeating: 0, count: 64)
        var length: UInt32 = 0
        var isGood = EVP_DigestInit_ex(context, kind, nil) == 1
        for part in parts { isGood = EVP_DigestUpdate(context, part, part.count) == 1 && isGood }
        isGood = EVP_DigestFinal_ex(context, &digest, &length) == 1 && isGood
        precondition(isGood, "libcrypto cannot hash")
        digest.removeLast(digest.count - Int(length))
        return digest
    }
}

/// SHA-256 for many messages (a fraction of the cost of `Digest.sha256` on short ones).
///
/// Belongs to one thread at a time.
package final class MessageDigest {
    private let algorithm: OpaquePointer
    private let context: OpaquePointer

    package init() {
        guard let algorithm = EVP_MD_fetch(nil, "SHA256", nil), let context = EVP_MD_CTX_new() else {
            preconditionFailure("libcrypto has no SHA-256")
        }
        self.algorithm = algorithm
        self.context = context
    }

    deinit {
        EVP_MD_CTX_free(context)
        EVP_MD_free(algorithm)
    }

    /// Hands the 32 bytes to `body`; the pointer lives for the call.
    package func digest(_ bytes: [UInt8], _ body: (UnsafeRawBufferPointer) -> Void) {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 64) { digest in
            var length: UInt32 = 0
            let isGood =
                EVP_DigestInit_ex(context, algorithm, nil) == 1 && EVP_DigestUpdate(context, bytes, bytes.count) == 1
                && EVP_DigestFinal_ex(context, digest.baseAddress, &length) == 1
            precondition(isGood && length == 32, "libcrypto cannot hash")
            body(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(digest)[..<32]))
        }
    }
}

/// HMAC-SHA256 under one key, for many messages (three times as fast as libcrypto's one-shot call).
///
/// Belongs to one thread at a time.
package final class MessageAuthenticator {
    private let context: OpaquePointer

    package init(key: Secret) {
        let algorithm = EVP_MAC_fetch(nil, "HMAC", nil)
        defer { EVP_MAC_free(algorithm) }
        guard let context = EVP_MAC_CTX_new(algorithm) else { preconditionFailure("libcrypto has no HMAC") }
        self.context = context
        var name = Array("SHA256".utf8CString)
        let isGood = name.withUnsafeMutableBufferPointer { name in
            // OSSL_PARAM keeps both pointers until EVP_MAC_init returns: the literal's and this closure's live that long.
            OSSL_MAC_PARAM_DIGEST.withCString { digest in
                var parameters = [
                    OSSL_PARAM_construct_utf8_string(digest, name.baseAddress, 0), OSSL_PARAM_construct_end(),
                ]
                // An empty key is legal for HMAC but a nil pointer means "as before": give it one byte of nothing.
                return (key.bytes + [0]).withUnsafeBufferPointer {
                    EVP_MAC_init(context, $0.baseAddress, key.bytes.count, &parameters) == 1
                }
            }
        }
        precondition(isGood, "libcrypto has no HMAC-SHA256")
    }

    deinit { EVP_MAC_CTX_free(context) }

    /// The 32 bytes over the parts in order.
    package func authenticate(_ parts: [UnsafeRawBufferPointer]) -> [UInt8] {
        var isGood = EVP_MAC_init(context, nil, 0, nil) == 1
        for part in parts where !part.isEmpty {
            isGood = EVP_MAC_update(context, part.bindMemory(to: UInt8.self).baseAddress, part.count) == 1 && isGood
        }
        var code = [UInt8](repeating: 0, count: 32)
        var length = 0
        isGood = EVP_MAC_final(context, &code, &length, code.count) == 1 && isGood
        precondition(isGood && length == 32, "libcrypto cannot authenticate")
        return code
    }

    /// Hands the 32 bytes over two parts to `body`, without an array; the pointer lives for the call.
    package func authenticate(_ first: [UInt8], _ second: [UInt8], _ body: (UnsafeRawBufferPointer) -> Void) {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 32) { code in
            var length = 0
            let isGood =
                EVP_MAC_init(context, nil, 0, nil) == 1 && EVP_MAC_update(context, first, first.count) == 1
                && EVP_MAC_update(context, second, second.count) == 1
                && EVP_MAC_final(context, code.baseAddress, &length, 32) == 1
            precondition(isGood && length == 32, "libcrypto cannot authenticate")
            body(UnsafeRawBufferPointer(code))
        }
    }

    package func authenticate(_ bytes: [UInt8]) -> [UInt8] {
        bytes.withUnsafeBytes { authenticate([$0]) }
    }
}

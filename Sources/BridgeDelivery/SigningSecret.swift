package import RoomsRuntime

/// What signs the requests of an endpoint.
package struct SigningKey: Hashable, Sendable {
    package enum Scheme: String, Hashable, Sendable {
        /// HMAC-SHA256.
        case symmetric = "v1"
        /// Ed25519.
        case asymmetric = "v1a"
    }

    package let scheme: Scheme
    /// The key of the HMAC, or the seed of Ed25519.
    package let bytes: Secret
    /// From then on it signs nothing more; milliseconds since 1970.
    package var until: Int64?

    package init(_ scheme: Scheme, _ bytes: Secret, until: Int64? = nil) {
        self.scheme = scheme
        self.bytes = bytes
        self.until = until
    }

    func isOver(at now: Int64) -> Bool { until.map { $0 <= now } ?? false }
}

/// Reads and writes signing secrets as Standard Webhooks has them: base64 behind `whsec_` (which may be left out) for
/// `v1`, behind `whsk_` for `v1a`; receivers have the public half of the latter, behind `whpk_`.
package enum SigningSecret {
    private static let symmetric = Array("whsec_".utf8)
    private static let asymmetric = Array("whsk_".utf8)
    private static let publicHalf = Array("whpk_".utf8)

    package static func decode(_ text: Secret) throws(SigningSecretError) -> SigningKey {
        guard !text.bytes.starts(with: publicHalf) else { throw SigningSecretError(code: .publicKey) }
        if text.bytes.starts(with: asymmetric) { return try decodePair(text.bytes.dropFirst(asymmetric.count)) }
        let hasPrefix = text.bytes.starts(with: symmetric)
        let encoded = hasPrefix ? text.bytes.dropFirst(symmetric.count) : text.bytes[...]
        guard !encoded.isEmpty else { throw SigningSecretError(code: .empty) }
        guard let key = Base64.decode(encoded) else { throw SigningSecretError(code: .notBase64) }
        guard key.count >= 24 else { throw SigningSecretError(code: .tooShort) }
        guard key.count <= 64 else { throw SigningSecretError(code: .tooLong) }
        return SigningKey(.symmetric, Secret(key))
    }

    /// The seed and, unless it was left out, the public key that belongs to it.
    private static func decodePair(_ encoded: ArraySlice<UInt8>) throws(SigningSecretError) -> SigningKey {
        guard let pair = Base64.decode(encoded) else { throw SigningSecretError(code: .notBase64Pair) }
        let seed = Secret(Array(pair.prefix(EdwardsSigner.seedLength)))
        guard let signer = EdwardsSigner(seed: seed) else { throw SigningSecretError(code: .notPair) }
        let half = pair.dropFirst(EdwardsSigner.seedLength)
        guard half.isEmpty || half.count == EdwardsKey.length else { throw SigningSecretError(code: .notPair) }
        guard half.isEmpty || half.elementsEqual(signer.publicKey) else { throw SigningSecretError(code: .mixedPair) }
        return SigningKey(.asymmetric, seed)
    }

    /// The text of the public half; nil for a key that has none.
    package static func publicKey(of key: SigningKey) -> String? {
        guard key.scheme == .asymmetric, let signer = EdwardsSigner(seed: key.bytes) else { return nil }
        return String(decoding: publicHalf + Base64.encode(signer.publicKey), as: UTF8.self)
    }

    /// The 32 bytes of a public half; nil when `text` is none.
    package static func decodePublicKey(_ text: Secret) -> [UInt8]? {
        guard text.bytes.starts(with: publicHalf) else { return nil }
        return Base64.decode(text.bytes.dropFirst(publicHalf.count)).flatMap {
            $0.count == EdwardsKey.length ? $0 : nil
        }
    }

    /// A secret that nobody has had before.
    package static func random(_ scheme: SigningKey.Scheme) -> Secret {
        let bytes = Digest.randomBytes(EdwardsSigner.seedLength)
        switch scheme {
        case .symmetric:
            return Secret(symmetric + Base64.encode(bytes))
        case .asymmetric:
            let half = EdwardsSigner(seed: Secret(bytes))?.publicKey ?? []
            return Secret(asymmetric + Base64.encode(bytes + half))
        }
    }
}

/// Why a signing secret cannot be used; never tells anything of it.
package struct SigningSecretError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Code: Hashable, Sendable {
        case empty
        case notBase64
        case tooShort
        case tooLong
        case notBase64Pair
        case notPair
        case mixedPair
        case publicKey
    }

    package let code: Code

    package var description: String { message }

    package var message: String {
        switch code {
        case .empty: "the signing secret is empty; \(Self.symmetric)"
        case .notBase64: "the signing secret is not base64; \(Self.symmetric)"
        case .tooShort: "the signing secret has fewer than 24 bytes; \(Self.symmetric)"
        case .tooLong: "the signing secret has more than 64 bytes; \(Self.symmetric)"
        case .notBase64Pair: "the signing secret is not base64; \(Self.asymmetric)"
        case .notPair: "the signing secret is no Ed25519 key; \(Self.asymmetric)"
        case .mixedPair: "the two halves of the signing secret do not belong together; \(Self.asymmetric)"
        case .publicKey: "this is the public key, for receivers; here its secret has to stand: \(Self.asymmetric)"
        }
    }

    private static let symmetric = "it is whsec_ and the base64 of 24 to 64 random bytes (roombridge keygen)"
    private static let asymmetric =
        "it is whsk_ and the base64 of a 32-byte seed and its 32-byte public key (roombridge keygen --ed25519)"
}

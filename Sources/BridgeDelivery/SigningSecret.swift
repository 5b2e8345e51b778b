package import RoomsRuntime

/// Reads signing secrets as Standard Webhooks writes them: base64 with or without `whsec_` in front.
package enum SigningSecret {
    /// The key's bytes.
    package static func decode(_ text: Secret) throws(SigningSecretError) -> Secret {
        let prefix = "whsec_".utf8
        let encoded = text.bytes.starts(with: prefix) ? text.bytes.dropFirst(prefix.count) : text.bytes[...]
        guard !encoded.isEmpty else { throw SigningSecretError(code: .empty) }
        guard let key = Base64.decode(encoded) else { throw SigningSecretError(code: .notBase64) }
        guard key.count >= 24 else { throw SigningSecretError(code: .tooShort) }
        guard key.count <= 64 else { throw SigningSecretError(code: .tooLong) }
        return Secret(key)
    }
}

/// Why a signing secret cannot be used; never tells anything of it.
package struct SigningSecretError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Code: Hashable, Sendable {
        case empty
        case notBase64
        case tooShort
        case tooLong
    }

    package let code: Code

    package var description: String { message }

    package var message: String {
        switch code {
        case .empty: "the signing secret is empty; it is whsec_ and the base64 of 24 to 64 random bytes"
        case .notBase64: "the signing secret is not base64; it is whsec_ and the base64 of 24 to 64 random bytes"
        case .tooShort:
            "the signing secret has fewer than 24 bytes; it is whsec_ and the base64 of 24 to 64 random bytes"
        case .tooLong: "the signing secret has more than 64 bytes; it is whsec_ and the base64 of 24 to 64 random bytes"
        }
    }
}

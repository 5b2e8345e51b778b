package import RoomsRuntime
internal import RoomsWire

/// A value that only those who have the room's key can read: a JWE in compact form (RFC 7516).
///
/// One kind alone is opened: `alg` is `dir` (the room's key encrypts the text itself), `enc` is `A256GCM`, `kid` names
/// the key. Everything else is refused, so that nobody who has no key can choose how a text is opened.
package enum SealedValue {
    /// Why a value could not be opened.
    package enum Failure: Error, Equatable, Sendable {
        /// Not a JWE in compact form, or a header without `alg`, `enc` and `kid`, or longer than a value may be.
        case malformed
        /// A JWE of another kind: another `alg` or `enc`, compressed (`zip`), or with extensions (`crit`).
        case unsupported
        /// The ring has no key of that name.
        case noKey(ByteString)
        /// Sealed with another key, or changed on its way.
        case notAuthentic
    }

    /// As much as a connection takes as one message.
    package static let maximumLength = 16 << 20
    /// A header has three short members; nobody needs more.
    static let maximumHeaderLength = 4_096

    /// The text in the compact form `text`.
    package static func open(_ text: [UInt8], with keys: KeyRing) throws(Failure) -> [UInt8] {
        guard text.count <= maximumLength else { throw .malformed }
        let parts = text.split(separator: UInt8(ascii: "."), maxSplits: 5, omittingEmptySubsequences: false)
        guard parts.count == 5 else { throw .malformed }
        let kid = try kid(inHeader: parts[0])
        // With `dir` there is no encrypted key.
        guard parts[1].isEmpty, let nonce = CompactText.decode(parts[2]),
            nonce.count == AuthenticatedCipher.nonceLength, let ciphertext = CompactText.decode(parts[3]),
            let tag = CompactText.decode(parts[4]), tag.count == AuthenticatedCipher.tagLength
        else { throw .malformed }
        guard let cipher = keys.cipher(for: kid) else { throw .noKey(kid) }
        guard let plain = cipher.open(ciphertext, nonce: nonce, tag: tag, associated: Array(parts[0])) else {
            throw .notAuthentic
        }
        return plain
    }

    /// The text in the compact form that the JSON string `json` has, as it stands in an event's envelope.
    package static func open(json: [UInt8], with keys: KeyRing) throws(Failure) -> [UInt8] {
        guard json.count <= maximumLength, let document = try? JSONDocument.parse(json),
            let text = document.root.string
        else { throw .malformed }
        return try open(text.bytes, with: keys)
    }

    /// Seals `plain` in compact form, with a nonce of its own.
    package static func seal(_ plain: [UInt8], as kid: ByteString, with cipher: AuthenticatedCipher) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { header in
            header.key("alg")
            header.string("dir")
            header.key("enc")
            header.string("A256GCM")
            header.key("kid")
            header.string(kid)
        }
        let header = Base64.encodeURL(writer.bytes)
        let nonce = Digest.randomBytes(AuthenticatedCipher.nonceLength)
        let (ciphertext, tag) = cipher.seal(plain, nonce: nonce, associated: header)
        let parts = [header, [], Base64.encodeURL(nonce), Base64.encodeURL(ciphertext), Base64.encodeURL(tag)]
        return Array(parts.joined(separator: [UInt8(ascii: ".")]))
    }

    /// Reads the header and refuses all kinds but ours; members that it does not know mean nothing (RFC 7516 section 4).
    private static func kid(inHeader text: ArraySlice<UInt8>) throws(Failure) -> ByteString {
        guard text.count <= maximumHeaderLength, let bytes = CompactText.decode(text),
            let document = try? JSONDocument.parse(bytes), document.root.members != nil, document.duplicates.isEmpty,
            let algorithm = document.root["alg"]?.string, let encryption = document.root["enc"]?.string
        else { throw .malformed }
        guard algorithm == "dir", encryption == "A256GCM", document.root["zip"] == nil, document.root["crit"] == nil
        else { throw .unsupported }
        guard let kid = document.root["kid"]?.string else { throw .malformed }
        return kid
    }
}

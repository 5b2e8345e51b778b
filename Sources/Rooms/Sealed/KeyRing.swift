package import RoomsRuntime

/// The keys that open a room's sealed values, by their `kid`.
///
/// Keys that the app gives (options, grants) stay. Those that the auth route issues come with each token and take the
/// place of an older key of the same `kid`, wherever that came from; older ones of other names are kept for events that
/// were sealed before a rotation, up to a bound.
package struct KeyRing: Sendable {
    /// So many issued keys are kept: with one a day, two months of them.
    package static let issuedCapacity = 64

    private var given: [ByteString: AuthenticatedCipher] = [:]
    private var issued: [ByteString: AuthenticatedCipher] = [:]
    /// The names of the issued keys, the one that came longest ago first.
    private var issuedOrder: [ByteString] = []

    package init() {}

    package var isEmpty: Bool { given.isEmpty && issued.isEmpty }

    /// Keeps a key for good, in the place of one given before.
    ///
    /// - Returns: false, and nothing is changed, unless the key has 32 bytes.
    @discardableResult
    package mutating func give(_ key: Secret, as kid: ByteString) -> Bool {
        guard let cipher = AuthenticatedCipher(key: key) else { return false }
        given[kid] = cipher
        return true
    }

    /// Takes a key from the auth route: it is newer than all others of that name.
    ///
    /// - Returns: false, and nothing is changed, unless the key has 32 bytes.
    @discardableResult
    package mutating func issue(_ key: Secret, as kid: ByteString) -> Bool {
        guard let cipher = AuthenticatedCipher(key: key) else { return false }
        if issued.updateValue(cipher, forKey: kid) != nil { issuedOrder.removeAll { $0 == kid } }
        issuedOrder.append(kid)
        if issuedOrder.count > Self.issuedCapacity { issued[issuedOrder.removeFirst()] = nil }
        return true
    }

    package func cipher(for kid: ByteString) -> AuthenticatedCipher? {
        issued[kid] ?? given[kid]
    }

    /// The key that is written as base64url without padding, as the auth route, grants and options have it.
    ///
    /// Nil unless that is what it is, of 32 bytes.
    package static func key(encoded text: ByteString) -> Secret? {
        guard let bytes = CompactText.decode(text.bytes[...]), bytes.count == AuthenticatedCipher.keyLength else {
            return nil
        }
        return Secret(bytes)
    }
}

extension KeyRing: CustomStringConvertible {
    package var description: String { "<\(given.count + issued.count) keys>" }
}

internal import RoomsRuntime

/// Writes the `webhook-signature` of Standard Webhooks: one `v1` signature for each secret, with a space between.
///
/// Belongs to one thread at a time.
final class Signature {
    private let authenticators: [MessageAuthenticator]
    private var signed: [UInt8] = []

    /// `keys` are decoded secrets; the first is the newest.
    init(keys: [Secret]) {
        authenticators = keys.map { MessageAuthenticator(key: $0) }
    }

    var isNeeded: Bool { !authenticators.isEmpty }

    /// Puts the signatures in place of what is in `text`.
    func write(id: [UInt8], timestamp: Int64, body: [UInt8], into text: inout [UInt8]) {
        text.removeAll(keepingCapacity: true)
        signed.removeAll(keepingCapacity: true)
        signed.append(contentsOf: id)
        signed.append(UInt8(ascii: "."))
        signed.append(decimal: timestamp)
        signed.append(UInt8(ascii: "."))
        for authenticator in authenticators {
            text.append(literal: text.isEmpty ? "v1," : " v1,")
            authenticator.authenticate(signed, body) { Base64.append($0, to: &text) }
        }
    }
}

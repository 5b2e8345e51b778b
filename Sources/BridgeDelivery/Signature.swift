internal import RoomsRuntime

/// Writes the `webhook-signature` of Standard Webhooks: one signature for each secret that is still in use, with a space
/// between, `v1` or `v1a`.
///
/// Belongs to one thread at a time.
final class Signature {
    private enum Signer {
        case symmetric(MessageAuthenticator)
        case asymmetric(EdwardsSigner)
    }

    private let signers: [(key: SigningKey, signer: Signer)]
    private var signed: [UInt8] = []
    private var whole: [UInt8] = []

    /// The first of `keys` is the newest.
    init(keys: [SigningKey]) {
        signers = keys.map { key in
            switch key.scheme {
            case .symmetric:
                return (key, .symmetric(MessageAuthenticator(key: key.bytes)))
            case .asymmetric:
                guard let signer = EdwardsSigner(seed: key.bytes) else { preconditionFailure("a seed has 32 bytes") }
                return (key, .asymmetric(signer))
            }
        }
    }

    var isNeeded: Bool { !signers.isEmpty }

    /// Puts the signatures in place of what is in `text`; `timestamp` is in seconds since 1970.
    func write(id: [UInt8], timestamp: Int64, body: [UInt8], into text: inout [UInt8]) {
        text.removeAll(keepingCapacity: true)
        signed.removeAll(keepingCapacity: true)
        whole.removeAll(keepingCapacity: whole.capacity <= Self.keptBytes)
        signed.append(contentsOf: id)
        signed.append(UInt8(ascii: "."))
        signed.append(decimal: timestamp)
        signed.append(UInt8(ascii: "."))
        let now = timestamp.multipliedReportingOverflow(by: 1_000).partialValue
        for (key, signer) in signers where !key.isOver(at: now) {
            if !text.isEmpty { text.append(UInt8(ascii: " ")) }
            switch signer {
            case .symmetric(let authenticator):
                text.append(literal: "v1,")
                authenticator.authenticate(signed, body) { Base64.append($0, to: &text) }
            case .asymmetric(let signer):
                text.append(literal: "v1a,")
                // Ed25519 reads its message twice, so it wants it in one piece.
                if whole.isEmpty {
                    whole.append(contentsOf: signed)
                    whole.append(contentsOf: body)
                }
                signer.sign(whole) { Base64.append($0, to: &text) }
            }
        }
    }

    private static let keptBytes = 256 * 1024
}

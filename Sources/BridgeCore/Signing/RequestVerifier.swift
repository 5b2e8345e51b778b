internal import BridgeDelivery
package import RoomsRuntime

/// Checks a request as its receiver has to (Standard Webhooks), and says what exactly is wrong with it.
package struct RequestVerifier: Sendable {
    /// A secret or a public key, with what the operator calls it.
    package struct Key: Sendable {
        enum Material: Sendable {
            case secret(SigningKey)
            case publicKey([UInt8])
        }

        let name: String
        let material: Material

        var scheme: SigningKey.Scheme {
            switch material {
            case .secret(let key): key.scheme
            case .publicKey: .asymmetric
            }
        }

        /// `text` is a secret, or a public key.
        package init(_ text: Secret, name: String) throws(CommandError) {
            self.name = name
            if let key = SigningSecret.decodePublicKey(text) {
                material = .publicKey(key)
                return
            }
            do throws(SigningSecretError) {
                material = .secret(try SigningSecret.decode(text))
            } catch {
                throw CommandError("\(name): \(error.message)", .configuration)
            }
        }
    }

    /// What came of it: what holds, or what is wrong.
    package enum Result: Equatable, Sendable {
        case good(String)
        case bad([String])
    }

    private struct Entry {
        let scheme: SigningKey.Scheme
        let bytes: [UInt8]
    }

    private let keys: [Key]
    /// When the request was received; milliseconds since 1970.
    private let received: Int64
    private let tolerance: Duration

    package static let standardTolerance = Duration.seconds(300)

    package init(keys: [Key], received: Int64, tolerance: Duration = standardTolerance) {
        self.keys = keys
        self.received = received
        self.tolerance = tolerance
    }

    package func verify(_ request: CapturedRequest) -> Result {
        var problems: [String] = []
        for name in ["webhook-id", "webhook-timestamp", "webhook-signature"] {
            if request[name] == nil { problems.append("the header \(name) is missing") }
            if request.count(of: name) > 1 { problems.append("the header \(name) is there more than once") }
        }
        let time = request["webhook-timestamp"].flatMap { timestamp($0, &problems) }
        var signer: String?
        if let id = request["webhook-id"], let stamp = request["webhook-timestamp"],
            let list = request["webhook-signature"]
        {
            let prefix = id.bytes + [UInt8(ascii: ".")] + stamp.bytes + [UInt8(ascii: ".")]
            let entries = Self.entries(list)
            if let key = key(for: prefix + request.body, entries) {
                signer = "\(key.scheme.rawValue), \(key.name)"
            } else {
                problems.append(explain(request, prefix, entries, id))
            }
        }
        guard problems.isEmpty, let signer, let time else {
            return .bad(problems + (signer.map { ["the signature itself is right (\($0))"] } ?? []))
        }
        return .good("signed right (\(signer)), \(Self.age(received - time))")
    }

    // MARK: the time

    /// In milliseconds.
    private func timestamp(_ text: ByteString, _ problems: inout [String]) -> Int64? {
        let isNumber = text.bytes.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        guard isNumber, text.count <= 15, let seconds = Int64(text.string) else {
            problems.append("webhook-timestamp is \"\(text)\", must be seconds since 1970")
            return nil
        }
        let time = seconds * 1_000
        let age = received - time
        if age.magnitude > tolerance.wholeMilliseconds.magnitude {
            let limit = tolerance.shortText
            problems.append(
                age > 0
                    ? "too old: made \(Self.age(age)), receivers allow \(limit) (--received says when a kept one came)"
                    : "from the future: made \(Self.age(age)), receivers allow \(limit): a clock is wrong"
            )
        }
        return time
    }

    private static func age(_ milliseconds: Int64) -> String {
        let length = Duration.milliseconds(Int64(clamping: milliseconds.magnitude)).shortText
        return milliseconds < 0 ? "\(length) after it was received" : "\(length) before it was received"
    }

    // MARK: the signatures

    /// What is no signature of ours is passed over, as Standard Webhooks wants it.
    private static func entries(_ list: ByteString) -> [Entry] {
        list.bytes.split(separator: UInt8(ascii: " ")).compactMap { word in
            guard let comma = word.firstIndex(of: UInt8(ascii: ",")),
                let scheme = SigningKey.Scheme(rawValue: String(decoding: word[..<comma], as: UTF8.self)),
                let bytes = Base64.decode(word[(comma + 1)...]), !bytes.isEmpty
            else { return nil }
            return Entry(scheme: scheme, bytes: bytes)
        }
    }

    private func key(for message: [UInt8], _ entries: [Entry]) -> Key? {
        keys.first { key in
            entries.contains { $0.scheme == key.scheme && Self.isValid($0.bytes, of: message, key) }
        }
    }

    private static func isValid(_ signature: [UInt8], of message: [UInt8], _ key: Key) -> Bool {
        switch key.material {
        case .publicKey(let bytes):
            return EdwardsKey.isValid(signature, of: message, by: bytes)
        case .secret(let secret):
            switch secret.scheme {
            case .symmetric:
                return Secret(MessageAuthenticator(key: secret.bytes).authenticate(message)).matches(signature)
            case .asymmetric:
                guard let signer = EdwardsSigner(seed: secret.bytes) else { return false }
                return EdwardsKey.isValid(signature, of: message, by: signer.publicKey)
            }
        }
    }

    /// Why no signature fits: as exactly as it can be found out.
    private func explain(
        _ request: CapturedRequest,
        _ prefix: [UInt8],
        _ entries: [Entry],
        _ id: ByteString
    ) -> String {
        let given = Set(keys.map(\.scheme.rawValue)).sorted().joined(separator: ", ")
        guard !entries.isEmpty else {
            return "webhook-signature holds no v1 or v1a signature, must be such as \"v1,BASE64\""
        }
        guard entries.contains(where: { entry in keys.contains { $0.scheme == entry.scheme } }) else {
            let signed = Set(entries.map(\.scheme.rawValue)).sorted().joined(separator: ", ")
            return "wrong key: the request is signed with \(signed), the key given is for \(given)"
        }
        for variant in BodyVariant.allCases {
            for body in variant.undone(request.body) {
                if let key = key(for: prefix + body, entries) {
                    return "body changed: \(variant.story); what was signed has \(body.count) bytes, this one "
                        + "\(request.body.count) (\(key.scheme.rawValue), \(key.name))"
                }
            }
        }
        if request["transfer-encoding"] != nil {
            return "body changed: it is in chunks (transfer-encoding), must be as the receiver's program read it"
        }
        if let length = request["content-length"].flatMap({ Int($0.string) }), length != request.body.count {
            return "body changed: content-length says \(length) bytes, there are \(request.body.count)"
        }
        if let other = Self.idInside(request.body), other != id {
            return "body changed: it is that of another event (\(other)), webhook-id says \(id)"
        }
        return "wrong key: the request was signed with another secret than the \(given) given here; or webhook-id, "
            + "webhook-timestamp or the body were changed, the body without a change of its length"
    }

    /// The `id` that `standard` begins with.
    private static func idInside(_ body: [UInt8]) -> ByteString? {
        let beginning = Array("{\"id\":\"".utf8)
        guard body.starts(with: beginning) else { return nil }
        return ByteString(Array(body.dropFirst(beginning.count).prefix { $0 != UInt8(ascii: "\"") }))
    }
}

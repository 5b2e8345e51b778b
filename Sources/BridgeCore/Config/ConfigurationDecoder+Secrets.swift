internal import BridgeDelivery
internal import RoomsRuntime
internal import RoomsWire

/// Reads references to secrets, and tries each of them.
extension ConfigurationDecoder {
    private static let referenceExample =
        "a reference: {\"credential\": \"NAME\"} (systemd), {\"file\": \"PATH\"} (mode 0600) or {\"env\": \"NAME\"}"

    /// A secret that is there and may be used; the reference, because it is read again when it is needed.
    func secret(
        _ value: ConfigurationValue,
        check: (Secret) throws(InputError) -> Void = { (_: Secret) throws(InputError) in }
    ) -> SecretReference? {
        guard let object = referenceObject(value) else { return nil }
        object["until"]?.reject("has a meaning only in \"signing\", leave it out")
        guard let reference = reference(object) else { return nil }
        return isGood(reference, value, check) ? reference : nil
    }

    /// Secrets that sign requests; what has ended already need not be there any more.
    func signing(_ value: ConfigurationValue) -> [SigningReference]? {
        guard let values = value.list("a list of references such as [{\"credential\": \"NAME\"}]") else { return nil }
        if values.isEmpty { value.reject("is empty, must have at least one secret; leave it out to sign nothing") }
        var found: [SigningReference] = []
        var areAllEnding = !values.isEmpty
        for value in values {
            guard let object = referenceObject(value) else {
                areAllEnding = false
                continue
            }
            if object["until"] == nil { areAllEnding = false }
            let until = object["until"].flatMap { moment($0) }
            guard let reference = reference(object) else { continue }
            let hasEnded = until.map { $0 <= SystemClock.wallMilliseconds } ?? false
            guard hasEnded || isGood(reference, value, Self.checkSigningSecret) else { continue }
            found.append(SigningReference(secret: reference, until: until))
        }
        if areAllEnding {
            value.reject(
                "has an end (\"until\") for each secret, must have one without: requests would go out unsigned"
            )
        }
        return found
    }

    static func checkSigningSecret(_ secret: Secret) throws(InputError) {
        do throws(SigningSecretError) {
            _ = try SigningSecret.decode(secret)
        } catch {
            throw InputError(code: .malformed, message: error.message)
        }
    }

    private func moment(_ value: ConfigurationValue) -> Int64? {
        let wanted = "a moment with its zone such as \"2026-11-30T02:00:00Z\""
        guard let text = value.text(wanted) else { return nil }
        guard let moment = Timestamp.milliseconds(text) else {
            value.reject("is \"\(text)\", must be \(wanted)")
            return nil
        }
        return moment
    }

    private func isGood(
        _ reference: SecretReference,
        _ value: ConfigurationValue,
        _ check: (Secret) throws(InputError) -> Void
    ) -> Bool {
        do throws(InputError) {
            try check(secrets.load(reference))
            return true
        } catch {
            value.reject(error.message)
            return false
        }
    }

    private func referenceObject(_ value: ConfigurationValue) -> ConfigurationObject? {
        if value.node.string != nil {
            value.reject("has the secret itself in the configuration, must be \(Self.referenceExample)")
            return nil
        }
        return value.object(Self.referenceExample, keys: ["credential", "file", "env", "until"])
    }

    private func reference(_ object: ConfigurationObject) -> SecretReference? {
        switch (object["credential"], object["file"], object["env"]) {
        case (let credential?, nil, nil):
            guard let name = credential.text("the name of a credential") else { return nil }
            guard !name.bytes.contains(UInt8(ascii: "/")), name != ".", name != ".." else {
                credential.reject("is \"\(name)\", must be a name without \"/\"")
                return nil
            }
            return .credential(name)
        case (nil, let file?, nil):
            return file.text("the path of a file").map { .file(resolve($0)) }
        case (nil, nil, let variable?):
            return variable.text("the name of an environment variable").map { .environment($0) }
        default:
            object.value.reject("must name exactly one of \"credential\", \"file\" and \"env\"")
            return nil
        }
    }
}

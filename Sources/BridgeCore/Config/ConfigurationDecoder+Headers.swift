internal import RoomsRuntime

/// Reads the fields that every request to an endpoint carries.
extension ConfigurationDecoder {
    /// Those that are ours to write, whole or by what they begin with.
    private static let reserved: Set<ByteString> = [
        "accept", "connection", "content-length", "content-type", "expect", "host", "keep-alive", "te", "trailer",
        "transfer-encoding", "upgrade", "user-agent",
    ]
    private static let reservedBeginnings: [ByteString] = ["webhook-", "roombridge-", "ce-"]

    func headers(_ object: ConfigurationObject) -> [HeaderReference] {
        var found: [HeaderReference] = []
        if let value = object["bearer"],
            let secret = secret(
                value,
                check: { secret throws(InputError) in try HeaderReference.check(bearer: secret) }
            )
        {
            found.append(HeaderReference(name: "authorization", secret: secret, isBearer: true))
        }
        var names: Set<ByteString> = object["bearer"] == nil ? [] : ["authorization"]
        for entry in object["headers"]?.entries("an object such as {\"x-api-key\": {\"file\": \"PATH\"}}") ?? [] {
            guard let name = headerName(entry, &names) else { continue }
            let secret = secret(entry.value, check: { secret throws(InputError) in try HeaderReference.check(secret) })
            if let secret { found.append(HeaderReference(name: name, secret: secret, isBearer: false)) }
        }
        return found
    }

    /// In lower case.
    private func headerName(_ entry: ConfigurationEntry, _ names: inout Set<ByteString>) -> ByteString? {
        let name = ByteString(entry.name.bytes.map { (0x41...0x5a).contains($0) ? $0 | 0x20 : $0 })
        guard !name.isEmpty, name.bytes.allSatisfy(Self.isNameByte) else {
            entry.reject("is no name of a header, must be made of letters, digits and \"-\"")
            return nil
        }
        guard !Self.reserved.contains(name), !Self.reservedBeginnings.contains(where: { name.hasPrefix($0) }) else {
            entry.reject("is a header that RoomBridge writes itself, leave it out")
            return nil
        }
        guard names.insert(name).inserted else {
            let isBearer = name == "authorization"
            entry.reject(
                isBearer
                    ? "stands beside \"bearer\", must be one of the two"
                    : "is there already in other letters, leave it out"
            )
            return nil
        }
        return name
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
            UInt8(ascii: "_"):
            true
        default: false
        }
    }
}

extension HeaderReference {
    /// A field value, as HTTP allows it.
    static func check(_ secret: Secret) throws(InputError) {
        guard secret.bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7f || $0 == 0x09 }) else {
            throw InputError(
                code: .malformed,
                message: "has a line end or another control character in it, must be one line"
            )
        }
        guard secret.bytes.first != 0x20, secret.bytes.last != 0x20 else {
            throw InputError(code: .malformed, message: "begins or ends with a space, must be the value alone")
        }
    }

    static func check(bearer secret: Secret) throws(InputError) {
        guard secret.bytes.allSatisfy({ $0 > 0x20 && $0 < 0x7f }) else {
            throw InputError(
                code: .malformed,
                message: "has a space, a line end or another character in it that no token has, must be the token alone"
            )
        }
    }
}

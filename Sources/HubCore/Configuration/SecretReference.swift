internal import Glibc
internal import RoomsRuntime
internal import RoomsWire

/// Where a secret of the configuration is found; never the secret itself.
enum SecretReference {
    case credential(ByteString)
    case file(ByteString)
    case environment(ByteString)

    init(_ node: JSONNode) throws(SecretReferenceError) {
        let remedy = "write {\"file\": \"PATH\"}, {\"env\": \"NAME\"} or {\"credential\": \"NAME\"}"
        guard node.string == nil else {
            throw SecretReferenceError(what: "a secret must not stand in the configuration", remedy: remedy)
        }
        guard let members = node.members, members.count == 1, let value = members[0].value.string, !value.isEmpty else {
            throw SecretReferenceError(what: "is no reference to a secret", remedy: remedy)
        }
        switch members[0].key {
        case "credential": self = .credential(value)
        case "file": self = .file(value)
        case "env": self = .environment(value)
        default: throw SecretReferenceError(what: "is no reference to a secret", remedy: remedy)
        }
    }

    /// The bytes, without a line feed at their end.
    func resolve() throws(SecretReferenceError) -> Secret {
        let bytes: [UInt8]
        switch self {
        case .environment(let name):
            guard let value = getenv(name.string) else {
                throw SecretReferenceError(what: "the variable \(name) is not set", remedy: "set it, or name another")
            }
            bytes = Array(String(cString: value).utf8)
        case .file(let path):
            bytes = try read(path)
        case .credential(let name):
            guard let directory = getenv("CREDENTIALS_DIRECTORY") else {
                throw SecretReferenceError(
                    what: "there are no credentials",
                    remedy: "run it as a systemd service with LoadCredential={\(name):PATH}, or use \"file\""
                )
            }
            bytes = try read(ByteString(String(cString: directory) + "/" + name.string))
        }
        let secret = bytes.last == UInt8(ascii: "\n") ? Array(bytes.dropLast()) : bytes
        guard !secret.isEmpty else { throw SecretReferenceError(what: "the secret is empty", remedy: "put one there") }
        return Secret(secret)
    }

    private func read(_ path: ByteString) throws(SecretReferenceError) -> [UInt8] {
        guard let bytes = WholeFile.read(path.string) else {
            let reason = String(cString: strerror(errno))
            throw SecretReferenceError(what: "\(path): \(reason)", remedy: "name a file that can be read")
        }
        return bytes
    }
}

struct SecretReferenceError: Error, Equatable {
    let what: String
    let remedy: String
}

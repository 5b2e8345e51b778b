internal import Glibc
package import RoomsRuntime

/// Where a secret is kept: the configuration never holds one itself.
package enum SecretReference: Hashable, Sendable {
    /// A name in the directory that systemd fills for the service.
    case credential(ByteString)
    case file(ByteString)
    case environment(ByteString)
}

/// Reads secrets, and refuses those that others could have read or changed.
package struct SecretSource: Sendable {
    private let credentialsDirectory: ByteString?
    private let environment: @Sendable (ByteString) -> ByteString?

    static let sizeLimit = 64 * 1024

    /// What this process was given.
    package init() {
        self.init { name in getenv(name.string).map { ByteString(String(cString: $0)) } }
    }

    package init(environment: @escaping @Sendable (ByteString) -> ByteString?) {
        credentialsDirectory = environment("CREDENTIALS_DIRECTORY").flatMap { $0.isEmpty ? nil : $0 }
        self.environment = environment
    }

    package func load(_ reference: SecretReference) throws(InputError) -> Secret {
        switch reference {
        case .credential(let name): try credential(name)
        case .file(let path):
            try trimmed(InputFile.read(path, limit: Self.sizeLimit, for: .service), "\(path)")
        case .environment(let name): try variable(name)
        }
    }

    /// `LoadCredential=` of a directory prefixes the names in it, hence the first try.
    private func credential(_ name: ByteString) throws(InputError) -> Secret {
        guard let directory = credentialsDirectory else {
            throw InputError(
                code: .missing,
                message:
                    "needs a credential of systemd and CREDENTIALS_DIRECTORY is not set, use {\"file\": …} without it"
            )
        }
        let candidates = [ByteString(Array("secret_".utf8) + name.bytes), name]
        for candidate in candidates {
            let path = ByteString(directory.bytes + [UInt8(ascii: "/")] + candidate.bytes)
            do throws(InputError) {
                // The manager made this file for us alone, whatever its mode looks like under an ACL.
                return try trimmed(
                    InputFile.read(path, limit: Self.sizeLimit),
                    "the credential \"\(candidate)\""
                )
            } catch {
                if error.code != .missing { throw error }
            }
        }
        throw InputError(
            code: .missing,
            message:
                "systemd gave no credential \"secret_\(name)\" or \"\(name)\", must be in the service's LoadCredential="
        )
    }

    private func variable(_ name: ByteString) throws(InputError) -> Secret {
        guard let value = environment(name) else {
            throw InputError(code: .missing, message: "the environment has no variable \(name), must be set")
        }
        return try trimmed(value.bytes, "the variable \(name)")
    }

    /// Editors end a file with a line end: one is taken off, nothing else.
    private func trimmed(_ bytes: [UInt8], _ origin: String) throws(InputError) -> Secret {
        var bytes = bytes[...]
        if bytes.last == UInt8(ascii: "\n") {
            bytes.removeLast()
            if bytes.last == UInt8(ascii: "\r") { bytes.removeLast() }
        }
        guard !bytes.isEmpty else {
            throw InputError(code: .empty, message: "\(origin) is empty, must hold the secret")
        }
        return Secret(Array(bytes))
    }
}

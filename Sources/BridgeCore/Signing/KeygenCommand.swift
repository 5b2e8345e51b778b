internal import BridgeDelivery
internal import Glibc
internal import RoomsRuntime

/// `roombridge keygen`: makes signing secrets, and tells the public half of one.
package struct KeygenCommand: Equatable, Sendable {
    /// Ed25519 in place of HMAC-SHA256.
    package var isAsymmetric: Bool
    /// Where the secret goes; nil: standard output.
    package var output: String?
    /// Tells the public half of the secret in that file, and makes none.
    package var publicOf: String?

    package init(isAsymmetric: Bool = false, output: String? = nil, publicOf: String? = nil) {
        self.isAsymmetric = isAsymmetric
        self.output = output
        self.publicOf = publicOf
    }

    /// `say` gets lines for standard output, `remark` those that must not be taken for them.
    package func run(say: (String) -> Void, remark: (String) -> Void) throws(CommandError) {
        if let publicOf { return say(try publicKey(in: publicOf)) }
        let secret = SigningSecret.random(isAsymmetric ? .asymmetric : .symmetric)
        if let output { try write(secret, to: output) } else { say(ByteString(secret.bytes).string) }
        if isAsymmetric {
            let key = try publicKey(of: secret, "the new secret")
            if output == nil { remark("the public key, for receivers: \(key)") } else { say(key) }
        }
        if let output {
            remark("the secret is in \(output), which only its owner can read")
        }
    }

    private func publicKey(in file: String) throws(CommandError) -> String {
        try publicKey(of: CommandInput.secret(file), file)
    }

    private func publicKey(of secret: Secret, _ origin: String) throws(CommandError) -> String {
        do throws(SigningSecretError) {
            if let key = SigningSecret.publicKey(of: try SigningSecret.decode(secret)) { return key }
        } catch {
            throw CommandError("\(origin): \(error.message)", .configuration)
        }
        throw CommandError(
            "\(origin): a whsec_ secret has no public half: the receiver needs the secret itself",
            .configuration
        )
    }

    /// Never over a file that is there.
    private func write(_ secret: Secret, to path: String) throws(CommandError) {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            let isThere = errno == EEXIST
            let reason = isThere ? "is there already, take another name or remove it" : String(cString: strerror(errno))
            throw CommandError("\(path): \(reason)", .cannotCreate)
        }
        let line = secret.bytes + [UInt8(ascii: "\n")]
        let isWritten = Glibc.write(descriptor, line, line.count) == line.count && fsync(descriptor) == 0
        let reason = errno
        guard close(descriptor) == 0, isWritten else {
            unlink(path)
            throw CommandError("\(path): cannot be written: \(String(cString: strerror(reason)))", .inputOutput)
        }
    }
}

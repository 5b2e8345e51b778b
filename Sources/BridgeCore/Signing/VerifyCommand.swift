internal import RoomsRuntime

/// `roombridge verify`: checks a captured request, without a network.
package struct VerifyCommand: Equatable, Sendable {
    /// Files with secrets or public keys.
    package var secrets: [String] = []
    /// A configuration and one of its endpoints, whose secrets are taken.
    package var config: String?
    package var endpoint: String?
    /// Files; `-` is standard input.
    package var request: String?
    package var headers: String?
    package var body: String?
    /// Milliseconds since 1970; nil: now.
    package var received: Int64?
    package var tolerance = RequestVerifier.standardTolerance

    package init() {}

    /// Seconds since 1970, or as RFC 3339 has it; the result in milliseconds.
    package static func moment(_ text: String) -> Int64? {
        if let seconds = Int64(text), (0...999_999_999_999).contains(seconds) { return seconds * 1_000 }
        return Timestamp.milliseconds(ByteString(text))
    }

    package static func length(_ text: String) -> Duration? { Duration(text: ByteString(text)) }

    /// `say` gets the lines for standard output.
    package func run(say: (String) -> Void) throws(CommandError) {
        var keys: [RequestVerifier.Key] = []
        for file in secrets { keys.append(try RequestVerifier.Key(CommandInput.secret(file), name: file)) }
        if let config, let endpoint { keys += try Self.keys(of: endpoint, in: config) }
        let verifier = RequestVerifier(
            keys: keys,
            received: received ?? SystemClock.wallMilliseconds,
            tolerance: tolerance
        )
        switch verifier.verify(try captured()) {
        case .good(let text):
            say("good: \(text)")
        case .bad(let problems):
            throw CommandError(problems.joined(separator: "\n"), .refused)
        }
    }

    private func captured() throws(CommandError) -> CapturedRequest {
        if let headers, let body {
            let lines = try CommandInput.contents(headers)
            guard let request = CapturedRequest(headers: lines, body: try CommandInput.contents(body)) else {
                throw Self.unreadable(headers)
            }
            return request
        }
        let file = request ?? "-"
        guard let request = CapturedRequest(try CommandInput.contents(file)) else { throw Self.unreadable(file) }
        return request
    }

    private static func unreadable(_ file: String) -> CommandError {
        CommandError(
            "\(file == "-" ? "standard input" : file): does not begin with header lines such as \"webhook-id: …\"",
            .inputOutput
        )
    }

    private static func keys(of endpoint: String, in config: String) throws(CommandError) -> [RequestVerifier.Key] {
        let configuration: BridgeConfiguration
        do throws(ConfigurationError) {
            configuration = try ConfigurationDecoder.load(config)
        } catch {
            throw CommandError("\(error)", .configuration)
        }
        guard let found = configuration.endpoints.first(where: { $0.name == ByteString(endpoint) }) else {
            let names = configuration.endpoints.map(\.name.description).joined(separator: ", ")
            throw CommandError("\(config): has no endpoint \"\(endpoint)\", must be one of \(names)", .configuration)
        }
        var keys: [RequestVerifier.Key] = []
        for (index, entry) in found.signing.enumerated() {
            guard let secret = try? SecretSource().load(entry.secret) else { continue }
            keys.append(try RequestVerifier.Key(secret, name: "endpoints.\(endpoint).signing[\(index)]"))
        }
        guard !keys.isEmpty else {
            throw CommandError(
                "\(config): the endpoint \"\(endpoint)\" signs nothing, must have \"signing\"",
                .configuration
            )
        }
        return keys
    }
}

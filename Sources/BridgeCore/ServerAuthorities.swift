internal import RoomsRuntime
internal import RoomsTransport

/// The authorities that a server's certificate is checked with: read again for each connection, and the last good ones
/// as long as the file is not good.
final class ServerAuthorities: Sendable {
    private struct State: Sendable {
        /// Nil before it was read.
        var text: ByteString?
        /// What was wrong when it was read last; warned of once.
        var flaw: String?
    }

    private let path: ByteString
    private let logger: Logger
    private let state = Lock(State())

    init(_ path: ByteString, logger: Logger) {
        self.path = path
        self.logger = logger
        _ = tls
    }

    var tls: TLSSettings {
        do throws(InputError) {
            let text = try CertificateFile.read(path)
            state.withLock { $0 = State(text: text) }
            return TLSSettings(authorities: text)
        } catch {
            let (text, isNew) = state.withLock { state in
                defer { state.flaw = error.message }
                return (state.text, state.flaw != error.message)
            }
            if isNew {
                logger.warning(
                    "the server's authorities cannot be read again, the last good ones stay in use",
                    LogField(.error, error.message)
                )
            }
            // Without any, libcurl says what is wrong with the file: never are the system's trusted in their place.
            return text.map { TLSSettings(authorities: $0) } ?? TLSSettings(authorityFile: path.string)
        }
    }
}

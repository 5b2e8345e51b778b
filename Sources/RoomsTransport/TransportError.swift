/// Why a connection could not be made or did not last.
///
/// The message names what was tried and what went wrong; it never holds credentials.
package struct TransportError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Code: Hashable, Sendable {
        /// The target itself cannot be used (a path too long, a host that is none).
        case invalidTarget
        case resolve
        case refused
        /// Somebody listens, and too many wait to be accepted already.
        case busy
        case unreachable
        /// The Unix socket's file is not there.
        case noSuchSocket
        case notPermitted
        case tls
        case proxy
        case timedOut
        /// The process or the machine has no descriptors or memory left.
        case exhausted
        /// The peer closed or reset an open connection.
        case closed
        /// The peer broke the rules of HTTP or WebSocket, or a limit of ours.
        case protocolViolation
        /// A message is larger than our limit.
        case messageTooLarge
        /// The server does not speak the subprotocol that was asked for.
        case wrongSubprotocol
    }

    package let code: Code
    package let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    package var description: String { message }

    /// Whether the same attempt may succeed later.
    package var isRetriable: Bool { code != .invalidTarget }
}

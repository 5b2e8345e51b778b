internal import RoomsRuntime
internal import RoomsWire

/// How a connection ended, or why there was none.
enum ConnectionEnd: Equatable {
    /// The server closed with a code.
    case closed(code: UInt16, reason: ByteString)
    /// The link broke, or was never made.
    case lost(reason: ByteString)
    /// The upgrade was answered with this HTTP status.
    case refused(status: Int)
    /// What was asked for cannot be tried at all.
    case impossible(reason: ByteString)
    /// The server does not speak the protobuf form.
    case foreignProtocol(reason: ByteString)
    /// A message larger than our limit.
    case tooLarge(reason: ByteString)
    /// What came cannot be decoded.
    case undecodable(reason: ByteString)
    /// An answer that leaves open what is subscribed.
    case confused
    /// Nothing was heard for too long.
    case silent
    /// A command was not answered in time.
    case unanswered
    /// The answer to connect was an error.
    case rejected(code: UInt32, reason: ByteString, isTemporary: Bool)
    /// No connection token could be had.
    case tokenMissing(reason: ByteString)
    /// The sink was full for too long; we closed.
    case heldUp
    /// It was made with another token than the one that came since; we closed.
    case renewed
    /// A room that the server put us into has to be joined again, and only a new connection does that; we closed.
    case rejoining
}

/// What an end means for what comes next.
struct EndVerdict: Equatable {
    var code: UInt32 = 0
    var reason = ByteString.empty
    /// No quick retry can heal it.
    var isTerminal = false
    /// It may be because an answer was too large for the link or the server's queue.
    var isSuspicious = false
    /// All positions and tokens are void.
    var invalidates = false
    /// It may be because of what one room asked for.
    var mayBeOneRoom = false
    /// For the log: what the likely cause is.
    var hint: String?

    init(_ end: ConnectionEnd) {
        switch end {
        case .closed(let code, let reason):
            self.reason = reason
            classifyClose(code)
        case .lost(let reason):
            self.reason = reason
            isSuspicious = true
        case .refused(let status):
            code = UInt32(clamping: status)
            reason = "the server refused the WebSocket upgrade"
            hint = Self.hint(forStatus: status)
        case .impossible(let reason):
            self.reason = reason
            isTerminal = true
            hint = "the URL, the proxy or a header of this server must be corrected"
        case .foreignProtocol(let reason):
            self.reason = reason
            isTerminal = true
            hint = "the URL must lead to a server that speaks the subprotocol centrifuge-protobuf"
        case .tooLarge(let reason):
            code = UInt32(CloseCode.messageTooLarge)
            self.reason = reason
            isSuspicious = true
            hint = "a message is larger than this client's limit"
        case .undecodable(let reason):
            self.reason = reason
            isTerminal = true
            hint = "the server, or something before it, does not speak this protocol"
        case .confused:
            reason = "the server refused an unsubscribe or answered a command with something else"
        case .silent:
            reason = "nothing was heard from the server for too long"
        case .unanswered:
            reason = "the server did not answer a command in time"
            isSuspicious = true
        case .rejected(let code, let reason, let isTemporary):
            self.code = code
            self.reason = reason
            isTerminal = !(isTemporary || code == 100 || code == 111)
            hint = Self.hint(forError: code)
        case .tokenMissing(let reason):
            self.reason = reason
            hint = "no connection token could be had"
        case .rejoining:
            reason = "a room of the server's own choice is joined again"
        case .renewed:
            reason = "there is another token now"
        case .heldUp:
            reason = "events could not be stored fast enough"
        }
    }

    private mutating func classifyClose(_ close: UInt16) {
        code = UInt32(close)
        isTerminal = CloseCode.isTerminal(close)
        isSuspicious = CloseCode.isOverload(close)
        mayBeOneRoom = CloseCode.mayBeOneRoom(close)
        invalidates = close == CloseCode.stateInvalidated
        hint = Self.hint(forClose: close)
    }

    private static func hint(forClose code: UInt16) -> String? {
        switch code {
        case CloseCode.messageTooLarge: "a command of ours is larger than the server's message_size_limit"
        case CloseCode.expired: "the connection token ran out; a new one is fetched"
        case CloseCode.slow: "the server's queue for this client was full: less is asked for at once"
        case CloseCode.stateInvalidated: "the server declared all positions void"
        case CloseCode.invalidToken:
            "the token is refused: check its signature, its user, and that a room's token names that room"
        case CloseCode.badRequest:
            "no token where anonymous users may not connect, an unknown namespace, or another mistake in a request"
        case CloseCode.forceDisconnect: "an administrator or the application disconnected this user"
        case CloseCode.connectionLimit: "this user has as many connections as the server allows"
        case CloseCode.channelLimit: "the token subscribes to more rooms than the server allows"
        case CloseCode.inappropriateProtocol:
            "a room holds events that are not JSON and the server took this for a JSON client"
        case CloseCode.permissionDenied: "this user may not connect"
        default: nil
        }
    }

    private static func hint(forError code: UInt32) -> String? {
        switch code {
        case 101, 103: "the server needs a token, or this user may not connect"
        case 102: "the token subscribes to a room whose namespace the server does not know"
        case 109: "the connection token ran out, or this machine's clock is behind or ahead of the server's"
        default: nil
        }
    }

    private static func hint(forStatus status: Int) -> String? {
        switch status {
        case 401, 403: "the server, or a proxy before it, does not let this client in"
        case 404: "the path of the URL is wrong; Centrifugo's is /connection/websocket"
        case 503: "the server is at a connection limit or not ready"
        default: nil
        }
    }
}

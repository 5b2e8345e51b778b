internal import RoomsRuntime
internal import RoomsTransport

/// Why a line was not acknowledged, and whose fault that is: the same scopes as for HTTP.
enum StreamFailure {
    case connect(TransportError)
    /// It ended before the receiver said hello.
    case noHello
    case otherVersion(UInt64)
    /// It ended with lines unanswered, the receiver may have seen them.
    case broken(TransportError?)
    /// The receiver sent what is no line of the protocol.
    case malformed
    case silent
    /// No acknowledgement in time.
    case unanswered(StreamAcknowledgement)
    /// It said goodbye before it took anything.
    case leftAtOnce
    case later(Duration?, reason: String)
    case never(reason: String)
    /// The line is longer than the receiver reads.
    case tooLong(Int, most: Int)

    var verdict: Verdict {
        var refusal = Refusal(scope: .lane, status: nil, reason: reason, hint: hint)
        switch self {
        case .connect(let error) where error.code == .busy:
            // It is there, and has no time even to accept.
            refusal.scope = .overload
        case .connect:
            refusal.scope = .endpoint
            refusal.isUnreachable = true
        case .noHello, .otherVersion, .leftAtOnce:
            refusal.scope = .endpoint
        case .broken:
            refusal.isTriedAtOnce = true
            refusal.isUnreachable = true
        case .malformed, .silent, .unanswered:
            break
        case .later(let delay, _):
            refusal.isPostponement = true
            refusal.retryAfter = delay
        case .never:
            refusal.scope = .event
            refusal.budget = 0
        case .tooLong:
            refusal.scope = .event
            refusal.budget = 0
            refusal.isTooLarge = true
        }
        return .refused(refusal)
    }

    private var reason: String {
        switch self {
        case .connect(let error): error.message
        case .noHello: "the receiver said no hello"
        case .otherVersion(let version): "the receiver speaks version \(version) of the protocol, not 1"
        case .broken(let error):
            "the connection ended before the line was acknowledged" + (error.map { ": \($0.message)" } ?? "")
        case .malformed: "the receiver sent a line that means nothing"
        case .silent: "nothing is heard from the receiver any more"
        case .unanswered(.read): "the receiver did not read the line in time"
        case .unanswered: "the receiver did not acknowledge the line in time"
        case .leftAtOnce: "the receiver said goodbye before it took a line"
        case .later(_, let reason): "the receiver wants it later" + Self.quoted(reason)
        case .never(let reason): "the receiver does not want this event" + Self.quoted(reason)
        case .tooLong(let count, let most): "the line has \(count) bytes, the receiver reads \(most)"
        }
    }

    private var hint: StaticString? {
        switch self {
        case .connect(let error): ResponseClassifier.hint(error)
        case .noHello: "with \"ack\": \"protocol\" the receiver answers our hello with its own"
        case .malformed: "docs/DELIVERY.md says what a receiver may send"
        case .unanswered(.line): "answer each line with ok, or with its n"
        case .unanswered(.protocol): "acknowledge the line, or send wip while the work goes on"
        default: nil
        }
    }

    private static func quoted(_ reason: String) -> String {
        reason.isEmpty ? "" : ": \(reason)"
    }
}

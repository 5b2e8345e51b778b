/// What an attempt's end means for what waits.
package enum Verdict: Sendable {
    case delivered
    case refused(Refusal)
    /// The receiver said it of each event of a batch.
    case partly(PartialAcceptance)

    /// Why something was not accepted.
    var refusal: Refusal? {
        switch self {
        case .delivered: nil
        case .refused(let refusal): refusal
        case .partly(let part): part.refusal
        }
    }
}

/// What was accepted of a batch, when it is not all.
package struct PartialAcceptance: Sendable {
    /// So many from the first on.
    package var accepted: Int
    /// Why the one behind them was not; nil: it was only not its turn.
    package var refusal: Refusal?
    /// Places in the batch of those that were accepted behind it.
    package var later: [Int] = []

    package init(accepted: Int, refusal: Refusal?, later: [Int] = []) {
        self.accepted = accepted
        self.refusal = refusal
        self.later = later
    }
}

/// Whose fault a failed attempt is, which decides what waits because of it.
package enum FailureScope: Hashable, Sendable {
    /// The event's: it is tried a few times, and then set aside.
    case event
    /// The room's or the endpoint's: the lane waits, and all of the endpoint when another lane fails as well.
    case lane
    /// All of the endpoint waits, but for one probe at a time.
    case endpoint
    /// The endpoint has too much to do: like `lane`, and fewer attempts at a time.
    case overload
}

/// A failed attempt in words.
package struct Refusal: Sendable {
    package var scope: FailureScope
    /// Nil when there was no answer.
    package var status: Int?
    package var reason: String
    package var hint: StaticString?
    /// How many attempts an event gets that is refused for its own sake; 0: the receiver wants no other.
    package var budget = 3
    /// The endpoint asks for nothing more, until somebody says so.
    package var isFinal = false
    /// Nothing before this time, whatever else is waited for.
    package var retryAfter: Duration?
    /// The first time it is tried again without a pause.
    package var isTriedAtOnce = false
    /// No connection came about: the endpoint has not seen the request.
    package var isUnreachable = false
    /// An answer to what single events are: of a batch, a part may be accepted.
    package var isOfOne = false
    /// A failure such as one event can cause: a program that fails, or never answers.
    package var mayBeTheEvents = false
    /// Another connection may lead to somebody who answers otherwise.
    package var wantsNewConnection = false
    /// Nobody's fault: the receiver wants the room's event later.
    package var isPostponement = false
    /// The event, or the batch, is larger than the receiver takes.
    package var isTooLarge = false

    package init(scope: FailureScope, status: Int?, reason: String, hint: StaticString?) {
        self.scope = scope
        self.status = status
        self.reason = reason
        self.hint = hint
    }
}

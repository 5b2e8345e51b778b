/// What an attempt's end means for what waits.
package enum Verdict: Sendable {
    case delivered
    case refused(Refusal)
}

/// Whose fault a failed attempt is, which decides what waits because of it.
package enum FailureScope: Hashable, Sendable {
    /// The room's lane waits, the endpoint's others go on.
    case lane
    /// All of the endpoint waits, but for one probe at a time.
    case endpoint
}

/// A failed attempt in words.
package struct Refusal: Sendable {
    package var scope: FailureScope
    /// Nil when there was no answer.
    package var status: Int?
    package var reason: String
    package var hint: StaticString?

    package init(scope: FailureScope, status: Int?, reason: String, hint: StaticString?) {
        self.scope = scope
        self.status = status
        self.reason = reason
        self.hint = hint
    }
}

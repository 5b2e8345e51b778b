/// What is known of a record that an endpoint refused for good.
package struct DeadLetter: Hashable, Sendable {
    package enum Reason: String, Hashable, Sendable, CaseIterable {
        /// Its tries are spent.
        case refused
        /// Larger than the endpoint takes.
        case tooLarge = "too_large"
        /// The receiver's own word.
        case aborted
        /// It failed again and again while others were accepted (`infer_poison`).
        case inferred
    }

    package var reason: Reason
    /// The last answer's.
    package var status: Int?
    package var attempts: Int
    /// Milliseconds since 1970.
    package var firstAttempt: Int64
    package var lastAttempt: Int64

    package init(reason: Reason, status: Int?, attempts: Int, firstAttempt: Int64, lastAttempt: Int64) {
        self.reason = reason
        self.status = status
        self.attempts = attempts
        self.firstAttempt = firstAttempt
        self.lastAttempt = lastAttempt
    }
}

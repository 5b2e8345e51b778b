/// What an endpoint may lose, because its operator said so.
///
/// Without any nothing is given up, ever.
package struct LossRule: Hashable, Sendable {
    /// When it holds too much of the buffer its oldest events go, in place of its rooms being left.
    package var onOverflow = false
    /// What waits longer than this goes.
    package var maxAge: Duration?

    package init(onOverflow: Bool = false, maxAge: Duration? = nil) {
        self.onOverflow = onOverflow
        self.maxAge = maxAge
    }

    package static let none = LossRule()
}

/// Whether this machine's clock agrees with somebody else's: told once, and again only after they agreed in between.
package struct ClockComparison: Sendable, Equatable {
    package static let message: StaticString =
        "this machine's clock and the other side's are more than two minutes apart"
    private static let tolerance: UInt64 = 120_000

    private var isTold = false

    package init() {}

    /// What is to be told now, if anything; times are in milliseconds since 1970.
    package mutating func compare(own: Int64, other: Int64) -> [LogField]? {
        let (difference, overflow) = own.subtractingReportingOverflow(other)
        // No clock: somebody wrote nonsense.
        guard !overflow else { return nil }
        guard difference.magnitude > Self.tolerance else {
            isTold = false
            return nil
        }
        guard !isTold else { return nil }
        isTold = true
        let length = Duration.milliseconds(Int64(clamping: difference.magnitude)).shortText
        return [
            LogField(.skew, "\(length) \(difference > 0 ? "ahead" : "behind")"),
            LogField(
                .hint,
                "set the clock that is wrong; receivers refuse signatures that are more than 5 minutes off"
            ),
        ]
    }
}

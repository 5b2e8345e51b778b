/// What an endpoint waits for, so that a restart neither hurries nor forgets.
package struct EndpointHold: Hashable, Sendable {
    /// In a row.
    package var failures: Int
    /// When the wait ends, in milliseconds since 1970.
    package var end: Int64
    /// How long it is in all, in milliseconds: a clock that was set back makes it no longer than that.
    package var length: Int64

    package init(failures: Int, end: Int64, length: Int64) {
        self.failures = failures
        self.end = end
        self.length = length
    }

    /// What is left of it, in milliseconds.
    package func rest(at wall: Int64) -> Int64 {
        let (rest, overflow) = end.subtractingReportingOverflow(wall)
        return overflow ? (end < 0 ? 0 : length) : min(max(rest, 0), length)
    }
}

package import RoomsRuntime

/// The `retry-after` field (RFC 9110 section 10.2.3): a number of seconds, or a date.
///
/// Fractions of a second, which some servers send, count up: nobody is asked too early.
package enum RetryAfter {
    /// How long to wait; nil when `value` says nothing that is understood.
    ///
    /// A date counts from the answer's own `date`, so that two clocks need not agree, else from `wall` (milliseconds
    /// since 1970). One that is over is zero.
    package static func delay(_ value: ByteString, date: ByteString?, wall: Int64) -> Duration? {
        if let seconds = seconds(value) { return .seconds(Int64(clamping: seconds)) }
        guard let end = HTTPDate.seconds(value, wall: wall) else { return nil }
        let start = date.flatMap { HTTPDate.seconds($0, wall: wall) } ?? wall / 1_000
        let (wait, overflow) = end.subtractingReportingOverflow(start)
        return .seconds(overflow ? 0 : max(0, wait))
    }

    private static func seconds(_ value: ByteString) -> UInt64? {
        let parts = value.bytes.split(separator: UInt8(ascii: "."), maxSplits: 1, omittingEmptySubsequences: false)
        guard let whole = parts.first?.withUnsafeBytes({ HTTPGrammar.decimal($0) }) else { return nil }
        guard parts.count == 2 else { return whole }
        guard !parts[1].isEmpty, parts[1].allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }) else {
            return nil
        }
        let isWhole = parts[1].allSatisfy { $0 == UInt8(ascii: "0") }
        return isWhole || whole == .max ? whole : whole + 1
    }
}

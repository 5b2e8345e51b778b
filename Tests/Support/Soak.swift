import Foundation

/// The slow tests, which take minutes each: `make soak` runs them, and a plain run leaves them out with a line that says so.
///
/// Their suites are `@Suite(.enabled(if: Soak.isWanted, "\(Soak.reason)"))`, with names that end in `SoakTests`, by which
/// `make soak` finds them.
package enum Soak {
    /// The variable ROOMBRIDGE_SOAK is 1.
    package static let isWanted = ProcessInfo.processInfo.environment["ROOMBRIDGE_SOAK"] == "1"
    package static let reason = "takes minutes: `make soak` runs it"
}

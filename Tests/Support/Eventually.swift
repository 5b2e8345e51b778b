internal import Glibc
internal import RoomsRuntime

/// A wait that did not come to its end in time.
package struct NotInTime: Error, CustomStringConvertible {
    package let description: String

    package init(description: String) {
        self.description = description
    }
}

/// Looks again and again until `condition` holds; throws when it does not within the time.
package func eventually(
    within limit: Duration = .seconds(10),
    _ what: String = "the condition",
    isolation: isolated (any Actor)? = #isolation,
    _ condition: () async throws -> Bool
) async throws {
    _ = try await eventually(within: limit, what) { try await condition() ? true : nil }
}

/// Looks again and again until `find` gives a value; throws when it does not within the time.
package func eventually<Value>(
    within limit: Duration = .seconds(10),
    _ what: String = "the value",
    isolation: isolated (any Actor)? = #isolation,
    _ find: () async throws -> Value?
) async throws -> Value {
    let deadline = SystemClock.now + limit
    while true {
        if let value = try await find() { return value }
        guard SystemClock.now < deadline else { throw NotInTime(description: "\(what): not within \(limit)") }
        try await Task.sleep(for: .milliseconds(5))
    }
}

/// The same on a thread of a test's own, which may block.
package func blockingEventually(
    within limit: Duration = .seconds(10),
    _ what: String = "the condition",
    _ condition: () throws -> Bool
) throws {
    let deadline = SystemClock.now + limit
    while try !condition() {
        guard SystemClock.now < deadline else { throw NotInTime(description: "\(what): not within \(limit)") }
        usleep(2_000)
    }
}

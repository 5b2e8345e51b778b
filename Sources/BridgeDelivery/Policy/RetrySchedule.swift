/// How long to wait before trying again: doubling steps with equal jitter, half of the step and up to half more.
package struct RetrySchedule: Hashable, Sendable {
    package var base: Duration
    package var cap: Duration
    /// The longest pause that an endpoint may ask for.
    package var longestAsked: Duration

    package init(
        base: Duration = .milliseconds(500),
        cap: Duration = .seconds(30),
        longestAsked: Duration = .seconds(86_400)
    ) {
        self.base = base
        self.cap = cap
        self.longestAsked = longestAsked
    }

    /// For a room that fails where others of its endpoint are accepted: there is no hurry.
    ///
    /// From 1 s to 5 minutes, as long as nothing else was configured.
    var ofOwnFault: RetrySchedule { RetrySchedule(base: base * 2, cap: cap * 10, longestAsked: longestAsked) }

    /// Behind a refusal of one event for its own sake: 1 s, then 10 s, time enough for whatever it needs to be there.
    func pause(afterRefusals count: Int) -> Duration {
        count <= 1 ? base * 2 : base * 20
    }

    /// The same, and never before what the endpoint asks for, but somewhat later, so that not all of its clients come at once.
    func wait(afterFailures failures: Int, asked: Duration?, random: UInt32) -> Duration {
        let own = wait(afterFailures: failures, random: random)
        guard let asked = asked.map({ min($0, longestAsked) }), asked > .zero else { return own }
        let most = min(asked / 10, .seconds(2))
        return max(own, asked) + most * Int(random >> 16) / 65_535
    }

    /// The wait after the `failures`th failure in a row; any number will do.
    ///
    /// `random` decides on the jitter: 0 gives the shortest wait, `UInt32.max` the longest.
    package func wait(afterFailures failures: Int, random: UInt32) -> Duration {
        var step = min(base, cap)
        var count = 1
        while count < failures, step < cap {
            step = min(cap, step * 2)
            count += 1
        }
        // In steps of 2^-16: nothing overflows below some million years.
        return step / 2 + step / 2 * Int(random >> 16) / 65_535
    }
}

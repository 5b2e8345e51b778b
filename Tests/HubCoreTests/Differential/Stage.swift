import Foundation
import RoomsRuntime

/// Plays many scenarios at a time, each on a server of its own: most of the time is spent waiting.
enum Stage {
    struct Performance: Sendable {
        var scenario: Scenario
        var account: Account
    }

    private struct State: Sendable {
        var next = 0
        var accounts: [Int: Account] = [:]

        mutating func take(below count: Int) -> Int? {
            guard next < count else { return nil }
            defer { next += 1 }
            return next
        }
    }

    /// The accounts in the order of the scenarios.
    static func play(
        _ scenarios: [Scenario],
        on kind: ServerUnderTest.Kind,
        atOnce width: Int = 16
    ) async -> [Performance] {
        let state = Lock(State())
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<min(width, scenarios.count) {
                group.addTask {
                    await withCheckedContinuation { done in
                        // Players block; the threads of tasks must not.
                        Thread.detachNewThread {
                            while let index = state.withLock({ $0.take(below: scenarios.count) }) {
                                let account = perform(scenarios[index], on: kind)
                                state.withLock { $0.accounts[index] = account }
                            }
                            done.resume()
                        }
                    }
                }
            }
        }
        let accounts = state.withLock { $0.accounts }
        return scenarios.enumerated().map { Performance(scenario: $1, account: accounts[$0] ?? Account()) }
    }

    private static func perform(_ scenario: Scenario, on kind: ServerUnderTest.Kind) -> Account {
        do {
            return Player(try ServerUnderTest(kind, scenario.setup)).play(scenario)
        } catch {
            var account = Account()
            account.stop = "no server: \(error)"
            return account
        }
    }
}

import BridgeTestSupport
import Foundation
import RoomsRuntime

/// Watches how far the anonymous memory of this process grows, from its making on.
///
/// Only where nothing is instrumented does it tell anything of the product.
final class MemoryWatch: Sendable {
    private let start: Int
    private let state = Lock((highest: 0, isOver: false))

    init() {
        ProcessSettings.returnFreeMemory()
        start = Self.anonymousKiB
        let state = state
        Thread.detachNewThread {
            while !state.withLock({ $0.isOver }) {
                let now = Self.anonymousKiB
                state.withLock { $0.highest = max($0.highest, now) }
                poll(nil, 0, 1)
            }
        }
    }

    deinit { state.withLock { $0.isOver = true } }

    /// In MiB, at the highest point; 0 where it cannot be told.
    var growth: Int {
        guard !Sanitizer.isLoaded else { return 0 }
        return max(0, state.withLock { $0.highest } - start) / 1_024
    }

    private static var anonymousKiB: Int {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("RssAnon:") } ?? ""
        return Int(line.split(separator: " ").dropFirst().first ?? "") ?? 0
    }
}

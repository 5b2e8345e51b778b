import BridgeTestSupport
import Foundation
import RoomsHTTP
import RoomsRuntime
import Testing

@testable import BridgeDelivery

/// What an endpoint asks for by `retry-after` is kept to: 10,000 seeds against a clock that is made up.
@Suite struct AskedPauseTests {
    private static let wall: Int64 = 1_796_004_000_000
    private static let longest = Duration.seconds(86_400)

    /// The text of a field, and how long it asks to wait; nil: nothing that can be kept to.
    private static func ask(_ random: inout SeededRandom) -> (text: String, wait: Duration?) {
        let seconds = Int64.random(in: 0...([3, 100, 200_000].randomElement(using: &random) ?? 3), using: &random)
        let date = date(wall / 1_000 + seconds, Int.random(in: 0...2, using: &random))
        switch Int.random(in: 0..<10, using: &random) {
        case 0...3: return ("\(seconds)", .seconds(seconds))
        case 4: return ("\(seconds).25", .seconds(seconds + 1))
        case 5...7: return (date, .seconds(seconds))
        case 8: return ("99999999999", longest)
        default: return (["-5", "soon", "", "1e3", "0x10", "12 s"].randomElement(using: &random) ?? "", nil)
        }
    }

    @Test("never early, hardly late, and nothing is counted otherwise", arguments: 0..<100 as Range<UInt64>)
    func keeps(hundred: UInt64) {
        for seed in hundred * 100..<hundred * 100 + 100 {
            if let complaint = Self.complaint(seed: seed) {
                Issue.record("seed \(seed): \(complaint)")
                return
            }
        }
    }

    private static func complaint(seed: UInt64) -> String? {
        var random = SeededRandom(seed: seed)
        var refusals = Int.random(in: 1...6, using: &random)
        /// What was asked for last of all, and until when nothing may begin.
        var quietUntil = Duration.zero
        var complaint: String?
        var simulation: EndpointSimulation?
        let endpoint = EndpointSimulation(concurrency: Int.random(in: 1...6, using: &random), seed: seed) { request in
            guard refusals > 0, let now = simulation?.now else { return .delivered }
            // Of those that were on their way together, some are accepted.
            guard Int.random(in: 0..<3, using: &random) > 0 else { return .delivered }
            refusals -= 1
            let (text, wait) = ask(&random)
            let parsed = RetryAfter.delay(ByteString(text), date: nil, wall: wall)
            if min(parsed ?? .zero, longest) != min(wait ?? .zero, longest) {
                complaint = "\(text) is read as \(String(describing: parsed))"
            }
            quietUntil = max(quietUntil, now + min(wait ?? .zero, longest))
            let status = [429, 503, 500, 404, 408, 301].randomElement(using: &random) ?? 503
            return ResponseClassifier().judge(.answered(Answer(status: status, retryAfter: parsed)))
        }
        simulation = endpoint
        endpoint.onBegin = { request in
            if request.at < quietUntil { complaint = "asked for a pause until \(quietUntil), came at \(request.at)" }
        }
        let rooms = Int64.random(in: 1...8, using: &random)
        for _ in 0..<4 { for room in 1...rooms { endpoint.commit(room) } }
        endpoint.run(until: .seconds(2_000_000))
        // Jitter adds 2 s at most to what was asked for, and the waits of six failures in a row come to a minute.
        if let last = endpoint.accepted.last, last.at > max(quietUntil, .zero) + .seconds(65) {
            complaint = "late: \(last.at)"
        }
        if endpoint.settledCount != endpoint.committedCount { complaint = "not all arrived" }
        if !endpoint.deadLetters.isEmpty { complaint = "given up" }
        let attempts = Dictionary(grouping: endpoint.requests) { $0.room * 1_000 + $0.seq }
        if attempts.values.contains(where: { $0.map(\.attempt) != Array(1...$0.count) }) { complaint = "miscounted" }
        simulation = nil
        return complaint ?? endpoint.complaint
    }

    @Test(
        "no number makes a trap or a hot loop",
        arguments: ["0", "99999999999", "18446744073709551615", "0.0", "-1"]
    )
    func extremes(text: String) {
        let wait = RetryAfter.delay(ByteString(text), date: nil, wall: Self.wall)
        let endpoint = EndpointSimulation { _ in
            ResponseClassifier().judge(.answered(Answer(status: 503, retryAfter: wait)))
        }
        for room in 1...8 { endpoint.commit(Int64(room)) }
        endpoint.run(until: .seconds(864_000))
        // Ten days: every half minute at the most, but for the first steps.
        #expect(endpoint.requests.count < 864_000 / 15 + 30)
        #expect(endpoint.requests.count >= 10)
    }

    @Test("ten thousand failures in a row change nothing about the wait")
    func tenThousand() {
        let endpoint = EndpointSimulation { _ in .unreachable }
        endpoint.commit(1)
        while endpoint.requests.count < 10_000 { endpoint.run(until: endpoint.now + .seconds(3_600)) }
        let waits = zip(endpoint.requests, endpoint.requests.dropFirst()).map { $1.at - $0.at }
        #expect(waits.dropFirst(10).allSatisfy { $0 >= .seconds(15) && $0 <= .milliseconds(30_001) })
        #expect(endpoint.requests.last?.attempt == endpoint.requests.count)
    }

    /// The three forms of RFC 9110 section 5.6.7.
    private static func date(_ seconds: Int64, _ form: Int) -> String {
        var time = tm()
        var clock = time_t(seconds)
        gmtime_r(&clock, &time)
        var text = [CChar](repeating: 0, count: 64)
        let format = ["%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT", "%a %b %e %H:%M:%S %Y"][form]
        strftime(&text, text.count, format, &time)
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}

import RoomsRuntime
import Testing

@testable import BridgeDelivery

/// The table of whose fault an answer is, over all statuses there are.
@Suite struct StatusPolicyTests {
    /// Row by row as docs/DELIVERY.md has them; what is not here counts like the first of its hundred.
    private static let table: [StatusPolicy.Action: [Int]] = [
        .accept: [200, 201, 202, 203, 204, 205, 208, 226],
        .refuse: [400, 406, 412, 414, 415, 416, 418, 422, 428, 431, 499],
        .conflict: [409],
        .tooLarge: [413],
        .fail: [206, 207, 300, 301, 302, 303, 304, 305, 306, 307, 308, 402, 404, 405, 411, 417, 451]
            + [500, 501, 505, 506, 508, 510],
        .failConnection: [421, 426],
        .again: [408],
        .unauthorized: [401, 403, 407, 511],
        .gone: [410],
        .overload: [423, 424, 425, 429, 502, 503, 504, 507, 509, 520, 521, 522, 523, 524, 525, 526, 527, 529, 530]
            + [598, 599],
    ]

    private static func expected(_ status: Int) -> StatusPolicy.Action {
        if let row = table.first(where: { $0.value.contains(status) }) { return row.key }
        switch status / 100 {
        case 2: return .accept
        case 4: return .refuse
        // 52x is what a well-known front answers for those behind it.
        case 5: return status / 10 == 52 ? .overload : .fail
        default: return .fail
        }
    }

    @Test("each status has the row of the table", arguments: 0...999)
    func row(status: Int) {
        #expect(StatusPolicy().action(for: status) == Self.expected(status))
    }

    @Test("the operator's word on a status goes before the table", arguments: 100...599)
    func override(status: Int) {
        let policy = StatusPolicy(overrides: [status: .refuse, status + 1: .accept])
        #expect(policy.action(for: status) == .refuse && policy.action(for: status + 1) == .accept)
        #expect(policy.action(for: status + 2) == Self.expected(status + 2))
    }

    @Test(
        "the receiver's word goes before the status, whatever that is",
        arguments: [200, 204, 302, 400, 409, 500, 503]
    )
    func word(status: Int) throws {
        let classifier = ResponseClassifier()
        func judge(_ word: ReceiverWord, retryAfter: Duration? = nil) -> Refusal? {
            let answer = Answer(status: status, retryAfter: retryAfter, word: word)
            guard case .refused(let refusal) = classifier.judge(.answered(answer)) else { return nil }
            return refusal
        }
        #expect(judge(.ack) == nil)
        let retry = try #require(judge(.retry))
        #expect(retry.scope == .lane && !retry.isFinal)
        let abort = try #require(judge(.abort))
        #expect(abort.scope == .event && abort.budget == 0)
        let pause = try #require(judge(.pause(.seconds(7)), retryAfter: .seconds(9)))
        #expect(pause.scope == .endpoint && pause.retryAfter == .seconds(9) && !pause.isFinal)
        let disable = try #require(judge(.disable))
        #expect(disable.scope == .endpoint && disable.isFinal)
    }

    @Test(
        "a receiver's word is one of five, and anything else none",
        arguments: [
            ("ack", ReceiverWord.ack), ("retry", .retry), ("abort-message", .abort), ("disable", .disable),
            ("pause=0", .pause(.zero)), ("pause=90", .pause(.seconds(90))),
            ("pause=999999999", .pause(.seconds(999_999_999))), ("", nil), ("Ack", nil), ("pause", nil),
            ("pause=", nil), ("pause=-1", nil), ("pause=1.5", nil), ("pause=9999999999", nil), ("pause=1 ", nil),
        ] as [(String, ReceiverWord?)]
    )
    func words(text: String, word: ReceiverWord?) {
        #expect(ReceiverWord(ByteString(text)) == word)
    }
}

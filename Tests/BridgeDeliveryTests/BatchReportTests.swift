import RoomsRuntime
import Testing

@testable import BridgeDelivery

/// What the answers to batches mean.
@Suite struct BatchReportTests {
    /// Of a batch of four, `a` to `d`: the first so many accepted, the scope of what comes then, and what is accepted behind it.
    private struct Judgement: Equatable, CustomStringConvertible {
        var accepted = 0
        var scope: FailureScope?
        var later: [Int] = []

        var description: String { "\(accepted), \(scope.map { "\($0)" } ?? "all well"), \(later)" }

        static let all = Judgement(accepted: 4)
    }

    private static let naiveCases: [(Int, String, Judgement)] = [
        (200, "", .all), (200, "ok", .all), (200, "[1]", .all), (200, #"{"acked":"all"}"#, .all),
        (200, #"{"acked":-1}"#, .all),
        (200, #"{"results":{}}"#, .all), (200, #"{"results":[{"status":200}]}"#, .all), (202, #"{"acked":1}"#, .all),
        (207, "ok", Judgement(scope: .lane)), (207, "", Judgement(scope: .lane)),
        (206, #"{"acked":4}"#, Judgement(scope: .lane)), (400, #"{"acked":4}"#, Judgement(scope: .event)),
        (503, #"{"acked":4}"#, Judgement(scope: .overload)),
    ]

    @Test("a naive receiver: the status counts", arguments: 0..<13)
    func naive(index: Int) {
        #expect(Self.naiveCases.count == 13)
        let (status, body, expected) = Self.naiveCases[index]
        #expect(judge(status, body) == expected)
    }

    private static let awareCases: [(String, Judgement)] = [
        (#"{"acked":4}"#, .all), (#" { "acked" : 9 , "more": 1 }"#, .all), (#"{"acked":2}"#, Judgement(accepted: 2)),
        (#"{"acked":0}"#, Judgement(scope: .lane)), (#"{"results":[]}"#, Judgement(scope: .lane)),
        (results("a 200", "b 201", "c 204", "d 200"), .all),
        (results("d 200", "c 200", "b 200", "a 200", "x 500"), .all),
        (results("a 200", "b 400", "d 200"), Judgement(accepted: 1, scope: .event, later: [3])),
        (results("a 200", "c 200", "d 200"), Judgement(accepted: 1, scope: .lane, later: [2, 3])),
        (results("a 503", "b 200"), Judgement(scope: .overload, later: [1])),
        (results("a 401"), Judgement(scope: .lane)), (results("a 410"), Judgement(scope: .lane)),
        (results("a 200", #"b "dead""#, "c 200"), Judgement(accepted: 1, scope: .event, later: [2])),
        (results("a 200", #"b "retry""#), Judgement(accepted: 1, scope: .lane)),
        (results("a 200", #"b "who knows""#), Judgement(accepted: 1, scope: .lane)),
        (results("a 200", "b 200", "b 500", "c 200", "d 200"), Judgement(accepted: 1, scope: .lane, later: [2, 3])),
        (results("a 200", "b 500", "b 200", "c 200", "d 200"), Judgement(accepted: 1, scope: .lane, later: [2, 3])),
    ]

    @Test("a report counts with 200, with 207, and with any 2xx that declares it", arguments: 0..<17)
    func aware(index: Int) {
        #expect(Self.awareCases.count == 17)
        let (body, expected) = Self.awareCases[index]
        #expect(judge(200, body) == expected)
        #expect(judge(207, body) == expected)
        #expect(judge(202, body, type: "Application/vnd.roombridge.batch-result+json; charset=utf-8") == expected)
    }

    @Test(
        "a report that was declared and is cut short or cannot be read acknowledges nothing",
        arguments: [200, 202, 207]
    )
    func declared(status: Int) {
        let type: ByteString = "application/vnd.roombridge.batch-result+json"
        #expect(judge(status, #"{"acked":4}"#, type: type, isComplete: false) == Judgement(scope: .lane))
        #expect(judge(status, #"{"acked":"#, type: type) == Judgement(scope: .lane))
        #expect(judge(status, "", type: type) == Judgement(scope: .lane))
        #expect(judge(200, #"{"acked":1}"#, isComplete: false) == .all)
    }

    @Test("a word in the header and the operator's word go first")
    func overrides() {
        var answer = Answer(status: 200, word: .retry)
        answer.body = AnswerBody(bytes: Array(#"{"acked":4}"#.utf8), isComplete: true, contentType: nil)
        #expect(ResponseClassifier().judge(.answered(answer), of: Self.ids).refusal?.scope == .lane)
        answer.word = .ack
        answer.body?.bytes = Array(#"{"acked":0}"#.utf8)
        #expect(ResponseClassifier().judge(.answered(answer), of: Self.ids).refusal == nil)
        let policy = StatusPolicy(overrides: [409: .accept])
        let body = Self.results("a 409", "b 409", "c 409", "d 409")
        #expect(judge(200, body, policy: policy) == .all)
    }

    @Test(
        "the time that is asked for one event",
        arguments: [("2", 2), ("1.5", 2), ("0", 0), ("99999999999999999999999", nil)]
    )
    func retryAfter(text: String, seconds: Int64?) {
        var answer = Answer(status: 200)
        let body = #"{"results":[{"id":"a","status":503,"retry_after":\#(text)}]}"#
        answer.body = AnswerBody(bytes: Array(body.utf8), isComplete: true, contentType: nil)
        let refusal = ResponseClassifier().judge(.answered(answer), of: Self.ids).refusal
        #expect(refusal?.scope == .overload)
        if let seconds { #expect(refusal?.retryAfter == .seconds(seconds)) }
    }

    private static let ids: BatchIDs = {
        var ids = BatchIDs()
        for id in ["a", "b", "c", "d"] { ids.append(Array(id.utf8)) }
        return ids
    }()

    private static func results(_ entries: String...) -> String {
        let objects = entries.map { entry in
            let parts = entry.split(separator: " ", maxSplits: 1)
            return #"{"id":"\#(parts[0])","status":\#(parts[1])}"#
        }
        return #"{"results":[\#(objects.joined(separator: ","))]}"#
    }

    private func judge(
        _ status: Int,
        _ body: String,
        type: ByteString? = "application/json",
        isComplete: Bool = true,
        policy: StatusPolicy = StatusPolicy()
    ) -> Judgement {
        var answer = Answer(status: status)
        if 200..<300 ~= status {
            answer.body = AnswerBody(bytes: Array(body.utf8), isComplete: isComplete, contentType: type)
        }
        switch ResponseClassifier(policy).judge(.answered(answer), of: Self.ids) {
        case .delivered: return .all
        case .refused(let refusal): return Judgement(scope: refusal.scope)
        case .partly(let part):
            return Judgement(accepted: part.accepted, scope: part.refusal?.scope, later: part.later)
        }
    }
}

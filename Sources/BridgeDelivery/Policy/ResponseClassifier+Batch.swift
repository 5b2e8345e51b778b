internal import RoomsRuntime

/// Batches: the receiver may say of each event what became of it.
extension ResponseClassifier {
    /// `ids` are those of the batch.
    func judge(_ result: AttemptResult, of ids: BatchIDs) -> Verdict {
        guard case .answered(let answer) = result, answer.word == nil, let body = answer.body,
            answer.status == 207 || policy.action(for: answer.status) == .accept,
            body.isDeclared || answer.status == 200 || answer.status == 207
        else { return judge(result) }
        if body.isComplete, let report = BatchReport(body.bytes) { return judge(report, of: ids) }
        guard body.isDeclared else { return judge(result) }
        let reason = body.isComplete ? "its report on a batch cannot be read" : "its report on a batch was cut short"
        return .refused(Refusal(scope: .lane, status: answer.status, reason: reason, hint: nil))
    }

    private func judge(_ report: BatchReport, of ids: BatchIDs) -> Verdict {
        switch report {
        case .acked(let count) where count >= ids.count:
            return .delivered
        case .acked(let count):
            let reason = "it acknowledged nothing of a batch"
            guard count > 0 else {
                return .refused(Refusal(scope: .lane, status: nil, reason: reason, hint: nil))
            }
            return .partly(PartialAcceptance(accepted: count, refusal: nil))
        case .results(let results):
            return judge(results, of: ids)
        }
    }

    private func judge(_ results: [ByteString: BatchReport.Result], of ids: BatchIDs) -> Verdict {
        let refusals = (0..<ids.count).map { refusal(results[ByteString(Array(ids[$0]))]) }
        guard let first = refusals.firstIndex(where: { $0 != nil }) else { return .delivered }
        let later = refusals.indices.filter { $0 > first && refusals[$0] == nil }
        return .partly(PartialAcceptance(accepted: first, refusal: refusals[first], later: later))
    }

    /// Nil when it was accepted.
    ///
    /// Whoever tells events apart is there: nothing of it is about the endpoint.
    private func refusal(_ result: BatchReport.Result?) -> Refusal? {
        guard let result else {
            return Refusal(scope: .lane, status: nil, reason: "it did not say what became of an event", hint: nil)
        }
        var refusal = Refusal(scope: .lane, status: nil, reason: "it wants an event again", hint: nil)
        switch result.word {
        case .status(let status):
            guard case .refused(let found) = judge(.answered(Answer(status: status))) else { return nil }
            refusal = found
            if refusal.scope == .endpoint { refusal.scope = .lane }
        case .retry:
            break
        case .dead:
            refusal.scope = .event
            refusal.budget = 0
            refusal.reason = "it does not want an event"
        }
        refusal.retryAfter = result.retryAfter
        return refusal
    }
}

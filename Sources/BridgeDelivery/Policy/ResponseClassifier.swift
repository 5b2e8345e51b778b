package import RoomsHTTP
internal import RoomsRuntime
package import RoomsTransport

/// How one attempt ended on the wire.
package enum AttemptResult: Sendable {
    /// The head of the answer was complete; what became of its body does not matter.
    case answered(Answer)
    case failed(AttemptFailure)
}

/// What an answer's head says of the delivery.
package struct Answer: Sendable {
    package var status: Int
    package var retryAfter: Duration?
    package var word: ReceiverWord?
    /// Read only of what is good news for a batch.
    package var body: AnswerBody?

    package init(status: Int, retryAfter: Duration? = nil, word: ReceiverWord? = nil) {
        self.status = status
        self.retryAfter = retryAfter
        self.word = word
    }

    /// `wall`: milliseconds since 1970.
    init(_ head: ResponseHead, wall: @autoclosure () -> Int64) {
        status = head.status
        word = head.first("webhook-delivery").flatMap(ReceiverWord.init)
        guard !(200..<300 ~= status), let field = head.first("retry-after") else { return }
        retryAfter = RetryAfter.delay(field, date: head.first("date"), wall: wall())
    }
}

/// An attempt that got no readable answer.
package struct AttemptFailure: Sendable {
    package enum Cause: Sendable {
        /// No connection came about: the endpoint has not seen the request.
        case connect(TransportError)
        /// The connection broke; the endpoint may have seen the request.
        case broken(TransportError)
        case unreadable(ResponseError)
        /// No complete head within its time.
        case noAnswer
    }

    package var cause: Cause

    package init(_ cause: Cause) {
        self.cause = cause
    }

    package var message: String {
        switch cause {
        case .connect(let error), .broken(let error): error.message
        case .unreadable(let error): error.message
        case .noAnswer: "no answer came in time"
        }
    }
}

/// Judges how an attempt ended.
package struct ResponseClassifier: Sendable {
    private static let conflictBudget = 10

    package var policy: StatusPolicy
    /// Where no event is ever given up because of a status, its room waits.
    private let refusedScope: FailureScope

    package init(_ policy: StatusPolicy = StatusPolicy(), givesUp: Bool = true) {
        self.policy = policy
        refusedScope = givesUp ? .event : .lane
    }

    package func judge(_ result: AttemptResult) -> Verdict {
        switch result {
        case .answered(let answer):
            if let word = answer.word { return judge(word, answer) }
            return judge(policy.action(for: answer.status), answer)
        case .failed(let failure):
            return .refused(Self.refusal(failure))
        }
    }

    private func judge(_ word: ReceiverWord, _ answer: Answer) -> Verdict {
        let said = "it answered \(answer.status) and"
        var refusal = Refusal(scope: .lane, status: answer.status, reason: "\(said) wants it again", hint: nil)
        refusal.retryAfter = answer.retryAfter
        switch word {
        case .ack:
            return .delivered
        case .retry:
            break
        case .abort:
            refusal.scope = .event
            refusal.budget = 0
            refusal.reason = "\(said) does not want this event"
        case .pause(let time):
            refusal.scope = .endpoint
            refusal.retryAfter = max(time, answer.retryAfter ?? .zero)
            refusal.reason = "\(said) asks for a pause"
        case .disable:
            refusal.scope = .endpoint
            refusal.isFinal = true
            refusal.reason = "\(said) wants nothing more"
        }
        return .refused(refusal)
    }

    private func judge(_ action: StatusPolicy.Action, _ answer: Answer) -> Verdict {
        let status = answer.status
        let reason = "it answered \(status)"
        var refusal = Refusal(scope: .lane, status: status, reason: reason, hint: Self.hint(status))
        refusal.retryAfter = answer.retryAfter
        refusal.mayBeTheEvents = status == 500
        switch action {
        case .accept:
            return .delivered
        case .refuse:
            refusal.scope = refusedScope
            refusal.isOfOne = true
        case .conflict:
            refusal.scope = refusedScope
            refusal.isOfOne = true
            refusal.budget = Self.conflictBudget
        case .tooLarge:
            refusal.scope = refusedScope
            refusal.budget = 1
            refusal.isOfOne = true
            refusal.isTooLarge = true
        case .fail:
            break
        case .failConnection:
            refusal.wantsNewConnection = true
        case .again:
            refusal.wantsNewConnection = true
            refusal.isTriedAtOnce = true
        case .unauthorized:
            refusal.scope = .endpoint
        case .gone:
            refusal.scope = .endpoint
            refusal.isFinal = true
        case .overload:
            refusal.scope = .overload
        }
        return .refused(refusal)
    }

    private static func refusal(_ failure: AttemptFailure) -> Refusal {
        var refusal = Refusal(scope: .lane, status: nil, reason: failure.message, hint: nil)
        switch failure.cause {
        case .connect(let error) where error.code == .busy:
            refusal.scope = .overload
            refusal.hint = hint(error)
        case .connect(let error):
            refusal.scope = .endpoint
            refusal.isUnreachable = true
            refusal.hint = hint(error)
        case .noAnswer:
            refusal.hint = "answer with a 2xx status at once and do the work afterwards"
            refusal.mayBeTheEvents = true
        case .broken, .unreadable:
            refusal.mayBeTheEvents = true
        }
        return refusal
    }

    private static func hint(_ status: Int) -> StaticString? {
        switch status {
        case 300..<400: "redirects are never followed: configure the address they lead to"
        case 401, 403, 407, 511: "the endpoint does not accept our credentials"
        case 404, 405: "nothing answers at this path: check the endpoint's url"
        case 410: "the endpoint says that it is gone for good: nothing is sent until the service is started anew"
        case 400, 422: "the endpoint does not accept this event"
        case 406, 415: "the endpoint does not accept this content type"
        case 413: "the event is too large for the endpoint; raise the limit there"
        case 429: "the endpoint asks for fewer requests; lower its concurrency"
        case 502, 503, 504: "what stands before the endpoint cannot reach it"
        case 500..<600: "the endpoint failed; its own log says why"
        default: nil
        }
    }

    static func hint(_ error: TransportError) -> StaticString? {
        switch error.code {
        case .refused: "nothing listens there: is the program running?"
        case .busy: "the program does not accept connections: has it stopped working?"
        case .noSuchSocket: "there is no such socket file: is the program running?"
        case .notPermitted:
            "this process may not use the socket: let its group write to it (mode 0660), and give the service that group: systemctl edit roombridge, [Service] SupplementaryGroups=GROUP, systemctl restart roombridge"
        case .resolve: "the name has no address: check the endpoint's url"
        case .tls: "check the certificate, its names and the CA file"
        case .timedOut: "no connection in time: check the address and what filters packets on the way"
        default: nil
        }
    }
}

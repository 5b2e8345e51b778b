package import RoomsHTTP
package import RoomsTransport

/// How one attempt ended on the wire.
package enum AttemptResult: Sendable {
    /// The head of the answer was complete; what became of its body does not matter.
    case answered(status: Int)
    case failed(AttemptFailure)
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
package enum ResponseClassifier {
    /// Every 2xx is a delivery; everything else is tried again without end.
    package static func judge(_ result: AttemptResult) -> Verdict {
        switch result {
        case .answered(let status) where 200..<300 ~= status:
            .delivered
        case .answered(let status):
            .refused(Refusal(scope: .lane, status: status, reason: "it answered \(status)", hint: hint(status)))
        case .failed(let failure):
            .refused(refusal(failure))
        }
    }

    private static func refusal(_ failure: AttemptFailure) -> Refusal {
        switch failure.cause {
        case .connect(let error):
            Refusal(scope: .endpoint, status: nil, reason: failure.message, hint: hint(error))
        case .noAnswer:
            Refusal(
                scope: .lane,
                status: nil,
                reason: failure.message,
                hint: "answer with a 2xx status at once and do the work afterwards"
            )
        case .broken, .unreadable:
            Refusal(scope: .lane, status: nil, reason: failure.message, hint: nil)
        }
    }

    private static func hint(_ status: Int) -> StaticString? {
        switch status {
        case 300..<400: "redirects are never followed: configure the address they lead to"
        case 401, 403, 407, 511: "the endpoint does not accept our credentials"
        case 404, 405, 410: "nothing answers at this path: check the endpoint's url"
        case 400, 422: "the endpoint does not accept this event; its room waits"
        case 406, 415: "the endpoint does not accept this content type"
        case 413: "the event is too large for the endpoint; raise the limit there"
        case 429: "the endpoint asks for fewer requests; lower its concurrency"
        case 502, 503, 504: "what stands before the endpoint cannot reach it"
        case 500..<600: "the endpoint failed; its own log says why"
        default: nil
        }
    }

    private static func hint(_ error: TransportError) -> StaticString? {
        switch error.code {
        case .refused: "nothing listens there: is the program running?"
        case .noSuchSocket: "there is no such socket file: is the program running?"
        case .notPermitted: "this process may not use the socket: check its owner and mode"
        case .resolve: "the name has no address: check the endpoint's url"
        case .tls: "check the certificate, its names and the CA file"
        case .timedOut: "no connection in time: check the address and what filters packets on the way"
        default: nil
        }
    }
}

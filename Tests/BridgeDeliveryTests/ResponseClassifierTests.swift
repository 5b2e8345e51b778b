import RoomsHTTP
import RoomsRuntime
import RoomsTransport
import Testing

@testable import BridgeDelivery

@Suite struct ResponseClassifierTests {
    @Test("a refusal says what was answered, and what the operator said of it is done", arguments: 0...999)
    func judgesStatus(status: Int) {
        switch ResponseClassifier().judge(.answered(Answer(status: status, retryAfter: .seconds(3)))) {
        case .delivered:
            #expect(StatusPolicy().action(for: status) == .accept)
        case .refused(let refusal):
            #expect(refusal.status == status && refusal.retryAfter == .seconds(3))
            #expect(refusal.reason == "it answered \(status)")
        case .partly:
            Issue.record("\(status) is no answer to a batch")
        }
        let policy = StatusPolicy(overrides: [status: .accept])
        guard case .delivered = ResponseClassifier(policy).judge(.answered(Answer(status: status))) else {
            Issue.record("the operator's word does not count")
            return
        }
    }

    @Test(
        "no connection makes the endpoint wait",
        arguments: [
            TransportError.Code.resolve, .refused, .unreachable, .noSuchSocket, .notPermitted, .tls, .proxy, .timedOut,
            .exhausted, .closed, .invalidTarget,
        ]
    )
    func judgesConnect(code: TransportError.Code) throws {
        let failure = AttemptFailure(.connect(TransportError(code, "what happened")))
        let refusal = try #require(refused(.failed(failure)))
        #expect(refusal.scope == .endpoint)
        #expect(refusal.status == nil)
        #expect(refusal.reason == "what happened")
    }

    @Test("a socket with a full queue has too much to do")
    func judgesFullQueue() throws {
        let refusal = try #require(refused(.failed(AttemptFailure(.connect(TransportError(.busy, "full"))))))
        #expect(refusal.scope == .overload && !refusal.isUnreachable)
    }

    @Test(
        "a request without a readable answer makes the room wait: it may have been the event's doing",
        arguments: [
            AttemptFailure.Cause.broken(TransportError(.closed, "reset")), .unreadable(ResponseError(code: .notHTTP)),
            .unreadable(ResponseError(code: .closedBeforeAnswer)), .noAnswer,
        ]
    )
    func judgesExchange(cause: AttemptFailure.Cause) throws {
        let refusal = try #require(refused(.failed(AttemptFailure(cause))))
        #expect(refusal.scope == .lane)
        #expect(refusal.status == nil)
        #expect(!refusal.reason.isEmpty)
    }

    private func refused(_ result: AttemptResult) -> Refusal? {
        if case .refused(let refusal) = ResponseClassifier().judge(result) { return refusal }
        return nil
    }
}

internal import RoomsRuntime
internal import RoomsTransport

/// What the receiver's lines mean.
extension StreamCarrier {
    /// False for a line that means nothing.
    func heed(_ line: [UInt8]) -> Bool {
        guard let message = acknowledgement == .line ? ReceiverLine(answer: line) : ReceiverLine(message: line) else {
            return false
        }
        let now = transport.loop.now
        switch message {
        case .hello(let hello):
            greeted(hello)
        case .acceptedOldest:
            // One more than there are lines: nobody knows which one it was for.
            guard let attempt = window.takeOldest(now) else { return false }
            accepted(attempt)
        case .acceptedAll(let number):
            guard number <= window.last else { return false }
            for attempt in window.takeAll(upTo: number, now) { accepted(attempt) }
        case .accepted(let numbers):
            for number in numbers {
                guard (1...max(1, window.last)).contains(number), window.last > 0 else { return false }
                if let attempt = window.take(number, now) { accepted(attempt) }
            }
        case .later(let number, let delay, let reason):
            return refused(number, .later(delay, reason: reason), now)
        case .never(let number, let reason):
            return refused(number, .never(reason: reason), now)
        case .working(let number):
            guard number <= window.last else { return false }
            window.touch(number, now)
            owner.arm(deadline)
        case .pause(let time):
            pauseEnd = now + time
            owner.arm(deadline)
        case .credit(let count):
            let (sum, isOver) = (credit ?? 0).addingReportingOverflow(count)
            credit = isOver ? .max : sum
            pauseEnd = nil
        case .ping:
            say(StreamLineWriter.pong)
        case .bye:
            isLeaving = true
        case .pong, .unknown:
            break
        }
        return true
    }

    private func accepted(_ attempt: EndpointStateMachine.Attempt) {
        hasServed = true
        owner.finished(attempt, .delivered)
    }

    private func refused(_ number: UInt64, _ failure: StreamFailure, _ now: Instant) -> Bool {
        guard number <= window.last else { return false }
        guard let attempt = window.take(number, now) else { return true }
        hasServed = true
        owner.finished(attempt, failure.verdict)
        return true
    }
}

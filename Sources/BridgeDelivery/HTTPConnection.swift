internal import RoomsHTTP
internal import RoomsRuntime
internal import RoomsTransport

/// Where a connection reports to.
protocol HTTPConnectionOwner: AnyObject {
    /// The attempt is over; the connection is free for another one.
    func finished(_ connection: HTTPConnection, _ result: AttemptResult)
    /// The connection wants `HTTPConnection.check` to be called at its deadline at the latest.
    func arm(_ deadline: Instant)
    /// Whether the attempt may begin again at once.
    func mayRetry(_ connection: HTTPConnection) -> Bool
    /// It may not: the attempt counts as never begun, and the connection is free.
    func tookBack(_ connection: HTTPConnection)
    /// The endpoint's clock, in seconds since 1970: once for each connection.
    func sawDate(_ date: Int64)
}

/// A place for one request at a time, with a connection that is kept between them while the peer allows it.
///
/// A connection that was used before and dies without a byte of the answer gets one more try on a new one, which does
/// not count as a failure: the peer closed it while our request was on its way.
///
/// An answer is credited to the request it belongs to and to no other: a connection on which anything came that no request
/// waited for, or whose request was answered before it was sent in full, carries no other request.
///
/// Belongs to the loop's thread.
final class HTTPConnection {
    /// What `request` keeps of its storage from one attempt to the next.
    private static let keptRequest = 256 * 1024
    /// After this a connection is not used again, so that a name that moved is noticed.
    private static let longestLife = Duration.seconds(300)

    private enum State {
        case closed
        case connecting(PendingWork)
        case idle(Stream)
        case exchanging(Stream)
    }

    /// What the owner sends with `perform`.
    var request = RequestHead()
    /// What the request is for, as long as it is on its way.
    var attempt: EndpointStateMachine.Attempt?
    /// The ids of a batch.
    var batch = BatchIDs()
    private(set) var deadline = Instant.distantFuture
    private let transport: TransportLoop
    private var target: StreamTarget
    private let timeouts: DeliveryTimeouts
    private let isEncrypted: Bool
    /// Whether an answer's body may say something.
    private let readsBodies: Bool
    private let buffer: UnsafeMutableRawBufferPointer
    private unowned let owner: any HTTPConnectionOwner
    private var state = State.closed
    private var decoder: ResponseDecoder
    private var sent = 0
    private var isWaitingToSend = false
    private var answers = 0
    private var openedAt = Instant(nanoseconds: 0)
    private var idleTime: Duration
    private var totalDeadline = Instant.distantFuture
    private var hasRetried = false
    /// The target has changed since this connection was begun.
    private var isOutdated = false

    /// `buffer` is the loop's, shared by all connections.
    init(
        _ transport: TransportLoop,
        _ settings: EndpointSettings,
        buffer: UnsafeMutableRawBufferPointer,
        owner: any HTTPConnectionOwner
    ) {
        self.transport = transport
        self.buffer = buffer
        self.owner = owner
        target = settings.target
        timeouts = settings.timeouts
        idleTime = timeouts.idle
        readsBodies = settings.batch != nil
        decoder = ResponseDecoder(limits: ResponseLimits(bodyBytes: readsBodies ? 1024 * 1024 : 64 * 1024))
        if case .tls = target.security { isEncrypted = true } else { isEncrypted = false }
    }

    /// Whether a request can go out without a new connection.
    var isOpen: Bool {
        if case .idle = state { return true }
        return false
    }

    /// Sends `request`; the owner hears of the end, perhaps before this returns.
    func perform() {
        let now = transport.loop.now
        totalDeadline = now + timeouts.total
        hasRetried = false
        if case .idle(let stream) = state {
            // What has come since the last answer belongs to no request: it must not be taken for an answer to this one.
            if holdsNothing(stream) { return begin(on: stream, now) }
            close()
        }
        connect(now)
    }

    /// Ends what is overdue.
    func check(_ now: Instant) {
        guard deadline <= now else { return }
        switch state {
        case .closed:
            deadline = .distantFuture
        case .idle:
            close()
        case .connecting:
            close()
            let error = TransportError(.timedOut, "cannot connect to \(target.summary): no answer in time")
            finish(.failed(AttemptFailure(.connect(error))))
        case .exchanging:
            end(AttemptFailure(.noAnswer))
        }
    }

    /// Lets go of the connection without a word to the owner.
    func close() {
        switch state {
        case .closed: break
        case .connecting(let pending): pending.cancel()
        case .idle(let stream), .exchanging(let stream): stream.close()
        }
        state = .closed
        deadline = .distantFuture
    }

    /// Requests that begin from now on go there, with other certificates perhaps; one on its way ends where it is.
    func move(to target: StreamTarget) {
        self.target = target
        switch state {
        case .closed: break
        case .idle: close()
        case .connecting, .exchanging: isOutdated = true
        }
    }

    // MARK: connecting and sending

    private func connect(_ now: Instant) {
        deadline = totalDeadline
        owner.arm(deadline)
        isOutdated = false
        state = .connecting(
            transport.connect(target, timeout: timeouts.connect) { [unowned self] in connected($0) }
        )
    }

    private func connected(_ result: Result<Stream, TransportError>) {
        switch result {
        case .failure(let error):
            state = .closed
            deadline = .distantFuture
            finish(.failed(AttemptFailure(.connect(error))))
        case .success(let stream):
            answers = 0
            openedAt = transport.loop.now
            idleTime = timeouts.idle
            stream.watch(.readable) { [unowned self] in ready($0) }
            begin(on: stream, transport.loop.now)
        }
    }

    private func begin(on stream: Stream, _ now: Instant) {
        state = .exchanging(stream)
        decoder.reset()
        sent = 0
        isWaitingToSend = false
        deadline = min(now + timeouts.head, totalDeadline)
        owner.arm(deadline)
        sendOn(stream)
    }

    /// Sends what the connection takes now.
    private func sendOn(_ stream: Stream) {
        do throws(TransportError) {
            try send(on: stream)
        } catch {
            // Who hangs up in the middle of a request may have answered it before; nobody answers what was not begun.
            if sent > 0 { receiveOn(stream) }
            broken(error)
        }
    }

    private func send(on stream: Stream) throws(TransportError) {
        while sent < request.bytes.count {
            let result: Result<Int, TransportError> = request.bytes.withUnsafeBytes { bytes in
                Result { () throws(TransportError) in
                    try stream.send(UnsafeRawBufferPointer(rebasing: bytes[sent...]))
                }
            }
            let taken = try result.get()
            guard taken > 0 else {
                isWaitingToSend = true
                return stream.rewatch([.readable, .writable])
            }
            sent += taken
        }
        guard isWaitingToSend else { return }
        isWaitingToSend = false
        stream.rewatch(.readable)
    }

    // MARK: the answer

    private func ready(_ readiness: Readiness) {
        switch state {
        case .closed, .connecting:
            break
        case .idle(let stream):
            // Bytes that nobody asked for, or the end: either way this connection is of no more use.
            // With TLS it may be news of the protocol itself, which is no harm.
            if !isEncrypted || !holdsNothing(stream) { close() }
        case .exchanging(let stream):
            // What the peer says first: it may refuse a request before it has read it.
            if readiness != .writable { receiveOn(stream) }
            if case .exchanging(let same) = state, same === stream, readiness.contains(.writable) { sendOn(stream) }
        }
    }

    private func receiveOn(_ stream: Stream) {
        do throws(TransportError) {
            try receive(on: stream)
        } catch {
            broken(error)
        }
    }

    private func receive(on stream: Stream) throws(TransportError) {
        while true {
            switch try stream.receive(into: buffer) {
            case .wouldBlock:
                return
            case .end:
                decoder.peerClosed()
                return settle(isClean: false)
            case .bytes(let count):
                let taken = decoder.decode(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[..<count]))
                switch decoder.state {
                case .head:
                    continue
                case .body:
                    deadline = totalDeadline
                case .complete:
                    return settle(isClean: taken == count)
                case .failed:
                    return settle(isClean: false)
                }
            }
        }
    }

    /// The answer is over, whole or not; `isClean` when the connection stands right behind it.
    private func settle(isClean: Bool) {
        guard case .exchanging(let stream) = state else { return }
        guard let status = decoder.status else {
            guard case .failed(let error) = decoder.state else { return end(AttemptFailure(.noAnswer)) }
            if error.code == .closedBeforeAnswer, retry() { return }
            return end(AttemptFailure(.unreadable(error)))
        }
        answers += 1
        let now = transport.loop.now
        if isClean, !isOutdated, decoder.isReusable, sent == request.bytes.count, now - openedAt < Self.longestLife {
            if answers == 1 { limitIdleTime() }
            state = .idle(stream)
            deadline = now + idleTime
            owner.arm(deadline)
        } else {
            close()
        }
        if answers == 1, let field = decoder.head?.first("date") {
            HTTPDate.seconds(field, wall: SystemClock.wallMilliseconds).map(owner.sawDate)
        }
        finish(.answered(answer(status)))
    }

    private func finish(_ result: AttemptResult) {
        if request.bytes.count > Self.keptRequest { request = RequestHead() }
        owner.finished(self, result)
    }

    private func answer(_ status: Int) -> Answer {
        guard let head = decoder.head else { return Answer(status: status) }
        var answer = Answer(head, wall: SystemClock.wallMilliseconds)
        if readsBodies, 200..<300 ~= status {
            let isComplete = decoder.state == .complete
            answer.body = AnswerBody(
                bytes: decoder.body,
                isComplete: isComplete,
                contentType: head.first("content-type")
            )
        }
        return answer
    }

    /// Whether nothing has come that was not read.
    private func holdsNothing(_ stream: Stream) -> Bool {
        do throws(TransportError) {
            return try stream.receive(into: buffer) == .wouldBlock
        } catch {
            return false
        }
    }

    /// Obeys `Keep-Alive: timeout=N`, one second early; once for each connection.
    private func limitIdleTime() {
        guard let field = decoder.head?.first("keep-alive"), let seconds = KeepAlive.timeout(field) else { return }
        idleTime = min(timeouts.idle, .seconds(max(0, seconds - 1)))
    }

    private func broken(_ error: TransportError) {
        guard case .exchanging = state else { return }
        if !decoder.hasBegun, retry() { return }
        end(AttemptFailure(.broken(error)))
    }

    /// Begins again on a new connection, if this one had served before and was not the second try.
    private func retry() -> Bool {
        guard answers > 0, !hasRetried else { return false }
        hasRetried = true
        close()
        if owner.mayRetry(self) { connect(transport.loop.now) } else { owner.tookBack(self) }
        return true
    }

    private func end(_ failure: AttemptFailure) {
        let answer = decoder.status.map(answer)
        close()
        finish(answer.map { .answered($0) } ?? .failed(failure))
    }
}

internal import BridgeModel
internal import RoomsRuntime
internal import RoomsTransport

/// One line for each attempt, on one connection to a stream socket, with many lines in flight.
///
/// What is in flight when the connection ends was perhaps seen: all of it counts as an attempt and is sent again.
///
/// closed → connecting → (`protocol`: greeting →) open → closed.
final class StreamCarrier: Carrier {
    enum State {
        case closed
        case connecting(PendingWork)
        /// Our hello is out, theirs is awaited.
        case greeting(Stream)
        case open(Stream)
    }

    /// So much may wait for the socket to take it.
    private static let mostUnsent = 256 * 1024
    static let shortestPoll = Duration.milliseconds(1)
    static let mostQuickPolls = 20
    static let longestPoll = Duration.milliseconds(20)

    let settings: EndpointSettings
    let options: StreamSettings
    let transport: TransportLoop
    let logger: Logger
    unowned let owner: any CarrierOwner
    /// What is in force: not always what was configured.
    let acknowledgement: StreamAcknowledgement
    private let storeID: ByteString
    private let writer: StreamLineWriter
    let buffer: UnsafeMutableRawBufferPointer
    var state = State.closed
    /// What the connection is made for.
    private var waiting: Consignment?
    var input: [UInt8] = []
    /// So much of it has no line's end in it.
    var scanned = 0
    var isHeeding = false
    private var output: [UInt8] = []
    private var sent = 0
    var isWaitingToSend = false
    /// Whether this connection took anything yet, and whether anything was acknowledged on it.
    var hasSent = false
    var hasServed = false
    var window = StreamWindow()
    var hello = ReceiverHello()
    /// The receiver said goodbye.
    var isLeaving = false
    var pauseEnd: Instant?
    /// How many lines the receiver still wants; nil: it does not count.
    var credit: UInt64?
    var heard = Instant(nanoseconds: 0)
    var hasPinged = false
    /// With `read`: lines are out, and nothing more is sent until they are read.
    var isConfirming = false
    var pollWait = shortestPoll
    var pollTimer: TimerID?
    /// How many looks are left that come without a pause.
    var quickPolls = 0
    var lastUnread = 0

    init(
        _ settings: EndpointSettings,
        _ options: StreamSettings,
        transport: TransportLoop,
        storeID: ByteString,
        buffer: UnsafeMutableRawBufferPointer,
        logger: Logger,
        owner: any CarrierOwner
    ) {
        self.settings = settings
        self.options = options
        self.transport = transport
        self.storeID = storeID
        self.buffer = buffer
        self.logger = logger
        self.owner = owner
        writer = StreamLineWriter(storeID: storeID)
        let kernelTells = options.kernelTells ?? SocketQueue.isTold
        acknowledgement = options.acknowledgement == .read && !kernelTells ? .line : options.acknowledgement
        if acknowledgement != options.acknowledgement {
            logger.warning(
                "this kernel does not tell what the receiver has read: it must answer each line, as with \"ack\": \"line\""
            )
        }
    }

    // MARK: Carrier

    var canBegin: Bool {
        switch state {
        case .closed: waiting == nil
        case .connecting, .greeting: false
        case .open:
            !isLeaving && !isConfirming && pauseEnd == nil && credit != 0 && window.count < hello.window
                && output.count - sent < Self.mostUnsent
        }
    }

    var deadline: Instant {
        switch state {
        case .closed, .connecting: .distantFuture
        case .greeting: heard + settings.timeouts.head
        case .open: min(window.deadline(options.answerTime), silenceDeadline, pauseEnd ?? .distantFuture)
        }
    }

    func begin(_ consignment: Consignment) {
        if case .open(let stream) = state {
            guard window.isEmpty, output.isEmpty, stream.isHungUp else { return write(consignment) }
            // It ended while nothing was on it: that is no failure.
            letGo()
            owner.connectionEnded()
        }
        waiting = consignment
        connect()
    }

    func flush() {
        guard case .open(let stream) = state, !output.isEmpty, !isWaitingToSend else { return }
        sendOn(stream)
    }

    func check(_ now: Instant) {
        switch state {
        case .closed, .connecting:
            break
        case .greeting:
            if deadline <= now { fail(.noHello) }
        case .open(let stream):
            if let end = pauseEnd, end <= now {
                pauseEnd = nil
                owner.goOn()
                guard isOn(stream) else { return }
            }
            if window.deadline(options.answerTime) <= now { return fail(.unanswered(acknowledgement)) }
            if silenceDeadline <= now { askWhetherThere(stream, now) }
        }
    }

    /// Lines carry neither secrets nor certificates.
    func renew(_ settings: EndpointSettings) {}

    func close() {
        if acknowledgement == .protocol, case .open(let stream) = state, output.isEmpty {
            output = StreamLineWriter.bye("the service stops")
            // If it does not get through, the end of the connection says the same.
            try? send(on: stream)
        }
        letGo()
    }

    // MARK: the connection

    private func connect() {
        state = .connecting(
            transport.connect(settings.target, timeout: settings.timeouts.connect) { [unowned self] in connected($0) }
        )
    }

    func connected(_ result: Result<Stream, TransportError>) {
        switch result {
        case .failure(let error):
            state = .closed
            fail(.connect(error))
        case .success(let stream):
            hello = ReceiverHello()
            heard = transport.loop.now
            stream.watch(.readable) { [unowned self] in ready($0) }
            guard acknowledgement == .protocol else { return open(stream) }
            state = .greeting(stream)
            output = StreamLineWriter.hello(agent: settings.userAgent, endpoint: settings.name, storeID: storeID)
            owner.arm(deadline)
            sendOn(stream)
        }
    }

    /// Lines may go out from now on, that which the connection was made for first.
    private func open(_ stream: Stream) {
        state = .open(stream)
        if let consignment = waiting.take() {
            if credit == 0 { owner.tookBack(consignment.attempt, isCounted: false) } else { write(consignment) }
        }
        owner.arm(silenceDeadline)
        flush()
        owner.goOn()
    }

    /// The other side's hello has come.
    func greeted(_ theirs: ReceiverHello) {
        guard case .greeting(let stream) = state else { return fail(.malformed) }
        guard theirs.version == 1 else { return fail(.otherVersion(theirs.version)) }
        hello = theirs
        credit = theirs.credit
        if theirs.store != storeID || !options.hasOneServer { hello.resume = [:] }
        open(stream)
    }

    /// Ends the connection; what it carried is the receiver's no more.
    func fail(_ failure: StreamFailure) {
        let verdict = failure.verdict
        let isUnstarted = window.isEmpty
        let lost = letGo()
        if isUnstarted, let waiting = waiting.take() { owner.finished(waiting.attempt, verdict) }
        for attempt in lost { owner.finished(attempt, verdict) }
        owner.connectionEnded()
        owner.goOn()
    }

    /// The receiver went after it had said so: nothing of that is a failure.
    func part() {
        guard hasServed || (window.isEmpty && waiting == nil) else { return fail(.leftAtOnce) }
        let lost = letGo()
        for attempt in lost { owner.tookBack(attempt, isCounted: true) }
        owner.connectionEnded()
        owner.goOn()
    }

    /// Closes without a word; what was in flight is the caller's.
    @discardableResult
    func letGo() -> [EndpointStateMachine.Attempt] {
        switch state {
        case .closed: break
        case .connecting(let pending): pending.cancel()
        case .greeting(let stream), .open(let stream): stream.close()
        }
        if let pollTimer { transport.loop.cancel(pollTimer) }
        (state, pollTimer, isConfirming, pollWait) = (.closed, nil, false, Self.shortestPoll)
        (input, scanned, output, sent, isWaitingToSend) = ([], 0, [], 0, false)
        (hasSent, hasServed, hasPinged, isLeaving, pauseEnd, credit) = (false, false, false, false, nil, nil)
        return window.takeAll()
    }

    // MARK: sending

    private func write(_ consignment: Consignment) {
        let delivery = consignment.delivery
        if delivery.retry == nil, let seq = hello.resume[delivery.room.room], delivery.seq <= seq {
            return owner.finished(consignment.attempt, .delivered)
        }
        let start = output.count
        writer.append(
            consignment,
            number: acknowledgement == .read ? nil : window.next,
            isProtocol: acknowledgement == .protocol,
            to: &output
        )
        let length = output.count - start - 1
        guard length <= hello.longestLine else {
            output.removeLast(length + 1)
            return owner.finished(consignment.attempt, StreamFailure.tooLong(length, most: hello.longestLine).verdict)
        }
        if let left = credit { credit = left - 1 }
        window.add(consignment.attempt, transport.loop.now)
        if window.count == 1 { owner.arm(window.deadline(options.answerTime)) }
    }

    /// Adds a line that is no event.
    func say(_ line: [UInt8]) {
        output += line
        switch state {
        case .closed, .connecting: break
        case .greeting(let stream), .open(let stream): if !isWaitingToSend { sendOn(stream) }
        }
    }

    func sendOn(_ stream: Stream) {
        do throws(TransportError) {
            try send(on: stream)
        } catch {
            // What it said before it went may be an acknowledgement.
            if hasSent { receiveOn(stream) }
            broken(stream, error)
        }
    }

    private func send(on stream: Stream) throws(TransportError) {
        while sent < output.count {
            let result: Result<Int, TransportError> = output.withUnsafeBytes { bytes in
                Result { () throws(TransportError) in
                    try stream.send(UnsafeRawBufferPointer(rebasing: bytes[sent...]))
                }
            }
            let taken = try result.get()
            guard taken > 0 else {
                if !isWaitingToSend { stream.rewatch([.readable, .writable]) }
                isWaitingToSend = true
                // What is out need not be kept while the receiver is slow.
                if sent >= Self.mostUnsent {
                    output.removeFirst(sent)
                    sent = 0
                }
                return
            }
            hasSent = true
            sent += taken
            if acknowledgement == .read { window.touchAll(transport.loop.now) }
        }
        if output.capacity > 4 * Self.mostUnsent { output = [] } else { output.removeAll(keepingCapacity: true) }
        sent = 0
        if isWaitingToSend {
            isWaitingToSend = false
            stream.rewatch(.readable)
        }
        if acknowledgement == .read, !window.isEmpty { beginConfirming(stream) }
    }
}

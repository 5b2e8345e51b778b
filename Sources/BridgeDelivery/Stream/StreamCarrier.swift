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
    /// One turn reads no more than this often.
    private static let mostReads = 16
    static let shortestPoll = Duration.milliseconds(1)
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
    private let buffer: UnsafeMutableRawBufferPointer
    private var state = State.closed
    /// What the connection is made for.
    private var waiting: Consignment?
    private var input: [UInt8] = []
    /// So much of it has no line's end in it.
    private var scanned = 0
    private var isHeeding = false
    private var output: [UInt8] = []
    private var sent = 0
    private var isWaitingToSend = false
    /// Whether this connection took anything yet, and whether anything was acknowledged on it.
    private var hasSent = false
    var hasServed = false
    var window = StreamWindow()
    var hello = ReceiverHello()
    /// The receiver said goodbye.
    var isLeaving = false
    var pauseEnd: Instant?
    /// How many lines the receiver still wants; nil: it does not count.
    var credit: UInt64?
    private var heard = Instant(nanoseconds: 0)
    private var hasPinged = false
    /// With `read`: lines are out, and nothing more is sent until they are read.
    private var isConfirming = false
    private var pollWait = shortestPoll
    private var pollTimer: TimerID?
    private var lastUnread = 0

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

    private func connected(_ result: Result<Stream, TransportError>) {
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
        if let consignment = waiting.take() { write(consignment) }
        owner.arm(silenceDeadline)
        flush()
        owner.goOn()
    }

    /// The other side's hello has come.
    func greeted(_ theirs: ReceiverHello) {
        guard case .greeting(let stream) = state else { return fail(.malformed) }
        guard theirs.version == 1 else { return fail(.otherVersion(theirs.version)) }
        hello = theirs
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
    private func part() {
        guard hasServed || window.isEmpty else { return fail(.leftAtOnce) }
        let lost = letGo()
        for attempt in lost { owner.tookBack(attempt, isCounted: true) }
        owner.connectionEnded()
        owner.goOn()
    }

    /// Closes without a word; what was in flight is the caller's.
    @discardableResult
    private func letGo() -> [EndpointStateMachine.Attempt] {
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

    private func sendOn(_ stream: Stream) {
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

    // MARK: receiving

    private func ready(_ readiness: Readiness) {
        let stream: Stream
        switch state {
        case .closed, .connecting: return
        case .greeting(let ours), .open(let ours): stream = ours
        }
        if readiness != .writable { receiveOn(stream) }
        guard isOn(stream) else { return }
        if readiness.contains(.writable), isWaitingToSend { sendOn(stream) }
        if isLeaving, window.isEmpty, isOn(stream) { return part() }
        owner.goOn()
    }

    private func isOn(_ stream: Stream) -> Bool {
        switch state {
        case .closed, .connecting: false
        case .greeting(let ours), .open(let ours): ours === stream
        }
    }

    private func receiveOn(_ stream: Stream) {
        var reads = 0
        do throws(TransportError) {
            while reads < Self.mostReads, isOn(stream) {
                reads += 1
                switch try stream.receive(into: buffer) {
                case .wouldBlock: return
                case .end: return ended(stream)
                case .bytes(let count):
                    heard = transport.loop.now
                    hasPinged = false
                    guard acknowledgement != .read else { continue }
                    input.append(contentsOf: UnsafeRawBufferPointer(buffer)[..<count])
                    heedInput(stream)
                }
            }
        } catch {
            broken(stream, error)
        }
    }

    /// Heeds what has come, line by line.
    private func heedInput(_ stream: Stream) {
        // A line may lead to a send, and that to more input: the outer round heeds it.
        guard !isHeeding else { return }
        isHeeding = true
        defer { isHeeding = false }
        var start = 0
        while let end = input[max(start, scanned)...].firstIndex(of: UInt8(ascii: "\n")) {
            let line = Array(input[start..<end])
            start = end + 1
            scanned = start
            guard line.count <= StreamLineWriter.longestAnswer, heed(line) else {
                if case .greeting = state { return fail(.noHello) }
                return fail(.malformed)
            }
            guard isOn(stream) else { return }
        }
        input.removeFirst(start)
        scanned = input.count
        if input.count > StreamLineWriter.longestAnswer { fail(.malformed) }
    }

    /// The receiver sends no more.
    private func ended(_ stream: Stream) {
        guard acknowledgement == .read else {
            return isLeaving ? part() : broken(stream, nil)
        }
        // It may go on reading.
        guard stream.isHungUp else { return stream.rewatch(isWaitingToSend ? .writable : []) }
        confirm(stream)
        if isOn(stream) { broken(stream, nil) }
    }

    private func broken(_ stream: Stream, _ error: TransportError?) {
        guard isOn(stream) else { return }
        if case .greeting = state { return fail(.noHello) }
        if !hasSent, let error, error.code == .refused { return fail(.full(error)) }
        if isLeaving { return part() }
        fail(.broken(error))
    }

    // MARK: silence

    private var silenceDeadline: Instant {
        guard acknowledgement == .protocol else { return .distantFuture }
        return heard + options.silence * (hasPinged ? 2 : 1)
    }

    private func askWhetherThere(_ stream: Stream, _ now: Instant) {
        guard !hasPinged else { return fail(.silent) }
        hasPinged = true
        say(StreamLineWriter.ping)
    }

    // MARK: what was read

    private func beginConfirming(_ stream: Stream) {
        isConfirming = true
        pollWait = Self.shortestPoll
        lastUnread = .max
        schedulePoll()
    }

    private func schedulePoll() {
        pollTimer = transport.loop.schedule(after: pollWait) { [weak self] in self?.poll() }
    }

    private func poll() {
        pollTimer = nil
        guard case .open(let stream) = state, isConfirming else { return }
        confirm(stream)
        guard isOn(stream) else { return }
        if isConfirming {
            pollWait = min(pollWait * 2, Self.longestPoll)
            schedulePoll()
        }
    }

    /// Takes the lines for delivered when all of them are read.
    private func confirm(_ stream: Stream) {
        guard isConfirming else { return }
        guard let unread = stream.unread else { return broken(stream, nil) }
        // Behind the count: a receiver that ends without having read leaves its error before the count falls.
        if let error = stream.takeError() { return broken(stream, error) }
        if unread < lastUnread {
            lastUnread = unread
            window.touchAll(transport.loop.now)
        }
        guard unread == 0 else { return }
        isConfirming = false
        hasServed = true
        for attempt in window.takeAll() { owner.finished(attempt, .delivered) }
        owner.goOn()
    }
}

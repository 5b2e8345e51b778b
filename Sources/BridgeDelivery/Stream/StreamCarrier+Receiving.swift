internal import RoomsRuntime
internal import RoomsTransport

/// What comes from the receiver: lines, silence, the end, and what the kernel tells of what it has read.
extension StreamCarrier {
    /// One turn reads no more than this often.
    private static let mostReads = 16

    // MARK: receiving

    func ready(_ readiness: Readiness) {
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

    func isOn(_ stream: Stream) -> Bool {
        switch state {
        case .closed, .connecting: false
        case .greeting(let ours), .open(let ours): ours === stream
        }
    }

    func receiveOn(_ stream: Stream) {
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

    func broken(_ stream: Stream, _ error: TransportError?) {
        guard isOn(stream) else { return }
        if !hasSent, let error, error.code == .busy { return fail(.connect(error)) }
        if case .greeting = state { return fail(.noHello) }
        if isLeaving { return part() }
        fail(.broken(error))
    }

    // MARK: silence

    var silenceDeadline: Instant {
        guard acknowledgement == .protocol else { return .distantFuture }
        return heard + options.silence * (hasPinged ? 2 : 1)
    }

    func askWhetherThere(_ stream: Stream, _ now: Instant) {
        guard !hasPinged else { return fail(.silent) }
        hasPinged = true
        say(StreamLineWriter.ping)
    }

    // MARK: what was read

    func beginConfirming(_ stream: Stream) {
        isConfirming = true
        quickPolls = Self.mostQuickPolls
        pollWait = Self.shortestPoll
        lastUnread = .max
        schedulePoll()
    }

    /// A receiver that waits for lines has read them some microseconds later: the first looks come without a pause.
    private func schedulePoll() {
        if let pollTimer { transport.loop.cancel(pollTimer) }
        let wait = quickPolls > 0 ? .zero : pollWait
        if quickPolls > 0 { quickPolls -= 1 } else { pollWait = min(pollWait * 2, Self.longestPoll) }
        pollTimer = transport.loop.schedule(after: wait) { [weak self] in self?.poll() }
    }

    private func poll() {
        pollTimer = nil
        guard case .open(let stream) = state, isConfirming else { return }
        confirm(stream)
        // The next lines may be out already, and looked after.
        if isConfirming, pollTimer == nil, isOn(stream) { schedulePoll() }
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

internal import RoomsHTTP
package import RoomsRuntime
internal import RoomsWebSocket

/// A client's WebSocket: connects, upgrades, and carries binary messages until it ends.
///
/// On its loop's thread. It begins with `init`; handlers run later, one at a time, and may call anything here. Exactly one
/// `onEnd` comes, behind everything else, unless `cancel` forbids it.
package final class WebSocketStream {
    package struct Handlers {
        package var onOpen: () -> Void
        /// A binary message; the pointer lives for the call.
        package var onMessage: (UnsafeRawBufferPointer) -> Void
        /// Behind the last of the messages that came with one read: the place to hand on what they brought.
        package var onMessagesRead: () -> Void
        package var onEnd: (WebSocketEnd) -> Void

        package init(
            onOpen: @escaping () -> Void,
            onMessage: @escaping (UnsafeRawBufferPointer) -> Void,
            onMessagesRead: @escaping () -> Void = {},
            onEnd: @escaping (WebSocketEnd) -> Void
        ) {
            self.onOpen = onOpen
            self.onMessage = onMessage
            self.onMessagesRead = onMessagesRead
            self.onEnd = onEnd
        }
    }

    private enum Phase: Equatable {
        case connecting
        case upgrading
        case open
        /// Our close is on its way; messages that still come are dropped.
        ///
        /// How it ends when no close comes back.
        case closing(WebSocketEnd)
        case ended
    }

    /// Reads of one turn, so that one busy server does not keep the loop.
    private static let readsPerTurn = 4

    private let transport: TransportLoop
    private let loop: EventLoop
    private let options: WebSocketOptions
    private let handlers: Handlers
    private let session: WebSocketSession
    private var phase = Phase.connecting
    private var isPaused = false
    private var pending: PendingWork?
    private var request: UpgradeRequest?
    private var unsent: ArraySlice<UInt8> = []
    private var decoder = ResponseDecoder(limits: UpgradeRequest.limits, acceptsUpgrade: true)
    private var stream: Stream?
    private var deadline: TimerID?
    private var stall: TimerID?
    /// Looks whether the message that is coming in has ended in time.
    private var lateness: TimerID?
    private var pausedAt: Instant?
    private var written = 0
    /// Everything that came so far, the upgrade's answer too: tells a slow message from a dead link.
    package private(set) var receivedBytes = 0
    /// What the answer's `date` said, in seconds since 1970.
    package private(set) var serverDate: Int64?
    private var report: TimerID?
    /// A write failed; what can still be read is read before that counts.
    private var isBroken = false

    package init(loop transport: TransportLoop, url: ServerURL, options: WebSocketOptions, handlers: Handlers) {
        self.transport = transport
        loop = transport.loop
        self.options = options
        self.handlers = handlers
        session = WebSocketSession(role: .client, limits: options.limits)
        do throws(TransportError) {
            let request = try UpgradeRequest(url, subprotocol: options.subprotocol, headers: options.headers)
            self.request = request
            unsent = request.bytes[...]
            deadline = loop.schedule(after: options.openTimeout) { [weak self] in
                self?.fail(.timedOut, "\(url.hostField) did not open the WebSocket in time")
            }
            pending = transport.connect(
                url.streamTarget(tls: options.tls, proxy: options.proxy),
                timeout: options.openTimeout
            ) { [weak self] in
                if let self { connected($0) } else if case .success(let stream) = $0 { stream.close() }
            }
        } catch {
            end(.failed(error))
        }
    }

    deinit {
        if loop.isOnLoop { cancel() }
    }

    // MARK: calls of the owner

    /// Queues a binary message.
    ///
    /// Before the WebSocket is open and after a close it is dropped.
    package func send(_ bytes: [UInt8]) {
        guard phase == .open else { return }
        session.sendBinary(bytes)
        flush()
        if session.queuedBytes > options.maxQueued {
            fail(.closed, "the server takes too little: \(session.queuedBytes) bytes wait for it")
        }
    }

    /// Framed bytes that wait to be written.
    package var queuedBytes: Int { session.queuedBytes }

    /// Reads no more from the connection; what was read before is still handed over.
    package func pauseReading() {
        isPaused = true
        pausedAt = pausedAt ?? SystemClock.now
        rewatch()
    }

    package func resumeReading() {
        if let pausedAt { session.excuse(SystemClock.now - pausedAt) }
        isPaused = false
        pausedAt = nil
        watchLateness()
        rewatch()
    }

    /// Closes with a close frame and waits for the server's, for at most `closeTimeout`.
    ///
    /// Messages that come meanwhile are dropped; `onEnd` follows. Before the WebSocket is open it ends at once.
    package func close(code: UInt16, reason: ByteString = .empty) {
        switch phase {
        case .connecting, .upgrading:
            end(.closed(code: code, reason: reason))
        case .open:
            let result = WebSocketEnd.closed(code: code, reason: reason)
            phase = .closing(result)
            session.sendClose(code: code, reason: reason)
            deadline = loop.schedule(after: options.closeTimeout) { [weak self] in self?.end(result) }
            flush()
        case .closing, .ended:
            break
        }
    }

    /// Ends at once and without `onEnd`.
    package func cancel() {
        release()
        if let report { loop.cancel(report) }
        report = nil
    }

    // MARK: opening

    private func connected(_ result: Result<Stream, TransportError>) {
        pending = nil
        guard phase == .connecting else {
            if case .success(let stream) = result { stream.close() }
            return
        }
        switch result {
        case .failure(let error):
            end(.failed(error))
        case .success(let stream):
            self.stream = stream
            phase = .upgrading
            stream.watch([.readable, .writable]) { [weak self] in self?.ready($0) }
        }
    }

    private func takeAnswer(_ bytes: UnsafeRawBufferPointer) {
        let taken = decoder.decode(bytes)
        if let head = decoder.head {
            if let flaw = request?.flaw(in: head) { return end(flaw) }
            serverDate = head.first("date").flatMap { HTTPDate.seconds($0, wall: SystemClock.wallMilliseconds) }
            open(UnsafeRawBufferPointer(rebasing: bytes[taken...]))
        } else if case .failed(let error) = decoder.state {
            fail(.protocolViolation, error.message)
        }
    }

    private func open(_ rest: UnsafeRawBufferPointer) {
        if let deadline { loop.cancel(deadline) }
        deadline = nil
        request = nil
        phase = .open
        handlers.onOpen()
        takeFrames(rest)
        rewatch()
    }

    // MARK: reading and writing

    private func ready(_ readiness: Readiness) {
        if readiness.contains(.writable) { flush() }
        if readiness.contains(.readable) || readiness.contains(.failed) { read() }
    }

    private func read() {
        let buffer = transport.receiveBuffer
        for _ in 0..<Self.readsPerTurn {
            guard let stream, wantsToRead else { return }
            do throws(TransportError) {
                switch try stream.receive(into: buffer) {
                case .wouldBlock: return
                case .end: return peerClosed()
                case .bytes(let count): take(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
                }
            } catch {
                return end(.failed(error))
            }
        }
    }

    private func take(_ bytes: UnsafeRawBufferPointer) {
        receivedBytes &+= bytes.count
        switch phase {
        case .upgrading: takeAnswer(bytes)
        case .open, .closing: takeFrames(bytes)
        case .connecting, .ended: break
        }
    }

    private func takeFrames(_ bytes: UnsafeRawBufferPointer) {
        var hasMessages = false
        session.receive(bytes) { event in
            switch event {
            case .binary(let message):
                hasMessages = true
                // Behind a broken write only the close is looked for when the owner wants no messages now.
                if phase == .open, !(isBroken && isPaused) { handlers.onMessage(message) }
            case .text:
                if phase == .open { refuse(1_003, "the server sent a text message; only binary ones are expected") }
            case .close(let code, let reason):
                flush()
                end(.closed(code: code, reason: reason))
            case .violation(let code, let reason):
                flush()
                let broken: TransportError.Code = code == 1_009 ? .messageTooLarge : .protocolViolation
                fail(session.wasLate ? .timedOut : broken, "the server sent \(reason)")
            }
        }
        if hasMessages { handlers.onMessagesRead() }
        flush()
        watchLateness()
    }

    /// A message must end in time also where nothing more of it comes.
    ///
    /// One timer for many messages: it is set for the one that is coming in, and then for the one that came after it.
    private func watchLateness() {
        guard lateness == nil, !isPaused, phase == .open, let deadline = session.messageDeadline else { return }
        lateness = loop.schedule(at: deadline) { [weak self] in
            guard let self else { return }
            lateness = nil
            let isLate = session.messageDeadline.map { $0 <= SystemClock.now } ?? false
            guard phase == .open, !isPaused, isLate else { return watchLateness() }
            session.sendClose(code: 1_008)
            flush()
            fail(.timedOut, "the server began a message and did not end it in time")
        }
    }

    private func refuse(_ code: UInt16, _ message: String) {
        session.sendClose(code: code)
        flush()
        fail(.protocolViolation, message)
    }

    private func peerClosed() {
        switch phase {
        case .upgrading:
            decoder.peerClosed()
            fail(.closed, "the server closed the connection before it answered the upgrade")
        case .open:
            fail(.closed, "the server closed the connection without a close frame")
        case .closing(let result):
            end(result)
        case .connecting, .ended:
            break
        }
    }

    /// Writes what the connection takes; the rest goes when it is writable.
    private func flush() {
        guard let stream, !isBroken else { return }
        do throws(TransportError) {
            var count = 1
            while !unsent.isEmpty, count > 0 {
                try unsent.withUnsafeBufferPointer { bytes throws(TransportError) in
                    count = try stream.send(UnsafeRawBufferPointer(bytes))
                }
                unsent = unsent.dropFirst(count)
                written &+= count
            }
            while session.queuedBytes > 0, count > 0 {
                try session.drainOutput { bytes throws(TransportError) in
                    count = try stream.send(bytes)
                    return count
                }
                written &+= count
            }
        } catch {
            return writeFailed(error)
        }
        watchStall()
        rewatch()
    }

    /// A server that closes may have said why: its close frame is looked for before the failed write counts.
    private func writeFailed(_ error: TransportError) {
        isBroken = true
        stream?.rewatch([])
        if let stall { loop.cancel(stall) }
        stall = loop.schedule(after: .zero) { [weak self] in
            guard let self else { return }
            let buffer = transport.receiveBuffer
            for _ in 0..<1_024 {
                guard let stream, case .bytes(let count)? = try? stream.receive(into: buffer) else { break }
                take(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            }
            end(.failed(error))
        }
    }

    private var hasOutput: Bool { !unsent.isEmpty || session.queuedBytes > 0 }

    /// While output waits, some of it must go out within the limit.
    private func watchStall() {
        guard hasOutput else {
            if let stall { loop.cancel(stall) }
            stall = nil
            return
        }
        guard stall == nil else { return }
        let before = written
        stall = loop.schedule(after: options.writeTimeout) { [weak self] in
            guard let self else { return }
            stall = nil
            if written == before { return fail(.timedOut, "the server has taken nothing for too long") }
            watchStall()
        }
    }

    /// A close waits for the server's answer, so it is read even when the owner has paused.
    private var wantsToRead: Bool {
        switch phase {
        case .upgrading, .closing: true
        case .open: !isPaused
        case .connecting, .ended: false
        }
    }

    private func rewatch() {
        guard !isBroken else { return }
        var interest: Readiness = wantsToRead ? .readable : []
        if hasOutput { interest.insert(.writable) }
        stream?.rewatch(interest)
    }

    // MARK: ending

    private func fail(_ code: TransportError.Code, _ message: String) {
        end(.failed(TransportError(code, message)))
    }

    /// Lets go of everything; the owner hears of it in a later turn, never inside a call of its own.
    private func end(_ end: WebSocketEnd) {
        guard phase != .ended else { return }
        release()
        report = loop.schedule(after: .zero) { [weak self] in
            guard let self else { return }
            report = nil
            handlers.onEnd(end)
        }
    }

    private func release() {
        phase = .ended
        pending?.cancel()
        pending = nil
        if let deadline { loop.cancel(deadline) }
        if let stall { loop.cancel(stall) }
        if let lateness { loop.cancel(lateness) }
        deadline = nil
        stall = nil
        lateness = nil
        stream?.close()
        stream = nil
    }
}

internal import Glibc
internal import LocalHTTP
internal import RoomsRuntime
internal import RoomsWebSocket
internal import RoomsWire

/// One client's socket: its bytes into the session, what the session says onto the wire.
///
/// Belongs to the hub's loop. What a turn brings is written at its end, or as soon as much has gathered.
final class HubConnection {
    /// Framed bytes are made only up to here, so that the rest can still be dropped.
    private static let framedLimit = 64 << 10
    /// So much is not left until the turn ends.
    private static let earlyFlush = 256 << 10

    let session: HubSession
    /// Where it came in.
    let listener: HubListener
    /// What is wrong with the link because somebody asked for it; nil: nothing.
    private(set) var faults: LinkFaults?
    private let socket: UpgradedSocket
    private let stream: WebSocketSession
    private let loop: EventLoop
    private let settings: SessionSettings
    private let hub: Hub
    private var timer: (id: TimerID, deadline: Instant)?
    private var isDirty = false
    private var isWatchingWrites = false
    /// A close frame of ours is queued, or on its way.
    private var isClosing = false
    /// The peer's close frame came: once ours is out there is nothing left to wait for.
    private var hasPeerClosed = false
    private var closeBy: Instant?
    private var isOver = false

    init(socket: UpgradedSocket, session: HubSession, listener: HubListener, loop: EventLoop, hub: Hub) {
        self.socket = socket
        self.session = session
        self.listener = listener
        self.loop = loop
        self.hub = hub
        settings = session.settings
        stream = WebSocketSession(
            role: .server,
            limits: WebSocketLimits(maxMessage: settings.messageLimit, maxControlFramesPerSecond: 100)
        )
        session.onOutput = { [unowned self] replyBytes in outputAdded(replyBytes) }
    }

    func start() {
        loop.watch(socket.descriptor, for: interest) { [unowned self] readiness in ready(readiness) }
        if !socket.firstBytes.isEmpty { socket.firstBytes.withUnsafeBytes { take($0) } }
        markDirty()
    }

    // MARK: reading

    private func ready(_ readiness: Readiness) {
        if readiness.contains(.writable) { markDirty() }
        guard readiness.contains(.readable) || readiness.contains(.failed) else { return }
        if let faults, faults.pausesReading {
            if readiness.contains(.failed) { finish() }
            return
        }
        hub.withReadBuffer { buffer in
            // One buffer a turn, so that one client cannot keep the others waiting.
            let count = recv(socket.descriptor, buffer.baseAddress, buffer.count, 0)
            if count > 0 {
                take(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            } else if count == 0 || (errno != EAGAIN && errno != EINTR) {
                finish()
            }
        }
    }

    private func take(_ bytes: UnsafeRawBufferPointer) {
        let moment = Moment.now
        stream.receive(bytes, at: moment.instant) { event in
            switch event {
            case .binary(let frame), .text(let frame):
                if let faults, faults.isSilent { return }
                session.receive(frame, at: moment)
            // Either way the WebSocket session has queued our close frame.
            case .close: (isClosing, hasPeerClosed) = (true, true)
            case .violation: isClosing = true
            }
        }
        if isClosing { session.end(.closed) }
        markDirty()
    }

    // MARK: writing

    private func outputAdded(_ replyBytes: Int) {
        markDirty()
        guard session.ending == nil else { return }
        // A reply of any size goes out, and is the last thing that does when it is too large; pushes are not waited for.
        if replyBytes > settings.queueLimit { return session.end(.slow) }
        guard session.outbox.count > min(Self.earlyFlush, settings.queueLimit) else { return }
        write()
        guard session.outbox.count + stream.queuedBytes > settings.queueLimit, session.ending == nil else { return }
        session.end(replyBytes > 0 ? .slow : .slowDropping)
    }

    private func markDirty() {
        guard !isDirty, !isOver else { return }
        isDirty = true
        hub.turnEnds(for: self)
    }

    /// At the end of a turn in which something happened.
    func settle() {
        isDirty = false
        write()
        guard !isOver else { return }
        if let ending = session.ending {
            if closeBy == nil { closeBy = loop.now + settings.closeDelay }
            if !isClosing, session.outbox.count == 0, faults?.holdsFrames != true {
                isClosing = true
                guard ending.isSayable else { return finish() }
                stream.sendClose(code: ending.code, reason: ending.reason)
                write()
            }
            if hasPeerClosed, stream.queuedBytes == 0 { finish() }
        }
        arm()
    }

    private func write() {
        guard !isOver else { return }
        if faults != nil, isHeldBack() { return watchWrites(false) }
        var isThrottled = false
        while true {
            while stream.queuedBytes < Self.framedLimit, let frame = takeFrame() {
                switch session.format {
                case .protobuf: stream.sendBinary(frame)
                case .json: stream.sendText(frame)
                }
            }
            guard stream.queuedBytes > 0 else { break }
            var isBlocked = false
            var isBroken = false
            stream.drainOutput { bytes in
                let limit = faults?.allowance(bytes.count, at: SystemClock.now) ?? bytes.count
                guard limit > 0 else {
                    isThrottled = true
                    return 0
                }
                let count = send(socket.descriptor, bytes.baseAddress, limit, CInt(MSG_NOSIGNAL))
                isBlocked = count < limit
                if count < 0, errno != EAGAIN, errno != EINTR { isBroken = true }
                if faults != nil { faults?.sent(max(0, count), at: SystemClock.now) }
                return max(0, count)
            }
            if isBroken { return finish() }
            if isBlocked || isThrottled { break }
        }
        watchWrites(stream.queuedBytes > 0 && !isThrottled)
        if let faults, faults.isEmpty { self.faults = nil }
    }

    private func takeFrame() -> [UInt8]? {
        guard faults != nil else { return session.outbox.takeFrame() }
        return faults?.takeFrame(from: &session.outbox, at: SystemClock.now)
    }

    private func watchWrites(_ isWanted: Bool) {
        guard isWanted != isWatchingWrites else { return }
        isWatchingWrites = isWanted
        loop.rewatch(socket.descriptor, for: interest)
    }

    private var interest: Readiness {
        var interest: Readiness = isWatchingWrites ? .writable : []
        if faults?.pausesReading != true { interest.insert(.readable) }
        return interest
    }

    // MARK: faults

    /// Bytes that wait to be written.
    var queuedBytes: Int { session.outbox.count + stream.queuedBytes + (faults?.heldBytes ?? 0) }

    func change(_ change: LinkChange) {
        guard !isOver else { return }
        var changed = faults ?? LinkFaults()
        changed.apply(change)
        faults = changed
        loop.rewatch(socket.descriptor, for: interest)
        markDirty()
    }

    /// Takes all faults off the link.
    func resume() {
        guard faults != nil, !isOver else { return }
        faults?.lift()
        loop.rewatch(socket.descriptor, for: interest)
        markDirty()
    }

    /// True when a fault keeps everything from going out; at the end of the session only silence does.
    private func isHeldBack() -> Bool {
        guard let faults else { return false }
        if faults.isSilent {
            self.faults?.drop(&session.outbox)
            return true
        }
        return faults.pausesWriting && session.ending == nil
    }

    // MARK: time and end

    /// Sets the timer to what is due next.
    private func arm() {
        guard !isOver else { return }
        let due = due
        if let timer {
            // One that comes too early only asks again.
            guard due < timer.deadline else { return }
            loop.cancel(timer.id)
        }
        let id = loop.schedule(at: due) { [unowned self] in
            timer = nil
            if let closeBy, loop.now >= closeBy { return finish() }
            if faults?.isSilent != true { session.tick(at: .now) }
            markDirty()
        }
        timer = (id, due)
    }

    private var due: Instant {
        let own = closeBy ?? session.deadline
        guard let faults else { return own }
        if faults.isSilent { return closeBy ?? .distantFuture }
        return min(own, faults.wakesAt(hasOutput: stream.queuedBytes > 0))
    }

    /// Ends the connection without another word.
    func cut(isReset: Bool = false) {
        finish(isReset: isReset)
    }

    private func finish(isReset: Bool = false) {
        guard !isOver else { return }
        isOver = true
        if let timer { loop.cancel(timer.id) }
        timer = nil
        session.end(.closed)
        loop.unwatch(socket.descriptor)
        socket.close(isReset: isReset)
        hub.ended(self)
    }
}

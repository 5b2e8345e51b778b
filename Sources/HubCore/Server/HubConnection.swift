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

    init(socket: UpgradedSocket, session: HubSession, loop: EventLoop, hub: Hub) {
        self.socket = socket
        self.session = session
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
        loop.watch(socket.descriptor, for: .readable) { [unowned self] readiness in ready(readiness) }
        if !socket.firstBytes.isEmpty { socket.firstBytes.withUnsafeBytes { take($0) } }
        markDirty()
    }

    // MARK: reading

    private func ready(_ readiness: Readiness) {
        if readiness.contains(.writable) { markDirty() }
        guard readiness.contains(.readable) || readiness.contains(.failed) else { return }
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
            case .binary(let frame), .text(let frame): session.receive(frame, at: moment)
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
            if !isClosing, session.outbox.count == 0 {
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
        while true {
            while stream.queuedBytes < Self.framedLimit, let frame = session.outbox.takeFrame() {
                switch session.format {
                case .protobuf: stream.sendBinary(frame)
                case .json: stream.sendText(frame)
                }
            }
            guard stream.queuedBytes > 0 else { break }
            var isBlocked = false
            var isBroken = false
            stream.drainOutput { bytes in
                let count = send(socket.descriptor, bytes.baseAddress, bytes.count, CInt(MSG_NOSIGNAL))
                isBlocked = count < bytes.count
                if count < 0, errno != EAGAIN, errno != EINTR { isBroken = true }
                return max(0, count)
            }
            if isBroken { return finish() }
            if isBlocked { break }
        }
        watchWrites(stream.queuedBytes > 0)
    }

    private func watchWrites(_ isWanted: Bool) {
        guard isWanted != isWatchingWrites else { return }
        isWatchingWrites = isWanted
        loop.rewatch(socket.descriptor, for: isWanted ? [.readable, .writable] : .readable)
    }

    // MARK: time and end

    /// Sets the timer to what is due next.
    private func arm() {
        guard !isOver else { return }
        let due = closeBy ?? session.deadline
        if let timer {
            // One that comes too early only asks again.
            guard due < timer.deadline else { return }
            loop.cancel(timer.id)
        }
        let id = loop.schedule(at: due) { [unowned self] in
            timer = nil
            if let closeBy, loop.now >= closeBy { return finish() }
            session.tick(at: .now)
            markDirty()
        }
        timer = (id, due)
    }

    /// Ends the connection without another word.
    func cut() {
        finish()
    }

    private func finish() {
        guard !isOver else { return }
        isOver = true
        if let timer { loop.cancel(timer.id) }
        timer = nil
        session.end(.closed)
        loop.unwatch(socket.descriptor)
        socket.close()
        hub.ended(self)
    }
}

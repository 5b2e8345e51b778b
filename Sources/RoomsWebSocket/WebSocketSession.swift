internal import CRoomsWslay
package import RoomsRuntime

/// One side of an open WebSocket: bytes of the peer in, messages out, and the other way round.
///
/// No I/O, no thread of its own: it belongs to whoever drives it. Pings are answered inside. Everything that is sent is
/// framed at once and waits in order, so a close goes out behind the messages before it.
package final class WebSocketSession {
    package enum Role: Sendable {
        case client
        case server
    }

    /// What the peer did.
    ///
    /// Pointers live for the length of the call.
    package enum Event {
        case binary(UnsafeRawBufferPointer)
        case text(UnsafeRawBufferPointer)
        /// The peer's close frame (1005: it named no code); ours is queued.
        ///
        /// Nothing follows.
        case close(code: UInt16, reason: ByteString)
        /// The peer broke the protocol or a limit; a close with `code` is queued.
        ///
        /// Nothing follows.
        case violation(code: UInt16, reason: String)
    }

    private enum Phase {
        case open
        case ended
    }

    /// Pongs that may wait for the peer to read; RFC 6455 section 5.5.3 lets the rest go unanswered.
    private static let maxWaitingPongs = 16
    /// A buffer that many waiting bytes have blown up beyond this is given back.
    private static let keptCapacity = 256 * 1024

    package let role: Role
    private var context: wslay_event_context_ptr?
    private var phase = Phase.open
    private var isCloseQueued = false

    // Receiving, valid during `receive`.
    private var input = UnsafeRawBufferPointer(start: nil, count: 0)
    private var now = Instant(nanoseconds: 0)
    private var handler: ((Event) -> Void)?

    private var message: IncomingMessage
    private var isControlFrame = false
    private var closePayload: [UInt8] = []
    private var budget: ControlFrameBudget
    private var violation: IncomingMessage.Refusal?
    /// The violation is a message that did not end in time.
    package private(set) var wasLate = false

    // Framed bytes that wait to be written.
    private var output: [UInt8] = []
    private var taken = 0
    private var isDiscarding = false
    private var waitingPongs = 0
    private var masks = MaskKeys()

    package init(role: Role, limits: WebSocketLimits = WebSocketLimits()) {
        self.role = role
        message = IncomingMessage(limits: limits)
        budget = ControlFrameBudget(perSecond: limits.maxControlFramesPerSecond)
        var callbacks = Self.callbacks
        // Safety: the context is freed in `deinit`, so the pointer never outlives the session.
        let user = Unmanaged.passUnretained(self).toOpaque()
        let result =
            role == .client
            ? wslay_event_context_client_init(&context, &callbacks, user)
            : wslay_event_context_server_init(&context, &callbacks, user)
        precondition(result == 0, "no memory for a WebSocket")
        wslay_event_config_set_no_buffering(context, 1)
        wslay_event_config_set_max_recv_msg_length(context, UInt64(limits.maxMessage))
    }

    deinit { wslay_event_context_free(context) }

    // MARK: receiving

    /// Takes all of `bytes` and reports what they complete.
    ///
    /// The handler may send; it must not call `receive`. After a close or a violation further bytes are ignored.
    package func receive(
        _ bytes: UnsafeRawBufferPointer,
        at now: Instant = SystemClock.now,
        _ handler: (Event) -> Void
    ) {
        guard phase == .open, !bytes.isEmpty else { return }
        precondition(self.handler == nil, "receive was called by its own handler")
        withoutActuallyEscaping(handler) { handler in
            self.handler = handler
            self.now = now
            input = bytes
            let result = wslay_event_recv(context)
            input = UnsafeRawBufferPointer(start: nil, count: 0)
            settle(result)
            self.handler = nil
        }
    }

    /// When the message that is coming in must have ended; nil while there is none.
    package var messageDeadline: Instant? { phase == .open ? message.deadline : nil }

    /// Nothing was read for this long, by our own will: the message that is coming in has so much more time.
    package func excuse(_ pause: Duration) {
        message.excuse(pause)
    }

    /// Looks at what wslay made of the bytes: still open, closed, or broken.
    private func settle(_ result: CInt) {
        if violation == nil, message.isLate(at: now) {
            wasLate = true
            fail(IncomingMessage.Refusal(WSLAY_CODE_POLICY_VIOLATION, "a message that takes longer than the limit"))
        }
        if result != 0 {
            refuse(UInt16(WSLAY_CODE_PROTOCOL_ERROR.rawValue), "a malformed frame")
            return
        }
        frame()
        guard phase == .open, wslay_event_get_read_enabled(context) == 0 else { return }
        if let violation {
            end(.violation(code: violation.code, reason: violation.reason))
            return
        }
        if let code = lateRegisteredCode {
            end(.close(code: code, reason: ByteString(Array(closePayload.dropFirst(2)))))
            return
        }
        let code = isCloseQueued ? 1002 : wslay_event_get_status_code_sent(context)
        end(.violation(code: code, reason: Self.reason(of: code)))
    }

    /// Close codes 1012 to 1014 came after RFC 6455; wslay takes them for a violation.
    private var lateRegisteredCode: UInt16? {
        guard closePayload.count >= 2 else { return nil }
        let code = UInt16(closePayload[0]) << 8 | UInt16(closePayload[1])
        return (1012...1014).contains(code) ? code : nil
    }

    private static func reason(of code: UInt16) -> String {
        switch Int32(code) {
        case Int32(WSLAY_CODE_MESSAGE_TOO_BIG.rawValue): "a message larger than the limit"
        case Int32(WSLAY_CODE_INVALID_FRAME_PAYLOAD_DATA.rawValue): "text that is not UTF-8"
        default: "a frame that is not allowed here (mask, reserved bits, opcode or close code)"
        }
    }

    private func end(_ event: Event) {
        guard phase == .open else { return }
        phase = .ended
        handler?(event)
    }

    /// Ends with a close of our own in place of the one that wslay has queued.
    private func refuse(_ code: UInt16, _ reason: String) {
        frame(discarding: true)
        appendClose(code)
        end(.violation(code: code, reason: reason))
    }

    private func fail(_ refusal: IncomingMessage.Refusal) {
        violation = refusal
        wslay_event_shutdown_read(context)
        wslay_event_queue_close(context, refusal.code, nil, 0)
    }

    // MARK: sending

    /// Queues a message; what is sent behind a close is dropped.
    package func sendBinary(_ bytes: [UInt8]) {
        send(WSLAY_BINARY_FRAME, bytes)
    }

    package func sendText(_ bytes: [UInt8]) {
        send(WSLAY_TEXT_FRAME, bytes)
    }

    /// Queues the closing frame; of `reason` at most 123 bytes go out.
    package func sendClose(code: UInt16, reason: ByteString = .empty) {
        guard phase == .open, !isCloseQueued else { return }
        isCloseQueued = true
        let reason = Array(reason.bytes.prefix(Self.wholeCharacters(reason.bytes, limit: 123)))
        wslay_event_queue_close(context, code, reason, reason.count)
        frame()
    }

    /// Framed bytes that wait to be written.
    package var queuedBytes: Int { output.count - taken }

    /// Moves at most `limit` framed bytes to the end of `buffer`.
    package func takeOutput(into buffer: inout [UInt8], limit: Int = .max) {
        if buffer.isEmpty, taken == 0, output.count <= limit {
            swap(&buffer, &output)
            waitingPongs = 0
            return
        }
        drainOutput { bytes in
            let count = min(limit, bytes.count)
            buffer.append(contentsOf: bytes[..<count])
            return count
        }
    }

    /// Shows the framed bytes that wait; `body` says how many it took.
    package func drainOutput<Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Int
    ) throws(Failure) {
        guard queuedBytes > 0 else { return }
        let start = taken
        var count = 0
        try output.withUnsafeBufferPointer { bytes throws(Failure) in
            count = try body(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(bytes)[start...]))
        }
        taken += count
        guard taken == output.count else { return }
        taken = 0
        waitingPongs = 0
        output.removeAll(keepingCapacity: output.capacity <= Self.keptCapacity)
    }

    private func send(_ opcode: wslay_opcode, _ bytes: [UInt8]) {
        guard phase == .open, !isCloseQueued else { return }
        bytes.withUnsafeBufferPointer { bytes in
            var item = wslay_event_msg(
                opcode: UInt8(opcode.rawValue),
                msg: bytes.baseAddress,
                msg_length: bytes.count
            )
            let result = wslay_event_queue_msg(context, &item)
            precondition(result == 0 || result == WSLAY_ERR_NO_MORE_MSG.rawValue, "no memory for a message")
        }
        frame()
    }

    /// Lets wslay frame what it has queued.
    private func frame(discarding: Bool = false) {
        if taken > Self.keptCapacity {
            output.removeSubrange(..<taken)
            taken = 0
        }
        isDiscarding = discarding
        wslay_event_send(context)
        isDiscarding = false
    }

    private func appendClose(_ code: UInt16) {
        guard !isCloseQueued else { return }
        isCloseQueued = true
        let payload = [UInt8(code >> 8), UInt8(code & 255)]
        switch role {
        case .server:
            output += [0x88, 2] + payload
        case .client:
            var key: [UInt8] = [0, 0, 0, 0]
            key.withUnsafeMutableBytes { masks.fill($0) }
            output += [0x88, 0x82] + key + [payload[0] ^ key[0], payload[1] ^ key[1]]
        }
    }

    /// The length of the longest prefix of at most `limit` bytes that cuts no UTF-8 sequence.
    private static func wholeCharacters(_ bytes: [UInt8], limit: Int) -> Int {
        guard bytes.count > limit else { return bytes.count }
        var end = limit
        while end > 0, bytes[end] & 0xc0 == 0x80 { end -= 1 }
        return end
    }
}

// MARK: what wslay calls

extension WebSocketSession {
    private static let callbacks = wslay_event_callbacks(
        recv_callback: { _, buffer, count, _, user in
            session(user).supply(UnsafeMutableRawBufferPointer(start: buffer, count: count))
        },
        send_callback: { _, data, count, _, user in
            session(user).collect(UnsafeRawBufferPointer(start: data, count: count))
        },
        genmask_callback: { _, buffer, count, user in
            session(user).masks.fill(UnsafeMutableRawBufferPointer(start: buffer, count: count))
            return 0
        },
        on_frame_recv_start_callback: { _, argument, user in
            guard let argument else { return }
            session(user).frameStarted(argument.pointee)
        },
        on_frame_recv_chunk_callback: { _, argument, user in
            guard let argument else { return }
            session(user).chunkArrived(
                UnsafeRawBufferPointer(start: argument.pointee.data, count: argument.pointee.data_length)
            )
        },
        on_frame_recv_end_callback: nil,
        on_msg_recv_callback: { _, argument, user in
            guard let argument else { return }
            session(user).messageArrived(argument.pointee)
        }
    )

    private static func session(_ user: UnsafeMutableRawPointer?) -> WebSocketSession {
        guard let user else { preconditionFailure("wslay lost its session") }
        // Safety: wslay calls back only inside calls that a method of the living session makes.
        return Unmanaged<WebSocketSession>.fromOpaque(user).takeUnretainedValue()
    }

    private func supply(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
        let count = min(buffer.count, input.count)
        guard count > 0 else {
            wslay_event_set_error(context, WSLAY_ERR_WOULDBLOCK.rawValue)
            return -1
        }
        buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: input[..<count]))
        input = UnsafeRawBufferPointer(rebasing: input[count...])
        return count
    }

    private func collect(_ bytes: UnsafeRawBufferPointer) -> Int {
        if !isDiscarding { output.append(contentsOf: bytes) }
        return bytes.count
    }

    private func frameStarted(_ frame: wslay_event_on_frame_recv_start_arg) {
        isControlFrame = frame.opcode & 8 != 0
        if isControlFrame {
            closePayload.removeAll(keepingCapacity: true)
            if !budget.take(at: now) {
                fail(IncomingMessage.Refusal(WSLAY_CODE_POLICY_VIOLATION, "more control frames than the limit"))
            }
            return
        }
        let refusal = message.startFrame(
            isFirst: Int32(frame.opcode) != Int32(WSLAY_CONTINUATION_FRAME.rawValue),
            isLast: frame.fin != 0,
            length: frame.payload_length,
            at: now
        )
        if let refusal { fail(refusal) }
    }

    private func chunkArrived(_ chunk: UnsafeRawBufferPointer) {
        guard violation == nil else { return }
        if isControlFrame {
            closePayload.append(contentsOf: chunk)
        } else if !isCloseQueued {
            message.append(chunk)
        }
    }

    private func messageArrived(_ argument: wslay_event_on_msg_recv_arg) {
        guard violation == nil, phase == .open else { return }
        switch Int32(argument.opcode) {
        case Int32(WSLAY_BINARY_FRAME.rawValue), Int32(WSLAY_TEXT_FRAME.rawValue):
            // Behind our close only the peer's is waited for, and nothing is kept.
            guard !isCloseQueued else { return message.drop() }
            deliver(isText: Int32(argument.opcode) == Int32(WSLAY_TEXT_FRAME.rawValue))
        case Int32(WSLAY_CONNECTION_CLOSE.rawValue):
            closeArrived(argument.status_code)
        case Int32(WSLAY_PING.rawValue):
            waitingPongs += 1
            frame(discarding: waitingPongs > Self.maxWaitingPongs)
        default:
            break
        }
    }

    /// Looks again at the reason: wslay misses what is not UTF-8 when the frame comes in pieces, and would echo it.
    private func closeArrived(_ code: UInt16) {
        let reason = Array(closePayload.dropFirst(2))
        if closePayload.count == 1 {
            refuse(UInt16(WSLAY_CODE_PROTOCOL_ERROR.rawValue), "a close frame of one byte")
        } else if String(validating: reason, as: UTF8.self) == nil {
            refuse(UInt16(WSLAY_CODE_INVALID_FRAME_PAYLOAD_DATA.rawValue), "a close reason that is not UTF-8")
        } else {
            frame()
            end(.close(code: code == 0 ? 1005 : code, reason: ByteString(reason)))
        }
    }

    private func deliver(isText: Bool) {
        // Moved out so that a handler which drops its session, or sends, meets no access in progress.
        var (inPlace, kept) = message.finish()
        if kept.isEmpty {
            handler?(isText ? .text(inPlace) : .binary(inPlace))
        } else {
            kept.withUnsafeBytes { handler?(isText ? .text($0) : .binary($0)) }
        }
        message.recycle(&kept)
    }
}

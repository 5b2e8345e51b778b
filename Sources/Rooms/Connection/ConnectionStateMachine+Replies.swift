internal import RoomsRuntime
internal import RoomsWire

/// What the server says.
///
/// For each frame: `frameBegan`, `receive` for every message in it; behind one or several frames `settle`.
extension ConnectionStateMachine {
    /// False when the frame is of a socket that is over.
    mutating func frameBegan(generation: UInt64, _ turn: inout Turn) -> Bool {
        guard generation == self.generation else { return false }
        switch state {
        case .authenticating, .ready:
            lastHeard = turn.now
            return true
        default:
            return false
        }
    }

    mutating func receive(_ reply: Reply, _ turn: inout Turn) {
        switch state {
        case .ready: receiveReady(reply, &turn)
        case .authenticating(let id, _) where reply.id == id: authenticated(reply, &turn)
        case .authenticating: turn.tally.late += 1
        // An earlier message of this frame ended the connection.
        default: break
        }
    }

    /// A publication, which needs no more than this of its reply.
    mutating func receive(_ publication: Publication, in channel: UnsafeRawBufferPointer, _ turn: inout Turn) {
        switch state {
        case .ready:
            guard let room = index.find(channel) else {
                return passed(publication, ByteString(copying: channel), &turn)
            }
            receive(publication, in: room, &turn)
        case .authenticating: turn.tally.late += 1
        default: break
        }
    }

    // MARK: connect

    private mutating func authenticated(_ reply: Reply, _ turn: inout Turn) {
        switch reply.body {
        case .connect(let result):
            becomeReady(result, &turn)
        case .error(let error):
            if error.code == 109 {
                expiredToken = token
                policy.tokens.expired(nil)
            }
            let end = ConnectionEnd.rejected(
                code: error.code,
                reason: error.message,
                isTemporary: error.isTemporary || (error.code == 109 && token != nil)
            )
            drop(end, code: CloseCode.normal, .refused, &turn)
        default:
            drop(
                .undecodable(reason: "connect was answered with something else"),
                code: CloseCode.protocolError,
                .undecodable,
                &turn
            )
        }
    }

    private mutating func becomeReady(_ result: ConnectResult, _ turn: inout Turn) {
        state = .ready(since: turn.now)
        expiredToken = nil
        client = result.client
        answersPings = result.pong
        silenceLimit = result.ping > 0 ? .seconds(Int64(min(result.ping, 86_400))) + policy.pingGrace : nil
        refreshAt = policy.tokens.renewal(of: nil, expires: result.expires, ttl: result.ttl, turn)
        turn.items.append(.connection(.connected))
        turn.log(.notice, "connected to the server", LogField(.version, result.version))
        if result.time > 0 { compareClocks(result.time, &turn) }
        takeServerSide(result.subs, &turn)
        joinAll()
    }

    // MARK: ready

    private mutating func receiveReady(_ reply: Reply, _ turn: inout Turn) {
        switch reply.body {
        case .ping:
            if answersPings, pongs.admits(turn.now) { turn.commands.append(.pong) }
        case .push(let push):
            receive(push, &turn)
        default:
            answered(reply, &turn)
        }
    }

    private mutating func answered(_ reply: Reply, _ turn: inout Turn) {
        guard let entry = window.answered(reply.id) else {
            noteUnknown(&turn)
            return
        }
        guard let room = entry.room else {
            if let number = requests.removeValue(forKey: reply.id) {
                turn.items.append(.answer(number, reply.body))
            } else {
                refreshed(reply.body, &turn)
            }
            return
        }
        noteHeard(room)
        if entry.isHeavy { noteLargeAnswer(for: room) }
        if case .error(let error) = reply.body, error.code == 105, sessions[room].isWanted, adopt(room, &turn) {
            return
        }
        if sessions[room].answered(reply.body, attempt: entry.attempt, &turn) == .reconnect {
            return drop(.confused, code: CloseCode.normal, .confused, &turn)
        }
        noteAnswer(from: room)
    }

    private mutating func receive(_ push: Push, _ turn: inout Turn) {
        switch push.body {
        case .publication(let publication):
            guard let room = index.find(push.channel) else { return passed(publication, push.channel, &turn) }
            receive(publication, in: room, &turn)
        case .unsubscribe(let code, let reason):
            _ = serverSide.take(push.channel)
            guard let room = index.find(push.channel) else { return }
            sessions[room].unsubscribed(code: code, reason: reason, &turn)
            noteAnswer(from: room)
        case .disconnect(let code, let reason, _):
            drop(.closed(code: UInt16(clamping: code), reason: reason), code: CloseCode.normal, .toldToLeave, &turn)
        case .refresh(let expires, let ttl):
            refreshAt = policy.tokens.renewal(of: nil, expires: expires, ttl: ttl, turn)
        case .join(let info): noteMember(push.channel, info, isHere: true, &turn)
        case .leave(let info): noteMember(push.channel, info, isHere: false, &turn)
        case .subscribe(let sub):
            putInto(push.channel, sub, &turn)
        case .message, .connect:
            break
        case .unknown:
            noteUnknown(&turn)
        }
    }

    private mutating func receive(_ publication: Publication, in room: Int, _ turn: inout Turn) {
        company.heard(room)
        sessions[room].published(publication, &turn)
        if sessions[room].state != .live { enqueue(room) }
    }

    /// It is in a room that is none of ours.
    private mutating func passed(_ publication: Publication, _ channel: ByteString, _ turn: inout Turn) {
        if !serverSide.pass(channel, publication) { noteUnknown(&turn) }
        company.heard(nil)
    }

    /// Counted, and told once.
    private mutating func noteUnknown(_ turn: inout Turn) {
        turn.tally.unknown += 1
        guard !hasToldUnknown else { return }
        hasToldUnknown = true
        turn.log(.info, "the server said something that this client does not know or did not ask for; it is ignored")
    }

    private mutating func noteMember(
        _ channel: ByteString,
        _ info: ClientInfo,
        isHere: Bool,
        _ turn: inout Turn
    ) {
        guard let room = index.find(channel), sessions[room].isJoined else { return }
        turn.items.append(.member(room: room, info, isHere: isHere, isOurs: info.client == client))
        sessions[room].membersMoved(turn)
        enqueue(room)
    }

    // MARK: the connection's token

    mutating func refresh(_ turn: inout Turn) {
        refreshAt = nil
        do {
            // An empty token is a mistake that ends the connection for good; without one it ends when its time is over.
            guard let fresh = try policy.tokens.connection() else {
                turn.log(.warning, "the connection token runs out and there is no new one")
                refreshAt = Deadline(after: .seconds(60), turn)
                return
            }
            token = fresh
        } catch TokenFault.pending {
            awaitsToken = true
            return
        } catch {
            turn.log(.warning, "the connection token cannot be had", LogField(.error, "\(error)"))
            refreshAt = Deadline(after: refreshPause(turn), turn)
            return
        }
        let id = nextID()
        window.sent(id, CommandWindow.Entry(room: nil, attempt: 0, isHeavy: false, isAlone: false, sentAt: turn.now))
        turn.commands.append(Command(id: id, .refresh(token: ByteString(token?.bytes ?? []))))
    }

    private mutating func refreshed(_ body: ReplyBody, _ turn: inout Turn) {
        switch body {
        case .refresh(let result):
            refreshAt = policy.tokens.renewal(of: nil, expires: result.expires, ttl: result.ttl, turn)
        case .error(let error):
            turn.log(
                .warning,
                "the server refused to renew the connection token",
                LogField(.code, error.code),
                LogField(.reason, error.message)
            )
            refreshAt = Deadline(after: refreshPause(turn), turn)
        default:
            noteUnknown(&turn)
        }
    }

    private func refreshPause(_ turn: Turn) -> Duration {
        .milliseconds(5_000 + Int64(turn.random() % 5_000))
    }
}

internal import RoomsRuntime
internal import RoomsWire

/// Rooms that come and go while the connection lives, and what an app asks about them.
extension ConnectionStateMachine {
    /// One more room; gives its number for the sink.
    ///
    /// A room of that name which is still being left is joined anew after that, under the same number.
    mutating func add(_ specification: RoomSpecification, _ turn: inout Turn) -> Int {
        if let room = index.find(specification.name) {
            if !sessions[room].isWanted { successors[room] = specification }
            return room
        }
        let room = freeRooms.popLast() ?? sessions.count
        let session = SessionStateMachine(room: room, specification: specification, policy: shared)
        if room == sessions.count {
            sessions.append(session)
            isQueued.append(false)
        } else {
            sessions[room] = session
        }
        begin(room)
        settle(&turn)
        return room
    }

    /// Nothing more is heard of the room, from now on.
    mutating func remove(_ room: Int, _ turn: inout Turn) {
        successors[room] = nil
        sessions[room].leaveForGood()
        reap(room)
        enqueue(room)
        settle(&turn)
    }

    /// Leaves the room for now, or joins it again behind what was heard of it.
    mutating func rest(_ room: Int, _ isResting: Bool, _ turn: inout Turn) {
        sessions[room].rest(isResting)
        enqueue(room)
        settle(&turn)
    }

    private mutating func begin(_ room: Int) {
        index.add(sessions[room].name, room)
        guard isReady else { return }
        isJoining = true
        sessions[room].connected()
        enqueue(room)
    }

    /// Gives the place of a room that was left to the one that waits for it, or to any other.
    mutating func reap(_ room: Int) {
        guard sessions[room].state == .gone, index.find(sessions[room].name) == room else { return }
        index.remove(sessions[room].name)
        if let next = successors.removeValue(forKey: room) {
            sessions[room] = SessionStateMachine(room: room, specification: next, policy: shared)
            begin(room)
        } else {
            freeRooms.append(room)
        }
    }

    var isWaiting: Bool {
        if case .waiting = state { return true }
        return false
    }

    // MARK: tokens

    /// Some that were being fetched are there, or will not come.
    mutating func tokensArrived(_ turn: inout Turn) {
        if state == .authorizing { dial(&turn) }
        if awaitsToken {
            awaitsToken = false
            refresh(&turn)
        }
        for room in sessions.indices where sessions[room].awaitsToken {
            sessions[room].awaitsToken = false
            enqueue(room)
        }
        settle(&turn)
    }

    /// Comes back at once, with what tokens there are now.
    mutating func reconnect(_ turn: inout Turn) {
        switch state {
        case .dialling, .authenticating, .ready:
            drop(.renewed, code: CloseCode.normal, .none, &turn)
            state = .waiting(until: turn.now)
        case .idle, .authorizing, .waiting, .held, .stopped: break
        }
        settle(&turn)
    }

    // MARK: requests of the app

    /// The answer comes as an item with the same number.
    mutating func ask(_ request: AppRequest, _ turn: inout Turn) {
        if !isReady {
            turn.items.append(.answer(request.number, nil))
        } else if isTooLarge(request.request) {
            // The server would end the connection, for all rooms.
            let error = ErrorReply(code: UInt32(CloseCode.messageTooLarge), message: "more than servers take")
            turn.items.append(.answer(request.number, .error(error)))
        } else {
            waitingRequests.append(request)
        }
        settle(&turn)
    }

    private func isTooLarge(_ request: Request) -> Bool {
        guard case .publish(let channel, let data) = request else { return false }
        return channel.bytes.count + data.count > Self.mostPublishBytes
    }

    mutating func sendRequests(_ turn: inout Turn) {
        while !waitingRequests.isEmpty, window.admits(isHeavy: false, isAlone: false) {
            let request = waitingRequests.removeFirst()
            let id = nextID()
            requests[id] = request.number
            let entry = CommandWindow.Entry(
                room: nil,
                attempt: 0,
                isHeavy: false,
                isAlone: false,
                sentAt: turn.now
            )
            window.sent(id, entry)
            turn.commands.append(Command(id: id, request.request))
        }
    }

    mutating func failRequests(_ turn: inout Turn) {
        for number in requests.values.sorted() + waitingRequests.map(\.number) {
            turn.items.append(.answer(number, nil))
        }
        requests = [:]
        waitingRequests = []
    }
}

/// A command of the app's own, such as a publish.
struct AppRequest {
    let number: UInt64
    let request: Request
}
